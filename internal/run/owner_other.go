//go:build !unix

package run

import "io/fs"

// mine is not known here.
func mine(fs.FileInfo) bool { return true }
