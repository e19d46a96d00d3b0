package host

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"weft/internal/remote"
	"weft/plan"
)

func TestMissing(t *testing.T) {
	of := func(names ...string) (list []plan.Member) {
		for _, n := range names {
			list = append(list, plan.Member{Device: n, Kind: "server"})
		}
		return list
	}
	moved := of("a")
	moved[0].Host = "elsewhere"
	for _, tt := range []struct {
		list, other []plan.Member
		want        string
	}{
		{nil, nil, ""},
		{of("a", "b", "c"), of("a", "b", "c"), ""},
		{of("a", "b", "c"), of("c", "b", "a"), ""},
		{of("a", "b", "c"), of("a", "c"), "b"},
		{of("a", "b"), nil, "a, b"},
		{nil, of("a"), ""},
		{moved, of("a"), "a"},
		{of("a", "b", "c", "d"), of("x"), "a, b, c, d"},
		{of("a", "b", "c", "d", "e"), of("x"), "a, b, c, d and 1 more"},
	} {
		was := slices.Clone(tt.list)
		if got := missing(tt.list, tt.other); got != tt.want {
			t.Errorf("of %v not in %v: %q, want %q", tt.list, tt.other, got, tt.want)
		}
		if !slices.Equal(was, tt.list) {
			t.Errorf("%v was changed", was)
		}
	}
}

// Of devices that stay, it is said what of them differs.
func TestApart(t *testing.T) {
	have := []plan.Member{{Device: "server.a", Kind: "server", Host: "a"}, {Device: "vcenter.dc1", Kind: "vcenter", Host: "vc:443", Credential: "credential.old"}, {Device: "switch.b", Kind: "switch", Host: "b", OS: "nxos", Connection: "connection.x"}}
	want := slices.Clone(have)
	want[0].OS = "linux" // as older ledgers do not name it
	want[1].Credential = "credential.new"
	want[2].Host, want[2].Connection = "c", ""
	before, after := changed(have, want)
	if before != "vcenter.dc1 with credential.old, switch.b with host b, connection.x" || after != "vcenter.dc1 with credential.new, switch.b with host c, no connection" {
		t.Errorf("%q becomes %q", before, after)
	}
	if before, after := changed(have, want[1:]); before != "server.a, vcenter.dc1, switch.b" || after != "vcenter.dc1, switch.b" {
		t.Errorf("%q becomes %q", before, after)
	}
}

// To compare rosters takes as long as they are.
func BenchmarkMissing(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n, " devices"), func(b *testing.B) {
			var roster []plan.Member
			for i := range n {
				roster = append(roster, plan.Member{Device: fmt.Sprint("server.", i), Kind: "server", Host: fmt.Sprint(i)})
			}
			without := slices.Delete(slices.Clone(roster), n/2, n/2+1)
			for b.Loop() {
				if got := missing(roster, without); got != fmt.Sprint("server.", n/2) {
					b.Fatal(got)
				}
			}
		})
	}
}

// An interface that weft brought up was down before weft came, also as the entry
// of another address on it tells: of one that takes the place of the first, and of
// one beside it.
func TestLinkStaysRememberedAsDown(t *testing.T) {
	const nic, other = "0000:41:00.0", "0000:41:00.1"
	address := func(pci string, present, up bool) json.RawMessage {
		return json.RawMessage(fmt.Sprintf(`{"PCI":%q,"CIDR":"10.0.0.1/24","Present":%t,"Up":%t}`, pci, present, up))
	}
	entry := func(state plan.EntryState, name string, former, applied json.RawMessage) plan.Entry {
		return plan.Entry{Kind: "address", Name: name, State: state, Former: former, Applied: applied}
	}
	down, up := address(nic, false, false), address(nic, true, true)
	for name, tt := range map[string]struct {
		entries []plan.Entry
		want    bool // up
	}{
		"none":         {nil, true},
		"down":         {[]plan.Entry{entry(plan.EntryCreated, "old", down, up)}, false},
		"cut off":      {[]plan.Entry{entry(plan.EntryCreating, "old", down, up)}, false},
		"up":           {[]plan.Entry{entry(plan.EntryCreated, "old", address(nic, false, true), up)}, true},
		"adopted":      {[]plan.Entry{{Kind: "address", Name: "old", State: plan.EntryAdopted, Applied: up}}, true},
		"another card": {[]plan.Entry{entry(plan.EntryCreated, "old", address(other, false, false), address(other, false, true))}, true},
		"another kind": {[]plan.Entry{{Kind: "mtu", Name: "old", State: plan.EntryCreated, Former: mtuOf(1500)}}, true},
	} {
		want := wished(t, nil, "address", `{"PCI":"0000:41:00.0","CIDR":"10.0.0.1/16","Present":true,"Up":true}`)
		have := seenAs(t, "address", `{"PCI":"0000:41:00.0","CIDR":"10.0.0.1/16","Up":true}`)
		id := plan.ID{Device: "server.s", Kind: "address", Name: "p0"}
		next := ledger{Entries: tt.entries}.next([]plan.Step{{ID: id, Resource: want, Have: have}})
		var former struct{ Present, Up bool }
		if err := json.Unmarshal(next.Entries[len(next.Entries)-1].Former, &former); err != nil {
			t.Fatal(err)
		}
		if former.Up != tt.want || former.Present {
			t.Errorf("%s: before weft it was %+v; want up %t", name, former, tt.want)
		}
	}
}

