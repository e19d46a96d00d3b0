//go:build !amd64

package guest

// cycles is 0: guests are of the kind that amd64 emulates best.
func cycles() uint64 { return 0 }
