//go:build !unix

package main

import "io/fs"

// mine is not known here.
func mine(fs.FileInfo) bool { return true }
