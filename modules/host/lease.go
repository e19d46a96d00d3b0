package host

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"weft/internal/remote"
	"weft/modules/claim"
	"weft/plan"
)

// A lease lasts leaseTime unless it is renewed, which happens every
// leaseRenewal.
const (
	leaseTime    = 5 * time.Minute
	leaseRenewal = time.Minute
)

// lease keeps every other weft from changing a server, until it is released
// or not renewed any more.
type lease struct {
	Claim // whose text no two have alike
	end   context.CancelFunc
	ended sync.WaitGroup
}

// leaseFile is what the holder file holds.
type leaseFile struct {
	claim.Holder
	Owner string `json:"owner"`
	Nonce string `json:"nonce"`
}

// take takes the lease for a transaction of the run that has left the mark want,
// which is renewed; nil: of none, or for a command that is given by hand. It returns the ledger as it is now.
func (d *Machine) take(ctx context.Context, want *plan.Mark, byHand bool) (ledger []byte, err error) {
	var note Note
	if want != nil {
		m := *want
		m.OS = d.os.Name
		if note.Text, err = markText(m); err != nil {
			return nil, err
		}
		note.Needle = needleOf(*want, note.Text)
	}
	var mark string
	err = d.claim(ctx, byHand, func(c Claim) (held *Held, err error) {
		mark, ledger, held, err = d.os.Memory.Take(ctx, d.host, c, note, d.owner)
		return held, err
	})
	if err != nil {
		return nil, err
	}
	d.keep(d.asked)
	d.mark = d.parseMark(mark)
	if err := d.admits(want); err != nil {
		return nil, errors.Join(err, d.release(ctx))
	}
	return ledger, nil
}

// claim asks for the lease. A *plan.HeldError says who holds it.
func (d *Machine) claim(ctx context.Context, byHand bool, ask func(Claim) (*Held, error)) error {
	if err := d.os.Lacks(Memories); err != nil {
		return err
	}
	me := leaseFile{Holder: d.holder, Owner: d.owner, Nonce: rand.Text()}
	raw, err := json.Marshal(me)
	if err != nil {
		return err
	}
	d.claimed = string(raw)
	c := Claim{Text: d.claimed, Time: leaseTime, ByHand: byHand}
	if d.token != nil && !byHand {
		c.Token = d.token()
	}
	if !c.Token.None() {
		if err := d.os.Lacks(Fencing); err != nil {
			return err
		}
	}
	for try := 1; ; try++ {
		held, err := ask(c)
		switch {
		case errors.As(err, new(*UnwrittenError)):
			return err
		case err != nil:
			d.stray = d.claimed
			return fmt.Errorf("take the lease %s: %w", d.os.Memory.Place(KeptLease, ""), err)
		case held == nil:
			d.asked = c
			return nil
		case held.Past != "":
			return d.past(c.Token, held.Past)
		}
		holder, left := held.by()
		// Others take it and let go of it meanwhile: who is too late too often gives up.
		if try == 3 || left > 0 && !d.holder.Outlived(holder.Holder) {
			return claim.Refused(d.name, holder.describe(), left)
		}
		c.Over = held
	}
}

// by is who holds a lease, and for how long. No lease ends later than a fresh one:
// the figure would be none of ours.
func (h *Held) by() (who leaseFile, left time.Duration) {
	_ = json.Unmarshal([]byte(h.Text), &who) // whoever it is
	if !h.Known {
		return who, leaseTime
	}
	return who, min(h.Left, leaseTime)
}

// keep renews the lease until release.
func (d *Machine) keep(c Claim) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lease{Claim: c, end: cancel}
	host, memory := d.host, d.os.Memory
	l.ended.Go(func() {
		tick := time.NewTicker(leaseRenewal)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A renewal that fails ends the lease early, which the next
				// step will meet as a lost connection.
				_ = memory.Renew(ctx, host, c)
			}
		}
	})
	d.lease = l
}

// stop ends renewing.
func (l *lease) stop() {
	l.end()
	l.ended.Wait()
}

// letGo gives back a lease that was taken, or not given back, over a connection
// that was lost at that very moment: others would wait for its end. That end
// comes also where this fails.
func (d *Machine) letGo(ctx context.Context) {
	if d.stray == "" {
		return
	}
	host, hangUp, err := d.login(ctx, true)
	if err != nil {
		return
	}
	defer hangUp()
	if d.os.Memory.Release(ctx, host, d.stray) == nil {
		d.stray = ""
	}
}

// release gives the lease back.
func (d *Machine) release(ctx context.Context) error {
	if d.lease == nil {
		return nil
	}
	d.lease.stop()
	err := d.os.Memory.Release(ctx, d.host, d.lease.Text)
	text := d.lease.Text
	d.lease = nil
	if err != nil {
		d.stray = text
		return fmt.Errorf("release the lease %s: %w", d.os.Memory.Place(KeptLease, ""), err)
	}
	return nil
}

// RunCommand runs a command on a machine that is open. With hold nobody else changes
// it meanwhile: a *plan.HeldError says who already does.
func (d *Machine) RunCommand(ctx context.Context, cmd remote.Cmd, hold bool) (out remote.Output, err error) {
	if d.host == nil {
		return out, fmt.Errorf("%s is not connected", d.name)
	}
	if hold {
		if _, err := d.take(ctx, nil, true); err != nil {
			return out, err
		}
		defer func() {
			// Also after Ctrl-C, but not for ever.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
			defer cancel()
			err = errors.Join(err, d.release(ctx))
		}()
	}
	return d.host.Run(ctx, cmd)
}

// releasePatience is how long giving a lease back may take: it ends by itself.
const releasePatience = 10 * time.Second
