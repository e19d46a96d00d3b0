package host_test

import (
	"os"
	"testing"

	"weft/internal/require"
	"weft/modules/esxi"
	"weft/modules/host"
	"weft/modules/linux"
	"weft/modules/windows"
)

// TestMain brings the tests of this package a host system, which it must not know
// itself.
func TestMain(m *testing.M) {
	host.Linux(linux.OS)
	host.Others(esxi.OS(), windows.OS())
	require.Patience(8)
	os.Exit(m.Run())
}
