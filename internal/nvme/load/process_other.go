//go:build !unix

package load

import "time"

// processTime is not known on this system.
func processTime() (user, system time.Duration, err error) { return 0, 0, nil }
