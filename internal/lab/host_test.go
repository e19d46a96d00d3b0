//go:build unix

package lab

import (
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/internal/remote/remotetest"
)

// TestHost holds simulated servers to what every host promises.
func TestHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, model(1), dir)
	remotetest.Run(t, func(t *testing.T) remote.Host {
		if strings.HasSuffix(t.Name(), "/children_die_with_the_context") {
			t.Skip("named pipes are not simulated")
		}
		return dial(t, dir, "n0.example.net")
	})
}
