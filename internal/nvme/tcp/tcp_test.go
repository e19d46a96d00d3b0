package tcp_test

import (
	"testing"

	"go.uber.org/goleak"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	nvmetest.Conformance(t, func(*testing.T) fabric.Transport { return new(tcp.Transport) }, "127.0.0.1:0")
}
