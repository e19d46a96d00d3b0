package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// good is a configuration with nothing wrong.
func good() *Target {
	return &Target{
		Owner:   "pilot",
		Portals: []Portal{{Transport: "tcp", Address: "10.40.1.11:4420"}, {Transport: "tcp", Address: "[fd00::11]:4420"}},
		Subsystems: []Subsystem{{
			NQN:        "nqn.2026-11.net.example:pilot:st1",
			Serial:     "WEFT0123456789ABCDEF",
			AllowHosts: []string{"nqn.2014-08.org.nvmexpress:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8", "nqn.2014-08.org.nvmexpress:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8:probe"},
			Namespaces: []Namespace{
				{ID: 1, UUID: "6ba7b811-9dad-11d1-80b4-00c04fd430c8", Backend: "file", Path: "/var/lib/weft/pilot/volumes/fast", Size: 2 << 40, BlockSize: 4096},
				{ID: 2, UUID: "6ba7b812-9dad-11d1-80b4-00c04fd430c8", Backend: "memory", Size: 1 << 30, BlockSize: 512},
			},
		}, {
			NQN: "nqn.2026-11.net.example:pilot:closed", Serial: "2",
		}},
	}
}

func TestMarshalIsStable(t *testing.T) {
	first, err := good().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "target.toml")
	if err := os.WriteFile(path, first, 0o600); err != nil {
		t.Fatal(err)
	}
	back, sum, err := LoadTarget(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := back.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) {
		t.Errorf("the text changes when read and written:\n%s\n%s", first, second)
	}
	if sum != Sum(first) || len(sum) != 64 {
		t.Errorf("sum %q", sum)
	}
	for _, want := range []string{"[[portal]]", "[[subsystem]]", "[[subsystem.namespace]]", "size = 2199023255552", banner} {
		if !strings.Contains(string(first), want) {
			t.Errorf("no %q in\n%s", want, first)
		}
	}
	if strings.Count(string(first), "path =") != 1 {
		t.Errorf("a memory backend has a path:\n%s", first)
	}
}

