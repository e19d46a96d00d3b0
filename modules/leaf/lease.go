package leaf

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/modules/claim"
	"weft/plan"
	"weft/switches"
)

// guard is how a transaction of so many lines is kept from harm.
func (d *Device) guard(lines int) switches.Guard {
	return switches.Guard{
		Mine:    func(r switches.RunMark) bool { return d.cfg.Mine != nil && d.cfg.Mine(d.runOf(r)) },
		Confirm: d.cfg.Confirm, Owner: d.cfg.Owner, Who: onSwitch(d.cfg.Holder), Lines: lines,
		Gone: func(h switches.Hold) bool { return outlived(d.cfg.Holder, h.Who) },
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
func (d *Device) heed(ctx context.Context) (notes []string, err error) {
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
	if d.cfg.Settle && d.abandoned(m) {
		if err := d.session.Await(ctx, d.cfg.Owner); err != nil {
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
		if a.Owner != d.cfg.Owner || len(running) > 0 {
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
func (d *Device) abandoned(m switches.Marks) bool {
	return slices.ContainsFunc(m.Running(), func(a switches.Armed) bool {
		return a.Owner == d.cfg.Owner && (m.Hold == nil || outlived(d.cfg.Holder, a.Who) || !m.Now.Before(m.Hold.Until))
	})
}

// held puts a switch that another owner holds in the engine's words.
func (d *Device) held(err error) error {
	var by *switches.HeldError
	if !errors.As(err, &by) {
		return err
	}
	if by.Run != nil {
		return plan.NewMarkedError(d.cfg.Name, d.runOf(*by.Run))
	}
	if by.Armed != nil {
		holder := fmt.Sprintf("a timed revert of owner %s (%s)", by.Armed.Owner, holderText(by.Armed.Who))
		return hint.Wrap(&plan.HeldError{Device: d.cfg.Name, Holder: holder, Left: by.Left()}, "wait until it has fired, or that apply has ended, and plan again")
	}
	holder := holderText(by.Hold.Who)
	if by.Hold.Owner != "" {
		holder += " (owner " + by.Hold.Owner + ")"
	}
	return claim.Refused(d.cfg.Name, holder, by.Left())
}

// Lease implements plan.Leaser.
func (d *Device) Lease(ctx context.Context) (*plan.Lease, error) {
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
