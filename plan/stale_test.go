package plan

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/hint"
)

// What may and may not have moved between a plan and its apply.
func TestStaleRule(t *testing.T) {
	// The plan sets a/v.x from 1 to 2; a/v.same is 7 as declared.
	tests := []struct {
		name string
		move func(w *world, in *Input)
		want string // of the error; "" applies
	}{
		{"nothing moved", func(*world, *Input) {}, ""},
		{"done already", func(w *world, _ *Input) { w.device("a").values["v.x"] = "2" }, ""},
		{"another value before", func(w *world, _ *Input) { w.device("a").values["v.x"] = "9" },
			`a/v.x value: planned on "1", now "9": it changed on the device`},
		{"it is gone", func(w *world, _ *Input) { delete(w.device("a").values, "v.x") },
			`planned on "1", now ""`},
		{"something else moved", func(w *world, _ *Input) { w.device("a").values["v.same"] = "8" },
			`a/v.same value: planned on "7", now "8": the plan does not change it`},
		{"two things", func(w *world, _ *Input) {
			w.device("a").values["v.same"] = "8"
			w.device("a").values["v.x"] = "9"
		}, `stale in 2 places, the first is a/v.x`},
		{"another value is wanted", func(w *world, _ *Input) { w.items[0].Resource.(*fakeResource).value = "3" },
			`planned on "2", now "3": another value is wanted`},
		{"a worse impact", func(w *world, _ *Input) { w.items[0].Resource.(*fakeResource).impact = ImpactReboot },
			`planned on "none", now "reboot": changing it has a worse impact`},
		{"a better impact", func(w *world, _ *Input) { w.items[1].Resource.(*fakeResource).impact = ImpactReboot }, ""},
		{"no longer declared", func(w *world, in *Input) { in.Items = in.Items[1:] },
			`a/v.x: it is no longer declared`},
		{"the whole device is not", func(w *world, in *Input) { in.Items = nil }, `it is no longer declared`},
		{"what was in order is no longer declared", func(w *world, in *Input) { in.Items = in.Items[:1] }, ""},
		{"declared since, and there", func(w *world, in *Input) {
			w.device("b").values["v.new"] = "1"
			w.want("b/v.new", "1")
			in.Items = w.items
		}, ""},
		{"declared since, not there", func(w *world, in *Input) {
			w.want("b/v.new", "1")
			in.Items = w.items
		}, `b/v.new value: planned on "1", now "": the plan does not change it`},
		{"restarted", func(w *world, _ *Input) { w.device("a").identity.BootID = "2" }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, w := within(t), newWorld()
			w.want("a/v.x", "2")
			w.want("a/v.same", "7")
			w.device("a").values = map[string]string{"v.x": "1", "v.same": "7"}
			in := w.input()
			p := throughFile(t, mustMake(t, ctx, in))
			tt.move(w, &in)
			res, err := Apply(ctx, p, in)
			if tt.want == "" {
				if err != nil || res.Outcome() != RunDone || w.device("a").values["v.x"] != "2" {
					t.Errorf("error %v, outcome %s, values %v", err, res.Outcome(), w.device("a").values)
				}
				return
			}
			var stale *StaleError
			if !errors.As(err, &stale) || !strings.Contains(err.Error(), tt.want) || hint.Of(err) == "" {
				t.Fatalf("error %v, want %s", err, tt.want)
			}
			if res.Outcome() != RunNothingChanged || w.called("begin") != 0 {
				t.Errorf("outcome %s, calls %v", res.Outcome(), w.calls)
			}
		})
	}
}

// What a dying apply still leaves behind does not make the next one's plan stale.
func TestSweptIsNotStale(t *testing.T) {
	left := func(n string) Change { return Change{Path: "uploads", Before: n} }
	armed := Change{Path: "revert", Before: "armed", After: "disarmed"}
	for _, test := range []struct{ planned, fresh []Change }{
		{nil, []Change{left("1")}},
		{[]Change{{Path: "uploads", Before: "1"}}, []Change{left("2")}}, // as read from a file
		{[]Change{left("1")}, []Change{left("1")}},                      // another file
		{[]Change{armed}, []Change{armed, left("1")}},
	} {
		if moved := movedStep(PlannedStep{Changes: test.planned, Send: []string{"x"}}, Diff{Changes: test.fresh, Sweeps: []string{"uploads"}, Send: []string{"y"}}); moved != nil {
			t.Errorf("%+v after %+v: %v", test.fresh, test.planned, moved)
		}
	}
	if moved := movedStep(PlannedStep{}, Diff{Changes: []Change{armed, left("1")}, Sweeps: []string{"uploads"}}); len(moved) != 1 || moved[0].Path != "revert" {
		t.Errorf("%v", moved)
	}
}