func TestParseErrorsNameLines(t *testing.T) {
	for text, want := range map[string]string{
		"owner = 'a'\ncolour = 'red'\n":                                         `line 2: unknown key "colour"`,
		"[[subsystem]]\nnqn = 'x'\n[[subsystem.namespace]]\nid = 1\nsise = 3\n": `line 5: unknown key "subsystem.namespace.sise"`,
		"owner = 'a'\n[[portal]\n":                                              "line 2: ",
		"owner = 7\n":                                                           "line 1: ",
	} {
		if _, err := ParseTarget([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestLoadTargetNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.toml")
	if _, _, err := LoadTarget(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("owner = ''"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadTarget(path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "no portal") {
		t.Errorf("%v", err)
	}
}

func TestValidate(t *testing.T) {
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	ns := func(t *Target) *Namespace { return &t.Subsystems[0].Namespaces[0] }
	sub := func(t *Target) *Subsystem { return &t.Subsystems[0] }
	cases := []struct {
		want   string
		change func(*Target)
	}{
		{"owner is missing", func(t *Target) { t.Owner = "" }},
		{"no portal", func(t *Target) { t.Portals = nil }},
		{"portal tcp 10.40.1.11:4420 is there twice", func(t *Target) { t.Portals = append(t.Portals, t.Portals[0]) }},
		{"unknown transport", func(t *Target) { t.Portals[0].Transport = "fc" }},
		{"portal rdma 10.40.1.11:4420 is there twice", func(t *Target) {
			t.Portals[0].Transport = "rdma"
			t.Portals = append(t.Portals, t.Portals[0])
		}},
		{"portal tcp 10.40.1.11:4420 is there twice", func(t *Target) {
			rdma, instead := t.Portals[0], t.Portals[0]
			rdma.Transport, instead.Instead = "rdma", true
			t.Portals = append(t.Portals, rdma, instead)
		}},
		{"portal tcp 10.40.1.11:4420: there is no RDMA portal", func(t *Target) { t.Portals[0].Instead = true }},
		{"portal rdma 10.40.1.11:4420: TLS is for tcp", func(t *Target) { t.Portals[0].Transport, t.Portals[0].TLS = "rdma", true }},
		{"portal tcp 10.40.1.11:4420 is there twice", func(t *Target) {
			t.Portals = append(t.Portals, Portal{Transport: "tcp", Address: t.Portals[0].Address, TLS: true})
		}},
		{"not every host of allow_hosts has a key", func(t *Target) { t.Portals[0].TLS = true }},
		{"portal tcp 10.40.1.11:4420 serves it in clear", func(t *Target) { sub(t).TLS = []TLS{{Host: sub(t).AllowHosts[0], KeyFile: "/k"}} }},
		{"tls of nqn.x: allow_hosts does not name this host", func(t *Target) { sub(t).TLS = []TLS{{Host: "nqn.x", KeyFile: "/k"}} }},
		{"give either key or key_file", func(t *Target) { sub(t).TLS = []TLS{{Host: sub(t).AllowHosts[0]}} }},
		{"\"k\" is not absolute", func(t *Target) { sub(t).TLS = []TLS{{Host: sub(t).AllowHosts[0], KeyFile: "k"}} }},
		{"is there twice", func(t *Target) {
			one := TLS{Host: sub(t).AllowHosts[0], KeyFile: "/k"}
			sub(t).TLS = []TLS{one, one}
		}},
		{"is no IP address with a port", func(t *Target) { t.Portals[0].Address = "st1:4420" }},
		{"no port", func(t *Target) { t.Portals[0].Address = "10.0.0.1:0" }},
		{"could dial", func(t *Target) { t.Portals[0].Address = "[::]:4420" }},
		{"is there twice", func(t *Target) { t.Subsystems[1].NQN = t.Subsystems[0].NQN }},
		{"subsystem 1: \"\" is no NQN", func(t *Target) { sub(t).NQN = "" }},
		{"discovery service", func(t *Target) { sub(t).NQN = DiscoveryNQN }},
		{"serial", func(t *Target) { sub(t).Serial = "" }},
		{"serial", func(t *Target) { sub(t).Serial = "123456789012345678901" }},
		{"serial", func(t *Target) { sub(t).Serial = "grün" }},
		{"allow_hosts: ", func(t *Target) { sub(t).AllowHosts = []string{"*"} }},
		{"twice", func(t *Target) { sub(t).AllowHosts[1] = sub(t).AllowHosts[0] }},
		{"id is not from 1", func(t *Target) { ns(t).ID = 0 }},
		{"id is not from 1", func(t *Target) { ns(t).ID = 0xffffffff }},
		{"namespace 2 is there twice", func(t *Target) { ns(t).ID = 2 }},
		{"is none", func(t *Target) { ns(t).UUID = "6ba7b8119dad11d180b400c04fd430c8" }},
		{"is none", func(t *Target) { ns(t).UUID = "00000000-0000-0000-0000-000000000000" }},
		{"its uuid is that of", func(t *Target) { ns(t).UUID = strings.ToUpper(sub(t).Namespaces[1].UUID) }},
		{"namespace 1: nguid \"eui\" is neither", func(t *Target) { ns(t).NGUID = "eui" }},
		{"is neither", func(t *Target) { ns(t).NGUID = "00000000-0000-0000-0000-000000000000" }},
		{"is neither", func(t *Target) { ns(t).NGUID = "36344830533139390025384600000001ff" }},
		{"namespace 2: its nguid is that of", func(t *Target) {
			ns(t).NGUID, sub(t).Namespaces[1].NGUID = "36344830533139390025384600000001", "36344830-5331-3939-0025-384600000001"
		}},
		{"neither 512 nor 4096", func(t *Target) { ns(t).BlockSize = 0 }},
		{"multiple of the block size", func(t *Target) { ns(t).Size = 4097 }},
		{"size is missing", func(t *Target) { ns(t).Size = 0 }},
		{"unknown backend", func(t *Target) { ns(t).Backend = "tape" }},
		{"has no path", func(t *Target) { ns(t).Backend = "null" }},
		{"two in mirror", func(t *Target) { ns(t).Backend = "mirror" }},
		{"two in mirror", func(t *Target) {
			n := ns(t)
			n.Backend, n.Path, n.Mirror = "mirror", "", []string{"/a"}
		}},
		{"its path is that of", func(t *Target) {
			n := ns(t)
			n.Backend, n.Path, n.Mirror = "mirror", "", []string{"/a", "/dev/../a"}
		}},
		{"mirror is for", func(t *Target) { ns(t).Mirror = []string{"/a", "/b"} }},
		{"ana_group 129", func(t *Target) { ns(t).ANAGroup = 129 }},
		{"no portal \"10.9.9.9:1\"", func(t *Target) { t.Access = []Access{{"10.9.9.9:1", 1, "optimized"}} }},
		{"group 0", func(t *Target) { t.Access = []Access{{t.Portals[0].Address, 0, "optimized"}} }},
		{"unknown state", func(t *Target) { t.Access = []Access{{t.Portals[0].Address, 1, "fine"}} }},
		{"group 1 is there twice", func(t *Target) {
			t.Access = []Access{{t.Portals[0].Address, 1, "optimized"}, {t.Portals[0].Address, 1, "change"}}
		}},
		{"metrics", func(t *Target) { t.Metrics = "localhost:9420" }},
		{"does not name this host", func(t *Target) { sub(t).Auth = []Auth{{Host: "nqn.x", Key: "k"}} }},
		{"is there twice", func(t *Target) {
			a := Auth{Host: sub(t).AllowHosts[0], Key: "k"}
			sub(t).Auth = []Auth{a, a}
		}},
		{"either key or key_file", func(t *Target) { sub(t).Auth = []Auth{{Host: sub(t).AllowHosts[0]}} }},
		{"either subsystem_key or", func(t *Target) {
			sub(t).Auth = []Auth{{Host: sub(t).AllowHosts[0], Key: "k", SubsystemKey: "k", SubsystemKeyFile: "/f"}}
		}},
		{"key_file \"f\" is not absolute", func(t *Target) { sub(t).Auth = []Auth{{Host: sub(t).AllowHosts[0], KeyFile: "f"}} }},
		{"not absolute", func(t *Target) { ns(t).Path = "" }},
		{"backend = \"device\"", func(t *Target) { ns(t).Path = "/dev/nvme0n1" }},
		{"has no path", func(t *Target) { ns(t).Backend = "memory" }},
		{"its path is that of", func(t *Target) {
			n := &sub(t).Namespaces[1]
			n.Backend, n.Path = "file", "/var/lib/weft/pilot/../pilot/volumes/fast"
		}},
	}
	for _, c := range cases {
		bad := good()
		c.change(bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestCheckNQN(t *testing.T) {
	for _, s := range []string{"nqn.2026-11.net.example:a", "nqn.2014-08.org.nvmexpress:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"} {
		if err := CheckNQN(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "iqn.2026-11.net.example:a", "nqn.2026-13.net.example:a", "nqn.2026-11.net.example:", "nqn.2026-11.net.example:a b", "nqn.2026-11.:a",
		"nqn.2014-08.org.nvmexpress:uuid:none", "nqn.2026-11.net.example:../x", "nqn.2026-11.net.example:$(id)", "nqn.2026-11.net.example:it's", "nqn.2026-11.net.example:a\u202eb", "nqn.2026-11.net.example:\xff", "nqn.2026-11.net.example:" + strings.Repeat("a", 200)} {
		if CheckNQN(s) == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

// TestUnitText: the service starts as it did, with none of what it does not need.
func TestUnitText(t *testing.T) {
	unit := UnitText("pod")
	for _, want := range []string{
		"Type=notify", "ExecStart=/usr/local/lib/weft/weft-target serve --config /etc/weft/target.toml", "LimitMEMLOCK=infinity",
		"CapabilityBoundingSet=CAP_NET_BIND_SERVICE", "NoNewPrivileges=yes", "ProtectSystem=strict", "PrivateTmp=yes", "UMask=0077", "MemoryMax=50%",
		"TasksMax=8192", "SystemCallFilter=@system-service", "SystemCallFilter=~@privileged",
		"RuntimeDirectory=weft", "RuntimeDirectoryPreserve=yes", // weft's lease is there, too
		"StateDirectory=weft/pod/mirrors",
	} {
		if !slices.Contains(strings.Split(unit, "\n"), want) {
			t.Errorf("no %q in the unit", want)
		}
	}
	for _, place := range []string{SocketPath, fmt.Sprintf(MirrorState, "pod", "x")} {
		dir := path.Dir(place)
		if !strings.Contains(unit, "Directory="+strings.TrimPrefix(strings.TrimPrefix(dir, "/var/lib/"), "/run/")+"\n") {
			t.Errorf("%s cannot be written to", dir)
		}
	}
	// What is a setting of one owner only makes no other's service start anew.
	if other := strings.ReplaceAll(UnitText("other"), "weft/other/", "weft/pod/"); other != unit {
		t.Errorf("units differ in more than the owner:\n%s", other)
	}
}

// TestUnitIsConfined has systemd itself judge what the service may still do, from 0
// to 10: a line that is lost, misspelt or unknown to systemd raises it. It was 7.0
// before the service was confined.
func TestUnitIsConfined(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze (package systemd)")
	}
	unit := filepath.Join(t.TempDir(), "weft-target.service")
	if err := os.WriteFile(unit, []byte(UnitText("pod")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=25", unit).CombinedOutput()
	switch {
	case strings.Contains(string(out), "unrecognized option"):
		t.Skipf("systemd-analyze judges no files before systemd 250: %s", out)
	case err != nil:
		t.Errorf("%v; the service may do more than 2.5 of 10:\n%s", err, out)
	case strings.Contains(string(out), "Unknown key"):
		t.Errorf("systemd does not know all of the unit:\n%s", out)
	}
}

func FuzzParseTarget(f *testing.F) {
	text, err := good().Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("[[subsystem]]\n[[subsystem.namespace]]\nid = -1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseTarget(b)
		if err != nil || c.Validate() != nil {
			return
		}
		again, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseTarget(again); err != nil {
			t.Fatalf("its own text is refused: %v\n%s", err, again)
		}
	})
}

// TestGUID: one that is made is the same every time, another for each UUID, and
// among those that nobody else gives out.
func TestGUID(t *testing.T) {
	seen := map[[16]byte]bool{}
	for i := range 256 {
		n := Namespace{UUID: fmt.Sprintf("6ba7b811-9dad-11d1-80b4-00c04fd430%02x", i), NGUID: LocalNGUID}
		id, err := n.GUID()
		again, _ := n.GUID()
		if err != nil || id != again || seen[id] || id[8]&3 != 2 {
			t.Fatalf("%s: %x, %v", n.UUID, id, err)
		}
		seen[id] = true
	}
	for text, want := range map[string][16]byte{"": {}, "36344830533139390025384600000001": {0x36, 0x34, 0x48, 0x30, 0x53, 0x31, 0x39, 0x39, 0, 0x25, 0x38, 0x46, 0, 0, 0, 1}} {
		if id, err := (Namespace{NGUID: text}).GUID(); err != nil || id != want {
			t.Errorf("%q: %x, %v", text, id, err)
		}
	}
	with := func(nguid string) *Target {
		return &Target{Subsystems: []Subsystem{{Namespaces: []Namespace{{ID: 1, NGUID: nguid}}}}}
	}
	if with("").Keeps(with(LocalNGUID)) || !with("").Keeps(with("")) {
		t.Error("another NGUID takes nothing from hosts")
	}
}
