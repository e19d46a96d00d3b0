package host

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"weft/internal/remote"
	"weft/plan"
)

// A dcbTable is the table of a NIC port that dcb app shows and changes.
type dcbTable struct {
	t    *testing.T
	list []marking
}

func (d *dcbTable) seen(look remote.Look) remote.Seen {
	rows := [][]int{}
	for _, m := range d.list {
		rows = append(rows, []int{m.DSCP, m.Priority})
	}
	out, err := json.Marshal(map[string]any{"dscp_prio": rows})
	if err != nil {
		d.t.Fatal(err)
	}
	return remote.NewSeen(remote.Answer{Look: look, Sight: remote.Sight{Interface: "eth0", Content: out}})
}

// do carries out steps, and refuses as the kernel does.
func (d *dcbTable) do(steps []remote.Step) {
	d.t.Helper()
	for _, s := range steps {
		var m marking
		if n, err := fmt.Sscanf(s.Args[len(s.Args)-1], "%d:%d", &m.DSCP, &m.Priority); n != 2 {
			d.t.Fatalf("%s: %v", s, err)
		}
		at := slices.Index(d.list, m)
		switch verb := s.Args[2]; {
		case verb == "add" && at < 0:
			d.list = append(d.list, m)
		case verb == "del" && at >= 0:
			d.list = slices.Delete(d.list, at, at+1)
		default:
			d.t.Fatalf("%s is refused: the table holds %v", s, d.list)
		}
	}
	sortTable(d.list)
}

// Whatever is declared in turn, wherever an apply is killed, and whether runs are
// reverted: what is declared is there, what is not is as it was before weft.
func TestWhatIsDeclaredNoMoreGoesBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		marks := func() (list []marking) {
			for _, dscp := range []int{8, 26, 28, 30} {
				if rnd.IntN(2) == 0 {
					list = append(list, marking{dscp, []int{1, 3}[rnd.IntN(2)]})
				}
			}
			return list
		}
		machine := &dcbTable{t: t, list: marks()}
		first := slices.Clone(machine.list)
		d := &Machine{os: linux(), name: "server.s", owner: "o", ledgers: ledgers{own: ledger{Format: ledgerFormat, Owner: "o"}}}
		id := plan.ID{Device: d.name, Kind: "dscp", Name: "p0"}
		story := fmt.Sprintf("seed %d, before weft %v", seed, first)

		// carry applies one step, up to where it is killed; it reports whether it came to its end.
		carry := func(r plan.Resource, run string, reverse, prune bool, killed bool) bool {
			look := wished(t, d, "dscp", `{"PCI":"0000:41:00.0"}`).(Resource).looks()[0]
			have := r.(Resource).parse(machine.seen(look))
			diff := r.Diff(have)
			if diff.Err != nil || diff.Left != "" {
				t.Fatalf("%s: %v %s", story, diff.Err, diff.Left)
			}
			step := plan.Step{ID: id, Resource: r, Have: have, Run: run, Reverse: reverse, Prune: prune}
			steps := r.(Resource).steps(have)
			if diff.Empty() {
				steps = nil
				if !reverse && !prune {
					d.ledgers.own = d.ledgers.own.done(nil, []observation{{r, have}})
					return true
				}
			}
			d.ledgers.own = d.ledgers.own.next([]plan.Step{step})
			if killed && len(steps) > 0 {
				machine.do(steps[:rnd.IntN(len(steps))])
				return false
			}
			machine.do(steps)
			now := r.(Resource).parse(machine.seen(look))
			if left := r.Diff(now); !left.Empty() {
				t.Fatalf("%s: after the change %v is left; the table holds %v", story, left.Changes, machine.list)
			}
			d.ledgers.own = d.ledgers.own.done([]plan.Step{step}, []observation{{r, have}})
			return true
		}
		for n := range 6 {
			run := fmt.Sprint("run ", n)
			want := marks()
			if len(want) == 0 {
				continue
			}
			before := slices.Clone(machine.list)
			killed, back := rnd.IntN(3) == 0, rnd.IntN(3) == 0
			story += fmt.Sprintf("; %s declares %v", run, want)
			list, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			r := wished(t, d, "dscp", `{"PCI":"0000:41:00.0","Map":`+string(list)+`}`)
			r.(Thing).Named(id)
			if !carry(r, run, false, false, killed) {
				story += fmt.Sprintf(", killed with %v", machine.list)
			} else if expect := expected(first, want); !slices.Equal(machine.list, expect) {
				t.Fatalf("%s: the table holds %v, want %v", story, machine.list, expect)
			}
			if !back {
				continue
			}
			undone, err := d.Reverse(run, plan.PlannedStep{ID: id})
			if err != nil {
				continue // the run changed nothing
			}
			story += ", reverted"
			carry(undone, run, true, false, false)
			if !slices.Equal(machine.list, before) {
				t.Fatalf("%s: the table holds %v, before the run %v", story, machine.list, before)
			}
		}
		for _, e := range slices.Clone(d.ledgers.own.Entries) {
			if e.State == plan.EntryAdopted {
				continue
			}
			r, err := d.Restore(e)
			if err != nil {
				t.Fatalf("%s: %v", story, err)
			}
			carry(r, "", false, true, false)
		}
		if !slices.Equal(machine.list, first) {
			t.Fatalf("%s: without weft the table holds %v, before it %v", story, machine.list, first)
		}
	}
}

// A marking is one of kind dscp.
type marking struct{ DSCP, Priority int }

func sortTable(list []marking) {
	slices.SortFunc(list, func(a, b marking) int { return cmp.Or(a.DSCP-b.DSCP, a.Priority-b.Priority) })
}

// expected is what was there with what is declared.
func expected(first, declared []marking) []marking {
	out := slices.DeleteFunc(slices.Clone(first), func(m marking) bool {
		return slices.ContainsFunc(declared, func(d marking) bool { return d.DSCP == m.DSCP })
	})
	out = append(out, declared...)
	sortTable(out)
	return out
}