// What Apply refuses before it changes anything, other than a stale plan.
func TestApplyRefuses(t *testing.T) {
	tests := []struct {
		name string
		move func(w *world, p *Plan, in *Input)
		want string
		as   any // the type of the error, if it has one
		dev  DeviceOutcome
	}{
		{"another serial", func(w *world, _ *Plan, _ *Input) { w.device("a").identity.Serial = "X1" },
			`a is another device than the one that was planned for: its serial was "" and is "X1"`,
			new(*WrongDeviceError), DeviceUnreachable},
		{"another machine", func(w *world, _ *Plan, _ *Input) { w.device("a").identity.MachineID = "" },
			"machine id", new(*WrongDeviceError), DeviceUnreachable},
		{"unreachable now", func(w *world, _ *Plan, _ *Input) { w.failOn("open a") },
			"a cannot be reached: fault: open a", new(*UnreachableError), DeviceUnreachable},
		{"unreadable now", func(w *world, _ *Plan, _ *Input) { w.failOn("read") },
			"2 devices cannot be reached, the first is a", new(*UnreachableError), DeviceUnreachable},
		{"unreachable when planned", func(_ *world, p *Plan, _ *Input) { p.Devices[1].Error = "no route" },
			"the plan is incomplete: b cannot be reached: no route", new(*UnreachableError), DeviceUnchanged},
		{"a ledger of a later weft when planned", func(_ *world, p *Plan, _ *Input) {
			p.Devices[1].Error, p.Devices[1].Refuses, p.Skip = "its ledger has format 9", true, true
		}, "the plan is incomplete: b was reached, and its ledger has format 9", new(*LedgerError), DeviceUnchanged},
		{"a ledger of a later weft now", func(w *world, _ *Plan, in *Input) {
			in.Devices["a"] = laterDevice{w.device("a")}
		}, "a was reached, and its ledger has format 9", new(*LedgerError), DeviceUnchanged},
		{"refused when planned", func(_ *world, p *Plan, _ *Input) {
			p.Refusals = []Refusal{{ID: p.Steps[0].ID, Text: "too much"}}
		}, "a/v.x cannot be applied: too much", nil, DeviceUnchanged},
		{"refused now", func(w *world, _ *Plan, _ *Input) {
			for _, item := range w.items {
				item.Resource.(*fakeResource).refuse = errors.New("too much")
			}
		}, "2 resources cannot be applied, the first: a/v.x cannot", nil, DeviceUnchanged},
		{"another owner", func(_ *world, _ *Plan, in *Input) { in.Owner = "else" }, "owner", nil, DeviceUnchanged},
		{"the lab's plan", func(_ *world, p *Plan, _ *Input) { p.Simulated = true },
			"was made for the simulated lab and would be applied to real devices", nil, DeviceUnchanged},
		{"lines that were edited", func(_ *world, p *Plan, _ *Input) { p.Steps[1].Send = []string{"format everything"} },
			`b/v.x: other lines would be sent than the plan shows: planned "format everything", now "`, new(*StaleError), DeviceUnchanged},
		{"another format", func(_ *world, p *Plan, _ *Input) { p.Format = 8 }, "format 8", nil, DeviceUnchanged},
		{"a step that needs a later one", func(_ *world, p *Plan, _ *Input) { p.Steps[0].Needs = []ID{p.Steps[1].ID} },
			"no earlier step", nil, DeviceUnchanged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, w := within(t), newWorld()
			w.want("a/v.x", "1")
			w.want("b/v.x", "1")
			in := w.input()
			p := mustMake(t, ctx, in)
			tt.move(w, p, &in)
			res, err := Apply(ctx, p, in)
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.as != nil && !errors.As(err, tt.as) {
				t.Fatalf("error %T %v, want %s", err, err, tt.want)
			}
			if res.Outcome() != RunNothingChanged || w.called("begin") != 0 || res.Devices[0].Outcome != tt.dev {
				t.Errorf("outcome %s, %+v, calls %v", res.Outcome(), res.Devices, w.calls)
			}
		})
	}
}

// A step that waits for one that was found done still waits for what that one
// needed.
func TestApplyThroughWhatIsDone(t *testing.T) {
	ctx, w := within(t), newWorld()
	w.want("a/v.x", "1")
	w.want("b/v.x", "1", "a/v.x")
	w.want("c/v.x", "1", "b/v.x")
	in := w.input()
	p := mustMake(t, ctx, in)
	w.device("b").values["v.x"] = "1"
	w.failOn("apply a")
	var journal bytes.Buffer
	in.Journal = &journal
	res, err := Apply(ctx, p, in)
	if err == nil || w.called("begin c") != 0 {
		t.Errorf("error %v, calls %v", err, w.calls)
	}
	if got := res.Devices[1].Steps[0].Outcome; got != StepAlready {
		t.Errorf("b/v.x is %s", got)
	}
}

// A laterDevice has a ledger that a later weft wrote.
type laterDevice struct{ Device }

func (d laterDevice) Open(ctx context.Context) (Identity, error) {
	id, err := d.Device.Open(ctx)
	if err != nil {
		return id, err
	}
	return id, &LedgerError{"a", errors.New("its ledger has format 9")}
}

// What could not be read when it was planned may be anything later, as where a run was cut
// off after the step that it waited for; what changing it costs may not.
func TestUnknownWhenPlanned(t *testing.T) {
	planned := []Change{{Path: "tos", Before: Unknown, After: "104", Impact: ImpactTraffic}}
	if moved := movedChanges(planned, []Change{{Path: "tos", Before: "0", After: "104", Impact: ImpactTraffic}}); moved != nil {
		t.Errorf("%v", moved)
	}
	for _, now := range []Change{{Path: "tos", Before: "0", After: "96", Impact: ImpactTraffic}, {Path: "tos", Before: "0", After: "104", Impact: ImpactReboot}} {
		if movedChanges(planned, []Change{now}) == nil {
			t.Errorf("%v is taken", now)
		}
	}
}
