//go:build !unix

package fabric

// open makes no pipe: connections are not read without sleeping on this system.
func (s *Spinning) open() {}
