package plan

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"weft/internal/hint"
)

// A careful device can tell beforehand whether it can be changed safely.
type careful struct {
	*fakeDevice
	note  string
	err   error
	lines int // that it was told of
}

func (d *careful) Capabilities() Capabilities { return Capabilities{Probe: true} }

// Probe implements Device.
func (d *careful) Probe(_ context.Context, lines int) (string, error) {
	d.lines = lines
	if err := d.world.call("probe " + d.address); err != nil {
		return "", err
	}
	return d.note, d.err
}

// Where something is to be changed, and only there, a device is asked whether
// that can be done safely; if not, the plan has all that would change, and is
// refused as a whole.
func TestProbe(t *testing.T) {
	w := newWorld()
	w.want("a/v.x", "1")
	w.want("a/v.y", "1")
	w.want("b/v.x", "1")
	w.want("c/v.x", "1")
	w.want("d/v.x", "1").refuse = errors.New("never")
	w.device("c").values = map[string]string{"v.x": "1"}
	for _, address := range []string{"a", "b", "c", "d"} {
		w.devices[address] = &careful{fakeDevice: w.device(address)}
	}
	w.devices["b"].(*careful).note = "it could not be seen"
	in := w.input()
	p := mustMake(t, within(t), in)
	if w.called("probe a") != 1 || w.called("probe b") != 1 || w.called("probe c")+w.called("probe d") != 0 {
		t.Errorf("calls %q", w.calls)
	}
	sent := 0
	for _, s := range p.Steps {
		if s.ID.Device == "a" {
			sent += len(s.Send)
		}
	}
	if told := w.devices["a"].(*careful).lines; sent == 0 || told != sent {
		t.Errorf("a was told of %d lines, of %d", told, sent)
	}
	for _, d := range p.Devices {
		if slices.Contains(d.Identity.Warnings, "it could not be seen") != (d.Address == "b") {
			t.Errorf("%s: %q", d.Address, d.Identity.Warnings)
		}
	}
	if len(p.Refusals) != 1 || p.Refusals[0].Text != "never" {
		t.Errorf("%+v", p.Refusals)
	}

	w.items = w.items[:4]
	in.Items = w.items
	w.devices["a"].(*careful).err = hint.Wrap(errors.New("nothing takes it back"), "have the console at hand")
	p = mustMake(t, within(t), in)
	if len(p.Refusals) != 1 || len(p.Steps) != 3 {
		t.Fatalf("%d steps, %+v", len(p.Steps), p.Refusals)
	}
	r := p.Refusals[0]
	if r.ID.String() != "a/safety.commit_confirm" || r.Text != "nothing takes it back" || r.Hint != "have the console at hand" || r.Range.Start.Line != 1 {
		t.Errorf("%+v", r)
	}
	if c := p.Counts(); c.Refused != 0 || c.Changed != 3 || c.Converged != 1 {
		t.Errorf("%+v", c)
	}
	probes := w.called("probe")
	res, err := Apply(within(t), p, in)
	if err == nil || !strings.Contains(err.Error(), "a/safety.commit_confirm cannot be applied: nothing takes it back") || res.Devices[0].Outcome != DeviceUnchanged {
		t.Errorf("%v", err)
	}
	if w.called("begin")+w.called("apply") != 0 || w.called("probe") != probes {
		t.Errorf("calls %q", w.calls)
	}

	// Apply does not ask: it begins for itself.
	w.devices["a"].(*careful).err = nil
	p = mustMake(t, within(t), in)
	probes = w.called("probe")
	if _, err := Apply(within(t), p, in); err != nil || w.called("probe") != probes || w.called("begin") == 0 {
		t.Errorf("%v; calls %q", err, w.calls)
	}
}
