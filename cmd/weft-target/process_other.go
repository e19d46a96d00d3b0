//go:build !unix

package main

import "time"

func descriptors() int { return 0 }

func processorTime() (user, system time.Duration) { return 0, 0 }
