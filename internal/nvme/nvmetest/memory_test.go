package nvmetest_test

import (
	"testing"

	"go.uber.org/goleak"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	nvmetest.Conformance(t, func(*testing.T) fabric.Transport { return new(nvmetest.Memory) }, "10.0.0.1:0")
}
