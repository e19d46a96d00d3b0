package discover

import (
	"strings"
	"testing"

	"weft/modules/host"
)

// What others keep in kernels is told and stands in a comment, once for those alike.
func TestTuned(t *testing.T) {
	s := rack(1, 4)
	for i, m := range s.Servers {
		m.Facts.Tuning = &host.Tuning{}
		if i > 0 {
			m.Facts.Tuning.Sysctls = []host.Sysctl{{Key: "net.core.rmem_max", Value: "16777216", File: "/etc/sysctl.d/90-net.conf"}}
		}
		if i == 3 {
			m.Facts.Tuning.KernelLine = []string{"iommu=pt"}
		}
	}
	r, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || r.Failed != nil {
		t.Fatalf("%v %v", r.Failed, err)
	}
	var told []string
	for _, f := range r.Findings {
		if strings.Contains(f.Text, "tuned") {
			told = append(told, f.Text)
		}
	}
	const setting = "net.core.rmem_max = 16777216 (/etc/sysctl.d/90-net.conf)"
	if len(told) != 2 || !strings.Contains(told[0], setting+"; so have ") || !strings.Contains(told[1], setting+", started with iommu=pt: it is not written") {
		t.Errorf("told: %q", told)
	}
	if text := string(r.Files[hostsFile]); strings.Count(text, "# seen, not managed: ") != 2 || !strings.Contains(text, "tuned: "+setting+"; so have ") {
		t.Errorf("%s", text)
	}
}
