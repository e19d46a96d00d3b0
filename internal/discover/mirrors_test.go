package discover

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
	"weft/plan"
)

// halfway is a server with half of a volume, which it exports.
func halfway(name, volume string) *Server {
	v := storage.Volume{Group: "weft-a-flash", Name: volume, Owner: "a", Bytes: 1 << 30, Half: true}
	s := machine(name, 1)
	s.Ledgers = []host.Remembrance{{Owner: "a", Entries: []plan.Entry{
		applied("volume_group", "flash", storage.VolumeGroup{Name: v.Group, Owner: "a", Drives: []string{"nvme-eui.1"}}),
		applied("volume", "flash."+volume, v),
		applied("nvmet_subsystem", "nqn."+name, nvme.NVMeTSubsystem{NQN: "nqn." + name, Namespaces: map[uint32]nvme.NVMeTNamespace{1: {Path: v.Path(), UUID: "uuid-of-" + name}}}),
	}}}
	return s
}

// A mirrored volume is called what its array follows from, and is written where both
// halves and the host that keeps them the same were read.
func TestMirrors(t *testing.T) {
	client := func(array string) *Server {
		s := machine("cn1", 2)
		s.Ledgers = []host.Remembrance{{Owner: "a", Entries: []plan.Entry{applied("mirror", "data", storage.Mirror{UUID: array,
			Halves: []storage.MirrorHalf{{Disk: "nvme-uuid.uuid-of-st1", What: "one"}, {Disk: "nvme-uuid.uuid-of-st2", What: "two"}}})}}}
		return s
	}
	st1, st2 := halfway("st1", "data"), halfway("st2", "data-mirror")
	const lost = "is half of a mirror of which not all was read"
	for name, c := range map[string]struct {
		servers []*Server
		volume  string
		finding string
	}{
		"a volume":              {[]*Server{st1, st2, client(usualArray("a", "volume.data"))}, "volume.data", ""},
		"one of each server":    {[]*Server{st1, st2, client(usualArray("a", `volume.data["st1"]`))}, `volume.data["st1"]`, ""},
		"another name":          {[]*Server{st1, st2, client(usualArray("a", "volume.other"))}, "", lost},
		"a half that is away":   {[]*Server{st1, client(usualArray("a", "volume.data"))}, "", "it mirrors one and two, and not both were read"},
		"a host that is away":   {[]*Server{st1, st2}, "", lost},
		"two halves of one end": {[]*Server{st1, halfway("st2", "data"), client(usualArray("a", "volume.data"))}, "", lost},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Site{Servers: c.servers}
			d, err := s.infer("a", nil)
			if err != nil {
				t.Fatal(err)
			}
			list, _ := d.volumes(d.pairs(d.exports()))
			var got []string
			for _, one := range list {
				if one.address.kind == "volume" {
					got = append(got, one.address.String())
				}
			}
			if strings.Join(got, " ") != c.volume {
				t.Errorf("volumes %q", got)
			}
			var said []string
			for _, f := range s.Findings {
				if strings.Contains(f.Text, "mirror") {
					said = append(said, f.Text)
				}
			}
			if (c.finding == "") != (said == nil) || c.finding != "" && !slices.ContainsFunc(said, func(text string) bool { return strings.Contains(text, c.finding) }) {
				t.Error(fmt.Sprint("said ", said))
			}
		})
	}
}
