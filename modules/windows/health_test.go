//go:build unix

package windows

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/lab/simwindows"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// What a host says of the classes and pauses of its NICs, before and after all of RDMA is
// set up, and where Windows has sent a NIC nothing.
func TestExamined(t *testing.T) {
	h, err := simwindows.New(simwindows.Spec{Name: "win1", NICs: []simwindows.NIC{{PCI: nicA, RDMA: true}, {PCI: nicB, RDMA: true}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	log := &logged{box: &box{Host: h, t: t}}
	way := transport{Host: log}
	expect := func(when, want string) {
		t.Helper()
		seen, err := way.Read(t.Context(), examineLooks())
		if err != nil {
			t.Fatal(err)
		}
		got, err := examined(seen)
		if err != nil || !got.Bare {
			t.Fatalf("%s: %+v, %v", when, got, err)
		}
		n := got.NICs[slices.IndexFunc(got.NICs, func(n host.NICHealth) bool { return n.PCI == nicA })]
		if is := fmt.Sprint("pfc ", n.PFC, " ets ", n.ETS, " classes ", n.Classes, " pause ", n.Pause, " dcbx ", n.DCBX); is != want {
			t.Errorf("%s:\n%s, want\n%s\nsilent: %q", when, is, want, n.Silent)
		}
	}
	expect("nothing is set up", "pfc [] ets <nil> classes <nil> pause &{true true} dcbx <nil>")
	parts := roceParts()
	read(t, way, parts)
	for _, p := range parts {
		doAll(t, way, p.there())
	}
	expect("all is", "pfc [3] ets &[50 -1 50 0 0 0 0 0] classes &[0 0 0 2 0 0 1 0] pause &{false false} dcbx &{true false}")
	if err := h.Fault("few-classes"); err != nil {
		t.Fatal(err)
	}
	expect("the NIC has room for fewer classes", "pfc [3] ets &[-1 0 0 0 0 0 0 0] classes &[0 0 0 0 0 0 0 0] pause &{false false} dcbx &{true false}")
	for _, s := range log.scripts {
		if err := powershell.Check(s); err != nil {
			t.Errorf("%v in\n%s", err, s)
		}
	}
}

// What weft cannot read is not known, and nothing stands for something good.
func TestExaminedIsNotGuessed(t *testing.T) {
	for _, c := range []struct{ qos, want string }{
		{`[{"Name":"A","Enabled":true,"OperationalFlowControl":["Priority 3 Enabled"],"OperationalTrafficClasses":["0 ETS 50 0-2,4-7","1 ETS 50 3"]}]`, "pfc [3] ets &[50 50 0 0 0 0 0 0] classes &[0 0 0 1 0 0 0 0]"},
		{`[{"Name":"A","Enabled":true,"OperationalFlowControl":["All Priorities Disabled"],"OperationalTrafficClasses":["0 ETS 50 0-2,4-6","1 ETS 50 3"]}]`, "pfc [] ets <nil> classes <nil>"},
		{`[{"Name":"A","Enabled":true,"OperationalFlowControl":["?"],"OperationalTrafficClasses":["1 ETS 50 9"]}]`, "pfc <nil> ets <nil> classes <nil>"},
		{`[{"Name":"A","Enabled":false}]`, "pfc [] ets <nil> classes <nil>"},
		{`[]`, "pfc <nil> ets <nil> classes <nil>"},
		{`{`, "pfc <nil> ets <nil> classes <nil>"},
	} {
		s := remote.NewSeen(remote.Answer{Look: operationalLook(), Sight: remote.Sight{Content: []byte(c.qos)}})
		x := host.NICHealth{NICFacts: host.NICFacts{Interface: "A"}, Silent: map[string]string{}}
		classesOf(s, &x)
		pfc := strings.Replace(fmt.Sprint(x.PFC), "[]", map[bool]string{true: "<nil>", false: "[]"}[x.PFC == nil], 1)
		if got := fmt.Sprint("pfc ", pfc, " ets ", x.ETS, " classes ", x.Classes); got != c.want {
			t.Errorf("%s: %s, want %s", c.qos, got, c.want)
		}
		if (x.PFC == nil) != (x.Silent["pfc"] != "") || (x.ETS == nil) != (x.Silent["ets"] != "") {
			t.Errorf("%s: silent %q", c.qos, x.Silent)
		}
	}
}
