package tcp_test

import (
	"testing"

	"go.uber.org/goleak"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/require"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	nvmetest.Conformance(t, func(*testing.T) fabric.Transport { return new(tcp.Transport) }, "127.0.0.1:0")
}
