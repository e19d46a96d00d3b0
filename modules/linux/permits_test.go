package linux

import (
	"path"
	"slices"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/modules/host"
)

// Who may read only sees of a machine what root sees of it, but for what was secret.
func TestPermits(t *testing.T) {
	o := OS()
	var nics []host.NIC
	for _, place := range []string{"0000:41:00.0", "0000:41:00.0@1", "0000:41:00.0@12", "@0c:42:a1:00:00:01"} {
		nics = append(nics, host.NIC{Name: "p0", PCI: place})
	}
	settings, err := o.Settings()
	if err != nil {
		t.Fatal(err)
	}
	looks := slices.Concat(o.Facts.Looks(true, nics), o.Facts.Looks(false, nics), settings.Looks(nics), o.Facts.Looks(true, nil), o.Facts.Survey(), o.Health.Looks(), o.Memory.Looks("o", nil), []remote.Look{o.Guard.Look()})
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
		case l.Own:
			arguments(t, l)
		}
	}
	if narrow != 1 {
		t.Errorf("the ledgers are looked at %d times", narrow)
	}
}

// arguments requires that the permit of a look takes its arguments.
func arguments(t *testing.T, l remote.Look) {
	t.Helper()
	for _, p := range Permits() {
		if !p.Look.Own || p.Look.Args[2] != l.Args[2] || len(l.Args) < 4 {
			continue
		}
		for _, arg := range l.Args[4:] {
			if !slices.ContainsFunc(strings.Split(p.Each, "|"), func(pattern string) bool {
				ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "_"), strings.ReplaceAll(arg, "/", "_")) // the shell's * matches / too
				return ok
			}) {
				t.Errorf("%s: no reader takes %s", p.What, arg)
			}
		}
	}
}