// What was found as wanted, and put back after an operator changed it, is still none of
// weft's: what there was before weft is not known, and it is not given back.
func TestAdoptedIsPutBack(t *testing.T) {
	want := wished(t, nil, "mtu", `{"PCI":"0000:41:00.0","Bytes":9000}`)
	have := seenAs(t, "mtu", `{"PCI":"0000:41:00.0","Bytes":1500}`)
	steps := []plan.Step{{ID: plan.ID{Device: "server.s", Kind: "mtu", Name: "p0"}, Resource: want, Have: have}}
	l := ledger{Entries: []plan.Entry{{Kind: "mtu", Name: "p0", State: plan.EntryAdopted, Applied: want.(Thing).applied(have)}}}
	after := l.next(steps).done(steps, nil)
	if len(after.Entries) != 1 || after.Entries[0].State != plan.EntryAdopted {
		t.Fatalf("%+v", after.Entries)
	}
	if _, err := NewKindSet(linux().Kinds())["mtu"].restore(&Machine{os: linux()}, after.Entries[0]); err != nil {
		t.Error(err)
	}
}

// What was found as wanted, taken away by an operator and made again is weft's own.
func TestAdoptedIsMadeAgain(t *testing.T) {
	want := wished(t, nil, "file", `{"Path":"/etc/motd","Content":"YQ==","Mode":420}`)
	steps := []plan.Step{{ID: plan.ID{Device: "server.s", Kind: "file", Name: "/etc/motd"}, Resource: want}}
	l := ledger{Entries: []plan.Entry{{Kind: "file", Name: "/etc/motd", State: plan.EntryAdopted, Applied: want.(Thing).applied(nil)}}}
	after := l.next(steps).done(steps, nil)
	if len(after.Entries) != 1 || after.Entries[0].State != plan.EntryCreated {
		t.Fatalf("%+v", after.Entries)
	}
}

// What was found as wanted has drifted when an operator changes it, and is known by
// what it is about, also where it is something that is always there.
func TestAdoptedIsKnown(t *testing.T) {
	const nic = "0000:41:00.0"
	d := &Machine{os: linux(), name: "server.s"}
	d.things.declare(plan.ID{Device: d.name, Kind: "mtu", Name: "data"}, nic)
	found := plan.Entry{Kind: "mtu", Name: "p0", State: plan.EntryAdopted, Applied: mtuOf(1500)}
	mtu := func(bytes string) remote.Seen {
		return remote.NewSeen(remote.Answer{Look: wished(t, d, "mtu", `{"PCI":"0000:41:00.0"}`).(Resource).looks()[0], Sight: remote.Sight{Interface: "eth0", Content: []byte(bytes)}})
	}
	if d.sights = mtu("1500"); d.Drifted(found, nil) {
		t.Error("what is as it was found has drifted")
	}
	if d.sights = mtu("4000"); !d.Drifted(found, nil) {
		t.Error("what somebody changed has not drifted")
	}
	if got := d.nameToday(found); got != "data" {
		t.Errorf("it is called %s, want data", got)
	}
	made := found
	made.State = plan.EntryCreated
	if _, err := d.Restore(made); err == nil {
		t.Error("what weft made is reverted to nothing")
	}
}

// A run that prunes a thing can be reverted: what it found comes back.
func TestPrunedComesBack(t *testing.T) {
	made := plan.Entry{Kind: "mtu", Name: "p0", State: plan.EntryCreated,
		Applied: mtuOf(9000), Former: mtuOf(1500)}
	d := &Machine{os: linux(), name: "server.s"}
	d.ledgers.own.Entries = []plan.Entry{made}
	id := plan.ID{Device: d.name, Kind: "mtu", Name: "p0"}
	prune, err := d.Restore(made)
	if err != nil {
		t.Fatal(err)
	}
	now := seenMTU(t, 9000)
	d.ledgers.own = d.ledgers.own.done([]plan.Step{{ID: id, Resource: prune, Have: now, Prune: true, Run: "r1"}}, nil)
	if len(d.ledgers.own.Entries) != 0 || len(d.ledgers.own.Pruned) != 1 {
		t.Fatalf("after the run: %+v", d.ledgers.own)
	}
	revert, err := d.Reverse("r1", plan.PlannedStep{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	was := seenMTU(t, 1500)
	if diff := revert.Diff(was); len(diff.Send) != 1 || diff.Send[0] != "$ ip link set dev eth0 mtu 9000" {
		t.Errorf("to revert the run: %+v", diff)
	}
	d.ledgers.own = d.ledgers.own.done([]plan.Step{{ID: id, Resource: revert, Have: was, Reverse: true, Run: "r1"}}, nil)
	if len(d.ledgers.own.Entries) != 1 || d.ledgers.own.Entries[0].State != plan.EntryCreated || len(d.ledgers.own.Pruned) != 0 {
		t.Errorf("after the revert: %+v", d.ledgers.own)
	}
}

// mtuOf is a state of kind mtu as ledgers keep it.
func mtuOf(bytes int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"PCI":"0000:41:00.0","Bytes":%d}`, bytes))
}

// seenMTU is one as it is read of eth0.
func seenMTU(t *testing.T, bytes int) plan.State {
	look := wished(t, nil, "mtu", string(mtuOf(bytes))).(Resource).looks()[0]
	return wished(t, &Machine{os: linux()}, "mtu", string(mtuOf(bytes))).(Resource).parse(
		remote.NewSeen(remote.Answer{Look: look, Sight: remote.Sight{Interface: "eth0", Content: []byte(fmt.Sprint(bytes))}}))
}
