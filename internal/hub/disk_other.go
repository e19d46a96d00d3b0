//go:build !linux && !darwin

package hub

// disk: how much is free is not known here.
func disk(string) (free, total int64, known bool) { return 0, 0, false }
