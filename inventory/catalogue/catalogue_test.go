package catalogue

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func load(t *testing.T) *Catalogue {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRows holds every row to what its readers rely on. That rows are unique,
// name a source for each attribute and hold nothing else, Load itself demands.
func TestRows(t *testing.T) {
	c := load(t)
	for family, n := range map[string]int{"servers": len(c.Servers), "nics": len(c.NICs), "switches": len(c.Switches), "os": len(c.OS), "arrays": len(c.Arrays)} {
		if n == 0 {
			t.Errorf("no %s", family)
		}
	}
	for _, s := range c.Servers {
		if !s.SysVendor.Known || !s.Product.Known {
			t.Errorf("%s cannot be recognised", s.ID)
		}
	}
	id := regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`)
	owner := map[string]string{}
	for _, n := range c.NICs {
		for _, pci := range slices.Concat(n.PCI.Value, n.VirtualFunctions.Value) {
			if !id.MatchString(pci) {
				t.Errorf("%s: %q is not a PCI id", n.ID, pci)
			}
			if owner[pci] != "" {
				t.Errorf("%s: %s has %s as well", n.ID, owner[pci], pci)
			}
			owner[pci] = n.ID
		}
		if !n.RDMADriver.Known || !n.Transports.Known {
			t.Errorf("%s: no RDMA driver or no transport", n.ID)
		}
		transports(t, n.ID, n.Transports.Value)
	}
	for _, a := range c.Arrays {
		transports(t, a.ID, a.Transports.Value)
	}
	for _, o := range c.OS {
		for _, m := range o.CommitMethods.Value {
			if !slices.Contains([]string{"dual-stage", "commit-delay", "scheduler", "replace"}, m) {
				t.Errorf("%s: the language has no commit_method %q", o.ID, m)
			}
		}
	}
	for _, s := range c.Switches {
		if c.SwitchOS(s.OS) == nil {
			t.Errorf("%s: no os %q", s.ID, s.OS)
		}
	}
}

func transports(t *testing.T, id string, names []string) {
	t.Helper()
	for _, n := range names {
		if !slices.Contains([]string{"rocev2", "infiniband", "iwarp", "tcp"}, n) {
			t.Errorf("%s: the language has no transport %q", id, n)
		}
	}
}

// TestSourcesAreUsed keeps the list of sources to those that a fact rests on,
// and the sources free of places on one machine.
func TestSourcesAreUsed(t *testing.T) {
	c := load(t)
	used := map[string]bool{}
	eachSource(reflect.ValueOf(c), func(s string) { used[s] = true })
	l := &loader{titles: map[string]cty.Value{}}
	l.readSources()
	for name, title := range l.titles {
		if !used[title.AsString()] {
			t.Errorf("nothing rests on %s", name)
		}
		if strings.HasPrefix(title.AsString(), "/") || strings.Contains(title.AsString(), "://") {
			t.Errorf("%s is a place, not a title: %s", name, title.AsString())
		}
	}
}

// eachSource calls see with the source of every known fact within v.
func eachSource(v reflect.Value, see func(string)) {
	switch v.Kind() {
	case reflect.Pointer:
		eachSource(v.Elem(), see)
	case reflect.Slice:
		for i := range v.Len() {
			eachSource(v.Index(i), see)
		}
	case reflect.Struct:
		if known := v.FieldByName("Known"); known.IsValid() {
			if known.Bool() {
				see(v.FieldByName("Source").String())
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				eachSource(v.Field(i), see)
			}
		}
	}
}

func TestLookups(t *testing.T) {
	c := load(t)
	for _, test := range []struct{ vendor, product, want string }{
		{"Dell Inc.", "PowerEdge R760xa", "dell-r760xa"},
		{"dell inc.", "poweredge r750XA ", "dell-r750xa"},
		{"Dell Inc.", "PowerEdge R760", ""},
		{"HPE", "ProLiant DL380 Gen11", "hpe-dl380-gen11"},
		{"xFusion", "2298H V7", "huawei-2298h-v7"},
		{"", "", ""},
	} {
		got := ""
		if s := c.Server(test.vendor, test.product); s != nil {
			got = s.ID
		}
		if got != test.want {
			t.Errorf("server %q %q is %q, wanted %q", test.vendor, test.product, got, test.want)
		}
	}
	for pci, want := range map[string]string{
		"15b3:1017": "connectx-5", "15B3:101D": "connectx-6-dx", "15b3:1018": "connectx-5", "14e4:1750": "bcm57508",
		"8086:1592": "e810-c", "1425:640d": "chelsio-t6", "1425:680d": "chelsio-t6", "1077:8070": "fastlinq-ql41000", "15b3:0001": "", "": "",
	} {
		got := ""
		if n := c.NIC(pci); n != nil {
			got = n.ID
		}
		if got != want {
			t.Errorf("NIC %s is %q, wanted %q", pci, got, want)
		}
	}
	if a := c.Array("dell", "powerstore"); a == nil || a.Transports.Value[0] != "tcp" {
		t.Errorf("PowerStore is %+v", a)
	}
}

func TestSwitchModels(t *testing.T) {
	c := load(t)
	for _, test := range []struct{ os, model, want string }{
		{"nxos", "N9K-C93180YC-EX", "n9k-c93180yc-ex"},
		{"nxos", "Nexus9000 C93180YC-FX3 Chassis", "n9k-c93180yc-fx3"},
		{"nxos", "N9K-C93180YC-FX3S", ""},
		{"comware", "H3C S6800-54QF", "s6800"},
		{"comware", "S6850-56HF", "s6850"},
		{"comware", "S9820-64H", "s9820-64h"},
		{"comware", "S9855-48CD8D", "s9825"},
		{"comware", "N9K-C93180YC-EX", ""},
		{"nxos", "", ""},
	} {
		var got []string
		for _, s := range c.Switches {
			if s.OS == test.os && s.model.MatchString(test.model) {
				got = append(got, s.ID)
			}
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s %q is %q, wanted %q", test.os, test.model, got, test.want)
		}
		if s := c.Switch(test.os, test.model); (s == nil) != (test.want == "") {
			t.Errorf("%s %q: found %v", test.os, test.model, s)
		}
	}
}

func TestPortName(t *testing.T) {
	c := load(t)
	for _, test := range []struct {
		os, name  string
		ok, known bool
	}{
		{"nxos", "Ethernet1/27", true, true},
		{"nxos", "Ethernet1/1/4", true, true},
		{"nxos", "port-channel12", true, true},
		{"nxos", "Ethernet1", false, true},
		{"nxos", "Ethernet1/1 ", false, true},
		{"nxos", "HundredGigE1/0/1", false, true},
		{"comware", "HundredGigE1/0/25", true, true},
		{"comware", "Twenty-FiveGigE1/0/1", true, true},
		{"comware", "TwoHundredGigE1/0/33:1", true, true},
		{"comware", "Ten-GigabitEthernet1/0/0/1", true, true},
		{"comware", "Bridge-Aggregation1", true, true},
		{"comware", "Ethernet1/1", false, true},
		{"comware", "GigE1/0/1", false, true},
		{"comware", "", false, true},
		{"junos", "et-0/0/0", false, false},
	} {
		if ok, known := c.PortName(test.os, test.name); ok != test.ok || known != test.known {
			t.Errorf("%s %q: ok %v known %v, wanted %v %v", test.os, test.name, ok, known, test.ok, test.known)
		}
	}
}

// TestFact: without a source a fact is known and not proven.
func TestFact(t *testing.T) {
	c := load(t)
	s := c.Server("Huawei", "2298H V7")
	if s == nil || !s.Product.Known || s.Product.Proven() || s.PCIeGeneration.Known {
		t.Errorf("2298H V7 is %+v", s)
	}
	if n := c.NIC("15b3:1021"); !n.PCIeGeneration.Proven() || n.PCIeGeneration.Value != 5 {
		t.Errorf("ConnectX-7 is %+v", n)
	}
}

// TestFaults: a row that would mislead does not load.
func TestFaults(t *testing.T) {
	for _, test := range []struct{ name, attrs, want string }{
		{"no source", "ocp_slots = 1", "ocp_slots and its source do not stand together"},
		{"a source of nothing", "source = { ocp_slots = none }", "ocp_slots and its source do not stand together"},
		{"an unknown source", "ocp_slots = 1\nsource = { ocp_slots = hearsay }", "Unknown variable"},
		{"an unknown attribute", "colour = 1", "colour is not known here"},
		{"a wrong type", "ocp_slots = \"two\"\nsource = { ocp_slots = none }", "Unsuitable value type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := &loader{titles: map[string]cty.Value{none: cty.StringVal("")}, seen: map[string]bool{}}
			l.rows("test.hcl", []byte("server \"x\" {\nvendor = \"V\"\nmodel = \"M\"\n"+test.attrs+"\n}\n"),
				map[string]func(*row){"server": func(r *row) { r.server() }})
			if err := l.diags.Error(); !strings.Contains(err, test.want) {
				t.Errorf("got %s, wanted %s", err, test.want)
			}
		})
	}
	l := &loader{seen: map[string]bool{}}
	l.rows("test.hcl", []byte("array \"x\" {}\narray \"x\" {}\nserver \"y\" {}\nz = 1"), map[string]func(*row){"array": func(*row) {}})
	if len(l.diags) != 3 {
		t.Errorf("wanted a row twice, one of another file, and an attribute alone: %v", l.diags.Errs())
	}
}
