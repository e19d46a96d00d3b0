//go:build unix

package windows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/lab/simwindows"
	"weft/internal/remote"
	"weft/modules/host"
)

func TestLease(t *testing.T) {
	b := newBox(t)
	ctx, way := t.Context(), b.transport()
	take := func(c host.Claim) *host.Held {
		t.Helper()
		_, _, held, err := memory{}.Take(ctx, way, c, host.Note{}, "o")
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	a, z := holder("a's", 0, 0), holder("z", 0, 0)
	if held := take(a); held != nil {
		t.Fatalf("%+v", held)
	}
	held := take(z)
	if held == nil || held.Text != "a's" || !held.Known || held.Left <= 0 || held.Left > time.Minute {
		t.Fatalf("%+v", held)
	}
	if err := (memory{}).Renew(ctx, way, a); err != nil {
		t.Error(err)
	}
	if kept := b.remembers("o"); len(kept.Leases) != 2 || kept.Leases[0].Text != "a's" {
		t.Errorf("%+v", kept.Leases)
	}
	z.Over = held // which may have been renewed since: then it is not taken over
	if was, err := (memory{}).Lease(ctx, way); err != nil || was == nil {
		t.Fatal(was, err)
	} else if z.Over = was; take(z) != nil {
		t.Error("a dead lease is not taken over")
	}
	if broken, err := (memory{}).Break(ctx, way, held); err != nil || broken {
		t.Errorf("%v %v", broken, err)
	}
	if err := (memory{}).Release(ctx, way, z.Text); err != nil {
		t.Error(err)
	}
	if now, err := (memory{}).Lease(ctx, way); err != nil || now != nil {
		t.Errorf("%+v %v", now, err)
	}
}

// Of many who want the lease at once one has it, and when all have gone nothing is left.
func TestLeaseRace(t *testing.T) {
	b := newBox(t)
	ctx, way := context.Background(), b.transport()
	var all sync.WaitGroup
	got := make([]*host.Held, 12)
	errs := make([]error, len(got))
	for i := range got {
		all.Go(func() {
			_, _, got[i], errs[i] = memory{}.Take(ctx, way, holder(fmt.Sprint("w", i), 0, 0), host.Note{}, "o")
		})
	}
	all.Wait()
	winners := 0
	for i := range got {
		if errs[i] != nil {
			t.Error(errs[i])
		}
		if got[i] == nil && errs[i] == nil {
			winners++
			if err := (memory{}).Release(ctx, way, fmt.Sprint("w", i)); err != nil {
				t.Error(err)
			}
		}
	}
	if winners != 1 {
		t.Errorf("%d have the lease", winners)
	}
	if left := b.Contents(); len(left) != 0 {
		t.Errorf("%v stays", left)
	}
}

func TestMark(t *testing.T) {
	b := newBox(t)
	ctx, way := t.Context(), b.transport()
	other, held, err := memory{}.Mark(ctx, way, holder("a", 0, 0), `{"token":"1"}`, "", "")
	if other != "" || held != nil || err != nil || b.marked() != `{"token":"1"}` {
		t.Fatalf("%q %v %v %q", other, held, err, b.marked())
	}
	if other, _, _ = (memory{}).Mark(ctx, way, holder("b", 0, 0), `{"token":"2"}`, "", ""); other != `{"token":"1"}` {
		t.Errorf("another's mark is %q", other)
	}
	if other, _, err = (memory{}).Mark(ctx, way, holder("b", 0, 0), `{"token":"2"}`, `"token":"1"`, ""); other != "" || err != nil || b.marked() != `{"token":"2"}` {
		t.Errorf("%q %v %q", other, err, b.marked())
	}
	mark, ledger, _, err := memory{}.Take(ctx, way, holder("c", 0, 0), host.Note{Text: `{"token":"2","phase":"x"}`, Needle: `"token":"2"`}, "o")
	if mark != `{"token":"2","phase":"x"}` || ledger != nil || err != nil {
		t.Errorf("%q %q %v", mark, ledger, err)
	}
	if err := (memory{}).Unmark(ctx, way, `"token":"1"`, ""); err != nil || b.marked() == "" {
		t.Errorf("another's mark goes: %v", err)
	}
	if err := (memory{}).Unmark(ctx, way, `"token":"2"`, ""); err != nil || b.marked() != "" {
		t.Errorf("%q stays: %v", b.marked(), err)
	}
}

// Who was overtaken is refused by the host at every change; tokens are compared as
// numbers, epochs first, and one that cannot be read refuses all.
func TestFence(t *testing.T) {
	b := newBox(t)
	ctx, way := t.Context(), b.transport()
	install := host.Run("Install-WindowsFeature", "-Name", "Data-Center-Bridging", "-Confirm:$false")
	slow, quick := holder("slow", 7, 9), holder("quick", 7, 10)
	if _, _, held, err := (memory{}).Take(ctx, way, slow, host.Note{}, "o"); held != nil || err != nil {
		t.Fatal(held, err)
	}
	if err := fence().Behind(way, slow).Do(ctx, install); err != nil {
		t.Error(err)
	}
	now, err := memory{}.Lease(ctx, way)
	if err != nil {
		t.Fatal(err)
	}
	quick.Over = now
	if _, _, held, err := (memory{}).Take(ctx, way, quick, host.Note{}, "o"); held != nil || err != nil {
		t.Fatal(held, err)
	}
	overtaken := func() {
		t.Helper()
		for what, err := range map[string]error{
			"step": fence().Behind(way, slow).Do(ctx, install),
			"put":  memory{}.Put(ctx, fence().Behind(way, slow), host.KeptLedger, "o", []byte("late")),
			"arm":  task{}.Arm(ctx, fence().Behind(way, slow), "o", time.Hour, []remote.Step{install}),
		} {
			if by := (*host.FencedError)(nil); !errors.As(err, &by) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	overtaken()
	if err := (memory{}).Release(ctx, way, quick.Text); err != nil {
		t.Error(err)
	}
	overtaken()
	b.Reboot()
	overtaken()
	if err := fence().Behind(way, quick).Do(ctx, install); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		comes host.Claim
		past  string
	}{
		{holder("n", 0, 0), "7.10"}, {slow, "7.10"}, {quick, ""}, {holder("n", 8, 1), ""}, {holder("n", 7, 99), "8.1"}, {host.Claim{Text: "hand", ByHand: true, Time: time.Minute}, ""},
	} {
		c.comes.Over = nil
		_, _, held, err := memory{}.Take(ctx, way, c.comes, host.Note{}, "o")
		if err != nil || (held == nil) != (c.past == "") || held != nil && held.Past != c.past {
			t.Errorf("%v comes: %+v, %v", c.comes.Token, held, err)
		}
		if err := (memory{}).Release(ctx, way, c.comes.Text); err != nil {
			t.Error(err)
		}
	}
	if err := fence().Yield(ctx, way); err != nil {
		t.Error(err)
	}
	b.Plant(root+`\token`, "nonsense", false)
	if _, _, held, err := (memory{}).Take(ctx, way, holder("n", 99, 99), host.Note{}, "o"); err != nil || held == nil || !strings.Contains(held.Past, "cannot be read") {
		t.Errorf("%+v, %v", held, err)
	}
}

// The task reverts what it is armed with, the last first, and then forgets itself; it
// is there after a restart.
func TestGuard(t *testing.T) {
	b := newBox(t)
	ctx, way := t.Context(), b.transport()
	armed := func() []string {
		t.Helper()
		seen, err := way.Read(ctx, []remote.Look{task{}.Look()})
		if err != nil {
			t.Fatal(err)
		}
		a, err := task{}.Armed(seen)
		if err != nil || a.Unable != nil {
			t.Fatal(err, a.Unable)
		}
		return a.Owners
	}
	installed := func() bool {
		t.Helper()
		f := &Feature{Name: "Data-Center-Bridging"}
		seen, err := way.Read(ctx, f.Looks())
		if err != nil {
			t.Fatal(err)
		}
		have, err := f.Parse(seen)
		if err != nil {
			t.Fatal(err)
		}
		return have != nil
	}
	on, off := host.Run("Install-WindowsFeature", "-Name", "Data-Center-Bridging", "-Confirm:$false"), host.Run("Uninstall-WindowsFeature", "-Name", "Data-Center-Bridging", "-Confirm:$false")
	for _, owner := range []string{"pod", "other"} {
		if err := (task{}).Arm(ctx, way, owner, time.Hour, []remote.Step{off}); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(armed()); got != "[other pod]" {
		t.Errorf("armed are %s", got)
	}
	if err := (task{}).Disarm(ctx, way, "other"); err != nil {
		t.Error(err)
	}
	if err := way.Do(ctx, on); err != nil {
		t.Fatal(err)
	}
	// A second one has the first after it: in the end it is off.
	if err := (task{}).Arm(ctx, way, "pod", time.Hour, []remote.Step{on, host.Run("Restart-NetAdapter", "-Name", nicName("0000:99:00.0"))}); err != nil {
		t.Fatal(err)
	}
	b.Reboot()
	if got := fmt.Sprint(armed()); got != "[pod]" || !installed() {
		t.Errorf("armed are %s", got)
	}
	b.Fire()
	if installed() {
		t.Error("it was not reverted")
	}
	if got := armed(); len(got) != 0 {
		t.Errorf("armed are %v", got)
	}
	if left := b.Contents(); len(left) != 0 {
		t.Errorf("%v stays", left)
	}
	if err := (task{}).Arm(ctx, way, "pod", time.Hour, []remote.Step{{Put: &remote.File{Path: "/x"}}}); err == nil {
		t.Error("a file is a step of a task")
	}
}

// An adapter is found by where it is, whatever it is called; a name that is a pattern is
// refused.
func TestAdapters(t *testing.T) {
	b := newBox(t, simwindows.NIC{PCI: "0000:3b:00.0", Name: "Größe 'a‘", RDMA: true}, simwindows.NIC{PCI: "0000:3b:00.1", Name: "a*"})
	seen, err := b.transport().Read(t.Context(), factsLooks(true, nil))
	if err != nil {
		t.Fatal(err)
	}
	f, err := tellFacts(seen, true, []host.NIC{{Name: "p0", PCI: "0000:3b:00.0"}, {Name: "p1", PCI: "0000:3b:00.2"}})
	if err != nil {
		t.Fatal(err)
	}
	n := f.NICs[0]
	if len(f.NICs) != 4 || n.Interface != "Größe 'a‘" || n.ID != "15b3:1021" || n.MTU != 1500 || n.Speed != 100e9 || len(n.RDMA) != 1 || n.Carrier == nil || !*n.Carrier || !f.NICs[1].Absent {
		t.Errorf("%+v", f.NICs)
	}
	for pci, want := range map[string]string{"0000:3b:00.0": "", "0000:3b:00.1": "is a pattern", "0000:3b:00.7": "no adapter at PCI address 0000:3b:00.7"} {
		err := b.transport().Do(t.Context(), (&Adapter{PCI: pci, Values: map[string]string{kwJumbo: "9014"}}).Steps(&Adapter{})[0])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", pci, err)
		}
	}
}
