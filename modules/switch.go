package modules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/plan"
	"weft/switches"
)

// device is a plan.Device: a switch. For plan and diff its configuration is
// many small resources; for apply it is one transaction with a timed revert.
type device struct {
	name    string // HCL address
	host    string // for messages
	serial  string // wanted; "" is not checked
	driver  switches.Driver
	dial    switches.Dial
	want    switches.Config
	confirm time.Duration // 0: without a timed revert, as declared
	save    bool
	timeout time.Duration

	session *switches.Session
	have    switches.Config // as read last
	fresh   bool            // Open has just read it and nobody has used it yet
	tx      *switches.Transaction
	undo    []string // what takes back the steps of the transaction, last first
	before  switches.Config
}

// Open implements plan.Device.
func (d *device) Open(ctx context.Context) (plan.Identity, error) {
	if d.session == nil {
		s, err := switches.Open(ctx, d.host, d.driver, d.dial, d.timeout)
		if err != nil {
			return plan.Identity{}, told(err)
		}
		d.session = s
	}
	have, err := d.session.Read(ctx, d.want)
	if err != nil {
		return plan.Identity{}, told(err)
	}
	d.have, d.fresh = have, true
	id := plan.Identity{
		Serial:   have.Facts.Serial,
		System:   strings.TrimSpace(d.driver.Dialect().OS + " " + have.Facts.Version + " " + have.Facts.Model),
		Method:   d.driver.Dialect().Method,
		Warnings: have.Warnings,
	}
	if d.confirm == 0 {
		id.Method = `lines without a timed revert (commit_confirm = "none")`
	}
	if d.serial != "" && have.Facts.Serial != d.serial {
		return id, hint.Wrap(fmt.Errorf("another switch answers: serial is %q, declared %q", have.Facts.Serial, d.serial),
			"if the switch was replaced on purpose, change serial of %s", d.name)
	}
	return id, nil
}

// Read implements plan.Device. What Open has just read is not read twice.
func (d *device) Read(ctx context.Context, rs []plan.Resource) ([]plan.State, error) {
	if !d.fresh {
		have, err := d.session.Read(ctx, d.want)
		if err != nil {
			return nil, told(err)
		}
		d.have = have
	}
	d.fresh = false
	states := make([]plan.State, len(rs))
	for i := range rs {
		states[i] = &d.have
	}
	return states, nil
}

// Begin implements plan.Device.
func (d *device) Begin(ctx context.Context, steps []plan.Step) error {
	d.undo, d.before = nil, d.have
	tx, err := d.session.Begin(ctx, d.confirm)
	if err != nil {
		return told(err)
	}
	d.tx = tx
	return nil
}

// Apply implements plan.Device: it sends exactly the lines of the plan.
func (d *device) Apply(ctx context.Context, s plan.Step) error {
	d.undo = append(slices.Clone(s.Diff.Undo), d.undo...)
	return told(d.tx.Send(ctx, s.Diff.Send))
}

// told puts what a switch refused in the engine's words and keeps advice.
func told(err error) error {
	var no *switches.RefusedError
	if !errors.As(err, &no) {
		return err
	}
	out := error(&plan.RefusedError{Line: no.Line, Reply: no.Reply})
	if advice := hint.Of(err); advice != "" {
		return hint.Wrap(out, "%s", advice)
	}
	return out
}

// Commit implements plan.Device.
func (d *device) Commit(ctx context.Context) error {
	err := d.tx.Commit(ctx, func(ctx context.Context, fresh *switches.Session) error {
		have, err := fresh.Read(ctx, d.want)
		if err != nil {
			return err
		}
		if left, err := d.driver.Render(have, d.want); err != nil || len(left) > 0 {
			return errors.Join(err, fmt.Errorf("the switch does not read back as planned; left: %s", strings.Join(left, "; ")))
		}
		return nil
	})
	if err != nil {
		return told(err)
	}
	if d.save {
		return d.session.Save(ctx)
	}
	return nil
}

// Abort implements plan.Device.
func (d *device) Abort(ctx context.Context) error {
	if d.tx != nil {
		if err := d.tx.Abort(ctx, d.undo); err != nil {
			return err
		}
	}
	have, err := d.session.Read(ctx, d.want)
	if err != nil {
		return err
	}
	left, err := d.driver.Render(have, d.before)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s does not read back as before; left: %s", d.host, strings.Join(left, "; "))
	}
	return nil
}

// Close ends the session.
func (d *device) Close() error {
	if d.session == nil {
		return nil
	}
	return d.session.Close()
}

// qos is the resource of the traffic classes of a switch: classification,
// queues, lossless classes, ECN and scheduling, and their attachment to the
// system.
type qos struct{ dev *device }

