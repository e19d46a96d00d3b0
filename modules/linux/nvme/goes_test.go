package nvme

import (
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
