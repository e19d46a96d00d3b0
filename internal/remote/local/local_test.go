package local

import (
	"testing"

	"weft/internal/remote"
	"weft/internal/remote/remotetest"
)

func TestConformance(t *testing.T) {
	remotetest.Run(t, func(*testing.T) remote.Host { return Host{} })
}
