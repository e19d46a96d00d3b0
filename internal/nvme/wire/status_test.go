package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestStatus(t *testing.T) {
	st := ConnectInvalidHost.WithDNR()
	if st.SCT() != 1 || st.SC() != 0x84 || !st.DNR() || st.Code() != ConnectInvalidHost {
		t.Errorf("type %d, code 0x%x, do not retry %v", st.SCT(), st.SC(), st.DNR())
	}
	if want := "connect invalid host (status 0x184, do not retry)"; st.Error() != want {
		t.Errorf("%q, want %q", st, want)
	}
	err := fmt.Errorf("connect: %w", st.Err())
	if !errors.Is(err, ConnectInvalidHost) || errors.Is(err, InvalidField) {
		t.Errorf("%v is not what it is", err)
	}
	if Success.Err() != nil || (Success|StatusMore).Err() != nil || InvalidField.Err() == nil {
		t.Error("success is an error, or an error is none")
	}
	if n := Status(0x7c0).Name(); n != "unnamed status type 7 code 0xc0" {
		t.Error(n)
	}
}

// TestStatusNames demands a name of its own for every code that peers send.
func TestStatusNames(t *testing.T) {
	seen := map[string]Status{}
	for _, s := range []Status{
		0x00, 0x01, 0x02, 0x04, 0x06, 0x07, 0x08, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x11, 0x15, 0x16, 0x19, 0x1a, 0x20, 0x21, 0x22, 0x80, 0x83,
		0x102, 0x103, 0x105, 0x109, 0x10d, 0x10e, 0x180, 0x181, 0x182, 0x183, 0x184, 0x190, 0x191,
		0x280, 0x281, 0x282, 0x283, 0x284, 0x285, 0x286, 0x287, 0x300, 0x301, 0x302, 0x303, 0x360, 0x370, 0x371,
	} {
		name := s.Name()
		if strings.HasPrefix(name, "unnamed") {
			t.Errorf("0x%x has no name", uint16(s))
		}
		if other, ok := seen[name]; ok {
			t.Errorf("0x%x and 0x%x are both %q", uint16(s), uint16(other), name)
		}
		seen[name] = s
	}
}

func TestNQN(t *testing.T) {
	for _, s := range []string{DiscoveryNQN, "nqn.2014-08.org.nvmexpress:uuid:0", "nqn." + strings.Repeat("x", 219)} {
		if err := ValidNQN(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "nqn", "iqn.2001-04.com.example", "nqn.\n", "nqn.\x7f", "nqn." + strings.Repeat("x", 220)} {
		if ValidNQN(s) == nil {
			t.Errorf("%q is accepted", s)
		}
	}
	good := ConnectData{SubNQN: "nqn.x", HostNQN: "nqn.y"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	if err := (&ConnectData{SubNQN: "nqn.x"}).Validate(); err == nil {
		t.Error("a host without a name is accepted")
	}
}
