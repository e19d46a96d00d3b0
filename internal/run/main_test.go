package run

import (
	"os"
	"testing"

	"weft/internal/require"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	os.Exit(m.Run())
}