// Diff implements plan.Resource.
func (r *qos) Diff(state plan.State) plan.Diff {
	have := *state.(*switches.Config)
	if len(have.Foreign) > 0 {
		return plan.Diff{Err: hint.Wrap(
			fmt.Errorf("policies of somebody else stand where the fabric's must go: %s", strings.Join(have.Foreign, ", ")),
			"take them off by hand; adopt = true is described, not yet managed")}
	}
	want := have
	want.Name, want.Classes = r.dev.want.Name, r.dev.want.Classes
	return r.dev.diff(have, want, classChanges(have, want))
}

// Verify implements plan.Resource: the configuration read back by a fresh
// login is the proof of commit; effects are proven by probes.
func (r *qos) Verify(context.Context) error { return nil }

// port is the resource of one switch port.
type port struct {
	dev  *device
	want switches.Port
}

// Diff implements plan.Resource.
func (r *port) Diff(state plan.State) plan.Diff {
	have := *state.(*switches.Config)
	i := slices.IndexFunc(have.Ports, func(p switches.Port) bool { return p.Name == r.want.Name })
	if i < 0 || !have.Ports[i].Exists {
		return plan.Diff{Err: fmt.Errorf("the switch has no port %s", r.want.Name)}
	}
	// Ports come after the classes, so they are rendered on top of them.
	have.Name, have.Classes = r.dev.want.Name, r.dev.want.Classes
	want := have
	want.Ports = slices.Clone(have.Ports)
	want.Ports[i] = r.want
	want.Ports[i].MTU = max(r.want.MTU, have.Ports[i].MTU) // at least
	return r.dev.diff(have, want, portChanges(have.Ports[i], want.Ports[i]))
}

// Verify implements plan.Resource.
func (r *port) Verify(context.Context) error { return nil }

func (d *device) diff(have, want switches.Config, changes []plan.Change) plan.Diff {
	out := plan.Diff{Changes: changes}
	if out.Send, out.Err = d.driver.Render(have, want); out.Err == nil {
		out.Undo, out.Err = d.driver.Render(want, have)
	}
	if len(out.Changes) == 0 && len(out.Send) > 0 {
		// Somebody wrote lines among ours that no attribute speaks of.
		out.Changes = change("lines", "differ", "as declared", plan.ImpactTraffic)
	}
	return out
}

func classChanges(have, want switches.Config) []plan.Change {
	out := change("policies", have.Name, want.Name, plan.ImpactTraffic)
	find := func(c switches.Config, name string) switches.Class {
		i := slices.IndexFunc(c.Classes, func(x switches.Class) bool { return x.Name == name })
		if i < 0 {
			return switches.Class{Priority: -1}
		}
		return c.Classes[i]
	}
	var names []string
	for _, c := range slices.Concat(want.Classes, have.Classes) {
		if !slices.Contains(names, c.Name) {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		h, w := find(have, name), find(want, name)
		for _, f := range []struct {
			path string
			text func(switches.Class) string
		}{
			{"dscp", func(c switches.Class) string { return join(c.DSCP) }},
			{"priority", func(c switches.Class) string { return absent(c.Priority < 0, strconv.Itoa(c.Priority)) }},
			{"bandwidth", func(c switches.Class) string { return absent(c.Bandwidth == 0, fmt.Sprintf("%d%%", c.Bandwidth)) }},
			{"strict", func(c switches.Class) string { return absent(!c.Strict, "on") }},
			{"pfc", func(c switches.Class) string { return absent(!c.PFC, "lossless") }},
			{"ecn", func(c switches.Class) string { return ecn(c.ECN) }},
		} {
			out = append(out, change("class."+name+"."+f.path, f.text(h), f.text(w), plan.ImpactTraffic)...)
		}
	}
	return out
}

func portChanges(h, w switches.Port) []plan.Change {
	onOff := map[bool]string{true: "on", false: "off"}
	return slices.Concat(
		change("mtu", frame(h.MTU), frame(w.MTU), plan.ImpactTraffic),
		change("pfc", onOff[h.PFC], onOff[w.PFC], plan.ImpactTraffic),
		change("classification", onOff[h.Classify], onOff[w.Classify], plan.ImpactTraffic),
		change("queueing", onOff[h.Queue], onOff[w.Queue], plan.ImpactTraffic),
	)
}

// frame shows an MTU; 0 is what the OS does without being told.
func frame(mtu int) string {
	if mtu == 0 {
		return "default"
	}
	return strconv.Itoa(mtu)
}

func absent(yes bool, text string) string {
	if yes {
		return ""
	}
	return text
}

func join(ns []int) string {
	words := make([]string, len(ns))
	for i, n := range ns {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ",")
}

func ecn(e *switches.ECN) string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%d–%d bytes, %d%%", e.Min, e.Max, e.Probability)
}
