package nvme

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/plan"
)

func entryOf(t *testing.T, kind string, state plan.EntryState, applied, before any) []plan.Entry {
	t.Helper()
	text := func(v any) json.RawMessage {
		if v == nil {
			return nil
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return []plan.Entry{{Kind: kind, Name: "x", State: state, Applied: text(applied), Before: text(before)}}
}

// A connection keeps the ToS that it was made with until the fabric says what carries
// TCP; then the plan shows the change, and so it does where weft was cut off meanwhile.
func TestMarksOfConnections(t *testing.T) {
	path := func(tos int) *NVMeConnection {
		return &NVMeConnection{NQN: "nqn.x", Transport: "tcp", Address: netip.MustParseAddrPort("10.0.0.1:4420"), HostNQN: "nqn.h", ToS: tos, Class: "class default of fabric.f"}
	}
	for name, test := range map[string]struct {
		unassigned   bool
		made, before int // by the ledger; -2: not there
		diff, left   string
		options      string
	}{
		"kept":              {true, 104, -2, "", "warning: it keeps ToS 104 (DSCP 26), but TCP belongs to class default of fabric.f by default (ToS none)", "tos=104"},
		"said":              {false, 104, -2, "tos 104 (DSCP 26) none, class default of fabric.f traffic", "", ""},
		"as it is":          {false, -1, -2, "", "", ""},
		"cut off meanwhile": {false, -1, 104, "tos unknown until apply none, class default of fabric.f traffic", "", ""},
		"not weft's":        {false, -2, -2, "", "", ""},
	} {
		want := path(-1)
		want.Unassigned = test.unassigned
		var entries []plan.Entry
		switch {
		case test.made != -2 && test.before != -2:
			entries = entryOf(t, "nvme_connection", plan.EntryCreating, path(test.made), path(test.before))
		case test.made != -2:
			entries = entryOf(t, "nvme_connection", plan.EntryCreated, path(test.made), nil)
		}
		for range 2 { // a plan is made, and applied
			want.inherit(entries)
		}
		have := path(want.ToS)
		have.Device, have.state = "nvme0", "live"
		want.marked(have)
		diff := ""
		for _, c := range want.Diff(have) {
			diff = strings.Join([]string{c.Path, c.Before, c.After, c.Impact.String()}, " ")
		}
		if diff != test.diff || test.left == "" != (have.Left() == "") || !strings.HasPrefix(have.Left(), test.left) {
			t.Errorf("%s: %q, left %q", name, diff, have.Left())
		}
		if steps := want.Steps(have); (diff != "") != (len(steps) > 0) {
			t.Errorf("%s: %v", name, steps)
		}
		if options := want.options("tcp"); !strings.HasSuffix(options, test.options) || test.options == "" && strings.Contains(options, "tos=") {
			t.Errorf("%s: %s", name, options)
		}
		if test.before != -2 { // what is not known is no state that steps lead back to
			if back := have.Diff(want); len(back) > 0 || !want.tries(have, plan.Change{Path: "tos"}) {
				t.Errorf("%s: back %v", name, back)
			}
			if amid := have.amid(want, nil); amid.ToS != want.ToS || amid.unsure {
				t.Errorf("%s: amid %+v", name, amid)
			}
		}
	}
}

// Portals keep their marks in the same way, and a configuration in the form of before
// that says the same stays as it is.
func TestMarksOfPortals(t *testing.T) {
	const before = "owner = \"x\"\ntos = 104\n\n[[portal]]\ntransport = \"rdma\"\naddress = \"10.0.0.1:4420\"\n\n[[portal]]\ntransport = \"tcp\"\naddress = \"10.0.0.1:4420\"\n"
	conf := func(tos uint8) string {
		c := &agent.Target{Owner: "x", Portals: []agent.Portal{{Transport: "rdma", Address: "10.0.0.1:4420"}, {Transport: "tcp", Address: "10.0.0.1:4420", ToS: tos}}}
		text, err := c.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	entries := entryOf(t, "agent", plan.EntryCreated, &Agent{Name: "weft-target", Config: before}, nil)
	for name, test := range map[string]struct {
		unassigned []string
		tos        uint8
		want, left string
	}{
		"kept":            {[]string{"10.0.0.1:4420"}, 0, before, "warning: 10.0.0.1:4420 keeps ToS 104 (DSCP 26)"},
		"said":            {nil, 0, conf(0), ""},
		"another mark":    {nil, 136, conf(136), ""},
		"in the new form": {nil, 104, before, ""},
	} {
		a := &Agent{Name: "weft-target", Config: conf(test.tos), Unassigned: test.unassigned}
		for range 2 {
			a.inherit(entries)
		}
		if a.Config != test.want || !strings.HasPrefix(a.Left(), test.left) || test.left == "" != (a.Left() == "") {
			t.Errorf("%s: left %q\n%s", name, a.Left(), a.Config)
		}
	}
}

// A portal of RDMA that stays closed undoes the change that was to open it, unless TCP is
// open in its place.
func TestUnopenedPortals(t *testing.T) {
	rdma, tcp := agent.Portal{Transport: "rdma", Address: "10.0.0.1:4420"}, agent.Portal{Transport: "tcp", Address: "10.0.0.1:4420"}
	other := agent.Portal{Transport: "tcp", Address: "10.0.0.1:4421"}
	closed := []agent.PortalStatus{{Portal: rdma, Error: "no device"}}
	for name, test := range map[string]struct {
		before, now Agent
		want        bool
	}{
		"nothing in its place": {Agent{}, Agent{open: []agent.Portal{other}, closed: closed}, true},
		"TCP is open":          {Agent{}, Agent{open: []agent.Portal{tcp, other}, closed: closed}, false},
		"it was closed before": {Agent{open: []agent.Portal{other}, closed: closed}, Agent{open: []agent.Portal{other}, closed: closed}, false},
		"TCP was open before":  {Agent{open: []agent.Portal{tcp}, closed: closed}, Agent{open: []agent.Portal{other}, closed: closed}, true},
		"everything is open":   {Agent{}, Agent{open: []agent.Portal{rdma, tcp}}, false},
	} {
		err := test.before.Lost(&test.now, false)
		if (err != nil) != test.want || err != nil && !strings.Contains(err.Error(), "portals 10.0.0.1:4420 of RDMA: no device") {
			t.Errorf("%s: %v", name, err)
		}
		if err := test.before.Lost(&test.now, true); err != nil {
			t.Errorf("%s, as before again: %v", name, err)
		}
	}
}
