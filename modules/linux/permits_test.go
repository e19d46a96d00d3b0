package linux

import (
	"slices"
	"strings"
	"testing"

	"weft/internal/remote"
)

// Who may read only sees of a machine what root sees of it, but for what was secret.
func TestPermits(t *testing.T) {
	o := OS()
	looks := slices.Concat(o.Facts.Looks(true, nil), o.Facts.Survey(), o.Health.Looks(), o.Memory.Looks("o", nil), []remote.Look{o.Guard.Look()})
	reader := remote.Reader(Permits())
	if strings.Contains(reader, "former.json") {
		t.Error("the reader tells what was secret")
	}
	ledgers, narrow := keepsakes().Permits()[0], 0
	for _, l := range looks {
		switch {
		case !l.Root:
		case l.Own && l.Args[2] == ledgers.Look.Args[2]:
			narrow++
		case l.Own && !strings.Contains(reader, "\n"+l.Args[2]+"\n"), !l.Own && !strings.Contains(reader, strings.Join(l.Args, " ")):
			t.Errorf("no reader carries out %.80s", l)
		}
	}
	if narrow != 1 {
		t.Errorf("the ledgers are looked at %d times", narrow)
	}
}
