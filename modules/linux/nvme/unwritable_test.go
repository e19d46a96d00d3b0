package nvme

import (
	"strings"
	"testing"
)

// A text that would be another line is refused where it is to be written, also
// if the files' own rules ever let it pass; and so is a name that leads elsewhere.
func TestUnwritableNames(t *testing.T) {
	for _, c := range []struct {
		err  error
		says string
	}{
		{NVMeTHostKind().Check(&NVMeTHost{NQN: "nqn.2026-11.net.example:../../x"}), "no NQN"},
		{NVMeTSubsystemKind().Check(NewNVMeTSubsystem("nqn.2026-11.net.example:a", "s", []string{"$(id)"})), "no NQN"},
		{NVMeTPortKind().Check(&NVMeTPort{Subsystems: []string{"nqn.2026-11.net.example:it's"}}), "no NQN"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%v, wanted %q", c.err, c.says)
		}
	}
}
