package host

import (
	"testing"

	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/plan"
)

// banner is a kind that only this test knows: nothing else in weft names it.
type banner struct{ Text string }

func bannerKind() *Kind[banner] {
	look := remote.Look{File: "/etc/motd"}
	return &Kind[banner]{
		Name:  "banner",
		Looks: func(*banner) []remote.Look { return []remote.Look{look} },
		Parse: func(_ *banner, s remote.Seen) (*banner, error) {
			got := s.Of(look)
			if got.Absent {
				return nil, nil
			} else if got.Err != nil {
				return nil, got.Err
			}
			return &banner{string(got.Content)}, nil
		},
		Diff: func(want, have *banner) []plan.Change {
			return plan.Changed("text", Some(have).Text, Some(want).Text, plan.ImpactNone)
		},
		Steps: func(want, _ *banner) []remote.Step {
			if want == nil {
				return []remote.Step{{Del: "/etc/motd"}}
			}
			return []remote.Step{{Put: &remote.File{Path: "/etc/motd", Mode: 0o644, Content: []byte(want.Text)}}}
		},
	}
}

// A kind is one literal: what is declared of it is read, compared, changed, kept
// in the ledger and pruned from there, and nothing else has to know it.
func TestKindIsOneLiteral(t *testing.T) {
	for name, before := range map[string]string{"there was none": "", "there was another": "theirs\n"} {
		r := remotetest.NewReplay(t, "st1")
		r.Files = map[string]string{}
		if before != "" {
			r.Files["/etc/motd"] = before
		}
		d := &Machine{os: linux(), name: "server.st1", host: linux().Open(r), kinds: NewKindSet(append(linux().Kinds(), bannerKind()))}
		id := plan.ID{Device: d.name, Kind: "banner", Name: "x"}
		want := bannerKind().Want(d, &banner{"ours\n"})
		want.Named(id)

		carry := func(res plan.Resource, s plan.Step) {
			t.Helper()
			states, err := d.Read(t.Context(), []plan.Resource{res})
			if err != nil {
				t.Fatal(err)
			}
			if diff := res.Diff(states[0]); diff.Empty() || diff.Err != nil || diff.Left != "" {
				t.Fatalf("%s: %+v", name, diff)
			}
			s.ID, s.Resource, s.Have = id, res, states[0]
			d.ledgers.own = d.ledgers.own.next([]plan.Step{s})
			for _, step := range res.(Thing).steps(s.Have) {
				if err := do(t.Context(), linux().Open(r), step); err != nil {
					t.Fatal(err)
				}
			}
			d.ledgers.own = d.ledgers.own.done([]plan.Step{s}, nil)
		}
		carry(want, plan.Step{})
		if r.Files["/etc/motd"] != "ours\n" {
			t.Errorf("%s: applied: %q", name, r.Files["/etc/motd"])
		}
		entries := d.ledgers.own.Entries
		if len(entries) != 1 || entries[0].State != plan.EntryCreated {
			t.Fatalf("%s: the ledger holds %+v", name, entries)
		}
		back, err := d.Restore(entries[0])
		if err != nil {
			t.Fatal(err)
		}
		carry(back, plan.Step{Prune: true})
		if after, there := r.Files["/etc/motd"]; after != before || there != (before != "") || len(d.ledgers.own.Entries) != 0 {
			t.Errorf("%s: pruned: %q, %+v", name, after, d.ledgers.own.Entries)
		}
	}
}
