package nvme

import (
	"fmt"
	"slices"
	"testing"

	"weft/internal/remote"
)

// An agent that goes leaves nothing of weft's.
func TestAgentGoes(t *testing.T) {
	have := &Agent{Name: "weft-target", Config: "c", Unit: "u", Binary: "b", Enabled: true, Active: true}
	want := []string{
		"$ systemctl stop weft-target.service", "$ systemctl disable weft-target.service",
		"remove /usr/local/lib/weft/weft-target", "remove /usr/local/lib/weft/weft-target.previous",
		"remove /etc/weft/target.toml", "remove /etc/systemd/system/weft-target.service", "$ systemctl daemon-reload",
	}
	if got := showNVMe(have.absent().Steps(have)); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func showNVMe(steps []remote.Step) (lines []string) {
	for _, s := range steps {
		lines = append(lines, s.String())
	}
	return lines
}

// Hosts connect and time out between a plan and its apply. The lines of a restart do not depend
// on how many there are, so the plan does not go stale; the command waits for those read last.
func TestAgentRestartsWhileHostsComeAndGo(t *testing.T) {
	want := &Agent{Name: "weft-target", Unit: "u"}
	var shown [][]string
	for _, hosts := range []int{0, 1, 2} {
		steps := want.again(&Agent{Name: "weft-target", Active: true, hosts: hosts})
		shown = append(shown, showNVMe(steps))
		if got, last := steps[len(steps)-1].Args, fmt.Sprint(hosts); got[len(got)-1] != last {
			t.Errorf("%d hosts: %q, want it to end with %s", hosts, got, last)
		}
	}
	if !slices.Equal(shown[0], shown[1]) || !slices.Equal(shown[1], shown[2]) {
		t.Errorf("the lines differ: %q", shown)
	}
}
