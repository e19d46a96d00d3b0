package modules

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/inventory"
	"weft/modules/claim"
	"weft/plan"
	"weft/switches"
)

func (x *expansion) newSwitch(sw *inventory.Switch) *device {
	d := &device{
		name: sw.Addr, host: sw.Host, serial: sw.Serial, dial: x.env.Terminal(sw),
		confirm: sw.Safety.Confirm, save: sw.Safety.Save != "never", soaks: sw.Safety.Save == "after-soak", timeout: connection(x.model, sw.Connection).CommandTimeout,
		known: x.hardware(), owner: x.model.Name, holder: x.env.Holder, mine: x.env.Mine, settle: x.env.Settle,
	}
	d.want.Owner, d.want.Adopt = switches.Owner{Name: x.model.Name}, sw.Adopt
	if x.env.Say != nil {
		d.say = func(text string) { x.env.Say(sw.Addr, text) }
	}
	return d
}

// guard is how a transaction of so many lines is kept from harm.
func (d *device) guard(lines int) switches.Guard {
	return switches.Guard{
		Mine:    func(r switches.RunMark) bool { return d.mine != nil && d.mine(d.runOf(r)) },
		Confirm: d.confirm, Owner: d.owner, Who: onSwitch(d.holder), Lines: lines,
		Gone: func(h switches.Hold) bool { return outlived(d.holder, h.Who) },
	}
}

// onSwitch is the holder in a name on a switch, which takes few characters.
func onSwitch(h claim.Holder) string {
	sum := sha256.Sum256([]byte(h.Machine))
	return fmt.Sprintf("%d_%s_%x_%s", h.PID, h.Started, sum[:5], strings.ReplaceAll(h.Who, "@", "_at_"))
}

// outlived reports whether the holder that a switch names is known to be gone: it
// ran on the machine of h.
func outlived(h claim.Holder, who string) bool {
	w := strings.SplitN(who, "_", 4)
	if len(w) != 4 || h.Alive == nil {
		return false
	}
	pid, err := strconv.Atoi(w[0])
	there := claim.Holder{PID: pid, Started: w[1]}
	sum := sha256.Sum256([]byte(h.Machine))
	return err == nil && w[2] == fmt.Sprintf("%x", sum[:5]) && !h.Alive(there)
}

// holderText is a holder on a switch for people.
func holderText(who string) string {
	w := strings.SplitN(who, "_", 4)
	if len(w) != 4 {
		return who
	}
	return strings.ReplaceAll(w[3], "_at_", "@") + ", process " + w[0]
}

// heed looks at what weft has left on the switch, and says what a reader of
// the plan must know of it.
func (d *device) heed(ctx context.Context) (notes []string, err error) {
	m, err := d.session.Marks(ctx)
	var no *switches.RefusedError
	if errors.As(err, &no) {
		return []string{"whether a timed revert runs cannot be seen: the switch refuses " + strconv.Quote(no.Line)}, nil
	}
	if errors.As(err, new(*switches.WithoutError)) {
		return []string{err.Error()}, nil // Probe refuses what needs it
	}
	if err != nil {
		return nil, err
	}
	if d.settle && d.abandoned(m) {
		if err := d.session.Await(ctx, d.owner); err != nil {
			return nil, err
		}
		if m, err = d.session.Marks(ctx); err != nil {
			return nil, err
		}
	}
	d.marks = m
	running := m.Running()
	for _, a := range running {
		notes = append(notes, fmt.Sprintf("a timed revert of owner %s (%s) is armed: unless that apply proves its changes, the switch reverts them at %s by its clock, in %s; what is planned here rests on what stands until then",
			a.Owner, holderText(a.Who), a.Due.Format(time.TimeOnly), a.Due.Sub(m.Now).Round(time.Second)))
	}
	for _, a := range m.Armed {
		if a.Owner != d.owner || len(running) > 0 {
			continue
		}
		now, err := d.session.Fingerprint(ctx)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf("an apply that ended without a proof (%s) left a timed revert, due at %s by the switch's clock: ", holderText(a.Who), a.Due.Format(time.DateTime))
		if now == a.Before {
			text += "it has fired, the switch reads as before that apply"
		} else {
			text += "the switch does not read as before that apply, so it has changed since, or was not reverted"
		}
		notes = append(notes, text)
	}
	return notes, nil
}

// abandoned reports whether a timed revert of this owner runs that nobody will
// stop.
func (d *device) abandoned(m switches.Marks) bool {
	for _, a := range m.Running() {
		if a.Owner == d.owner && (m.Hold == nil || outlived(d.holder, a.Who) || !m.Now.Before(m.Hold.Until)) {
			return true
		}
	}
	return false
}

// held puts a switch that somebody else holds in the engine's words.
func (d *device) held(err error) error {
	var by *switches.HeldError
	if !errors.As(err, &by) {
		return err
	}
	if by.Run != nil {
		return plan.NewMarkedError(d.name, d.runOf(*by.Run))
	}
	if by.Armed != nil {
		holder := fmt.Sprintf("a timed revert of owner %s (%s)", by.Armed.Owner, holderText(by.Armed.Who))
		return hint.Wrap(&plan.HeldError{Device: d.name, Holder: holder, Left: by.Left()}, "wait until it has fired, or that apply has ended, and plan again")
	}
	holder := holderText(by.Hold.Who)
	if by.Hold.Owner != "" {
		holder += " (owner " + by.Hold.Owner + ")"
	}
	return claim.Refused(d.name, holder, by.Left())
}

// Lease implements plan.Leaser.
func (d *device) Lease(ctx context.Context) (*plan.Lease, error) {
	if _, err := d.Open(ctx); err != nil {
		return nil, err
	}
	m := d.marks
	if m.Hold == nil {
		return nil, nil
	}
	hold := *m.Hold
	return &plan.Lease{Holder: holderText(hold.Who), Owner: hold.Owner, Left: hold.Until.Sub(m.Now),
		Break: func(ctx context.Context) error { return d.session.BreakLease(ctx, hold) }}, nil
}
