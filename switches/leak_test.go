package switches

import (
	"testing"

	"go.uber.org/goleak"

	"weft/internal/require"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	goleak.VerifyTestMain(m)
}
