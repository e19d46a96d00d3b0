//go:build !linux

package main

// programs are what the program of the tests can be.
func programs() map[string]func() { return map[string]func(){"weft-initiator": main} }
