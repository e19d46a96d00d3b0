package vcenter

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/hint"
	"weft/internal/wait"
	"weft/modules/claim"
	"weft/plan"
)

const (
	leaseMark   = "weft-lease"     // the custom attribute of the root folder that says who changes the vCenter
	leaseTime   = 30 * time.Minute // until one that is not renewed ends, by vCenter's clock: more than a step may take
	leaseSettle = time.Second      // between writing one and reading whose stands
)

// A hold is a lease as it stands in a vCenter.
type hold struct {
	Until   time.Time `json:"until"`
	Since   time.Time `json:"since"`
	Owner   string    `json:"owner"`
	Who     string    `json:"who"`
	PID     int       `json:"pid"`
	Started string    `json:"started,omitempty"`
	Machine string    `json:"machine"` // a sum of its id
}

// same reports whether two are of one process, and one time.
func (h *hold) same(o *hold) bool {
	return h.Machine == o.Machine && h.PID == o.PID && h.Started == o.Started && h.Since.Equal(o.Since)
}

// describe names the holder for people.
func (h *hold) describe() string {
	if h.Who == "" {
		return "an unknown process"
	}
	return fmt.Sprintf("%s (process %d, owner %s), since %s", h.Who, h.PID, h.Owner, h.Since.UTC().Format("2006-01-02 15:04 MST"))
}

// outlived reports whether the process of a lease is known to be gone.
func (h *hold) outlived(me claim.Holder) bool {
	return me.Outlived(claim.Holder{Machine: map[bool]string{true: me.Machine}[h.Machine == sumOf(me)], PID: h.PID, Started: h.Started})
}

func sumOf(h claim.Holder) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(h.Machine)))[:10] }

// readLease is the lease that stands, nil: none does, and the time that vCenter has.
func (c *client) readLease(ctx context.Context) (*hold, time.Time, error) {
	now, err := methods.GetCurrentTime(ctx, c.vim)
	if err != nil {
		return nil, time.Time{}, err
	}
	pc := property.DefaultCollector(c.vim)
	key, err := c.keyOf(ctx, pc, leaseMark)
	if err != nil || key < 0 {
		return nil, *now, err
	}
	var root mo.Folder
	if err := pc.RetrieveOne(ctx, c.vim.ServiceContent.RootFolder, []string{"customValue"}, &root); err != nil {
		return nil, *now, err
	}
	text := noteIn(root.CustomValue, key)
	if text == "" {
		return nil, *now, nil
	}
	h := &hold{}
	if err := json.Unmarshal([]byte(text), h); err != nil { // somebody wrote there: nobody knows for how long
		*h = hold{Until: now.Add(leaseTime)}
	}
	return h, *now, nil
}

func (c *client) writeLease(ctx context.Context, h *hold) error {
	text := ""
	if h != nil {
		raw, err := json.Marshal(h)
		if err != nil {
			return err
		}
		text = string(raw)
	}
	if err := c.note(ctx, leaseMark, c.vim.ServiceContent.RootFolder, text); err != nil {
		return hint.Wrap(fmt.Errorf("write the custom attribute %s of the root folder: %s", leaseMark, said(err)),
			"the account needs Global.ManageCustomFields and Global.SetCustomField there")
	}
	return nil
}

// take gets the lease, or says who has it. vCenter has no way to write only where nobody else
// has: whose stands after a while has it, and every step looks again.
func (d *Device) take(ctx context.Context) error {
	there, now, err := d.client.readLease(ctx)
	if err != nil {
		return err
	}
	if there != nil && now.Before(there.Until) && !there.outlived(d.holder) {
		return claim.Refused(d.name, there.describe(), there.Until.Sub(now))
	}
	mine := &hold{Until: now.Add(leaseTime), Since: now, Owner: d.owner, Who: d.holder.Who, PID: d.holder.PID, Started: d.holder.Started, Machine: sumOf(d.holder)}
	d.lease, d.lost = mine, false // also of a write whose answer is lost
	if err := d.client.writeLease(ctx, mine); err != nil {
		return err
	}
	if !wait.For(ctx, min(leaseSettle, d.client.settle)) {
		return context.Cause(ctx)
	}
	return d.renew(ctx)
}

// releaseTime is how long the release of a lease may take that was not taken whole.
const releaseTime = 30 * time.Second

// release gives a lease back that take has written and not confirmed, if need be with a fresh
// login and also where the run is interrupted.
func (d *Device) release(ctx context.Context) error {
	if d.lease == nil {
		return nil
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer done()
	err := d.letGo(ctx)
	if err != nil {
		if err = d.again(ctx); err == nil {
			err = d.letGo(ctx)
		}
	}
	if err == nil {
		return nil
	}
	return hint.Wrap(fmt.Errorf("its lease was not released and ends in %v: %w", leaseTime, err), "weft unlock --force %s releases it", d.name)
}

// renew looks whether the lease is still one's own, and lets it end later.
func (d *Device) renew(ctx context.Context) error {
	there, now, err := d.client.readLease(ctx)
	switch {
	case err != nil:
		return err
	case there == nil:
		d.lease, d.lost = nil, true
		return hint.Wrap(&plan.HeldError{Device: d.name, Past: "its lease was removed with weft unlock --force"}, "see with weft plan what is there now")
	case !there.same(d.lease):
		d.lease, d.lost = nil, true
		return claim.Refused(d.name, there.describe(), there.Until.Sub(now))
	}
	d.lease.Until = now.Add(leaseTime)
	return d.client.writeLease(ctx, d.lease)
}

// letGo gives the lease back, where it is still one's own.
func (d *Device) letGo(ctx context.Context) error {
	if d.lease == nil || d.client == nil {
		return nil
	}
	there, _, err := d.client.readLease(ctx)
	if err == nil && there != nil && there.same(d.lease) {
		err = d.client.writeLease(ctx, nil)
	}
	if err == nil {
		d.lease = nil
	}
	return err
}

// Lease implements plan.Leaser.
func (d *Device) Lease(ctx context.Context) (*plan.Lease, error) {
	if _, err := d.Open(ctx); err != nil {
		return nil, err
	}
	there, now, err := d.client.readLease(ctx)
	if err != nil || there == nil {
		return nil, err
	}
	return &plan.Lease{Holder: there.describe(), Owner: there.Owner, Left: there.Until.Sub(now), Break: func(ctx context.Context) error {
		switch again, _, err := d.client.readLease(ctx); {
		case err != nil:
			return err
		case again == nil || !again.same(there):
			return errors.New("it has another holder by now")
		}
		return d.client.writeLease(ctx, nil)
	}}, nil
}

// note writes a custom attribute of an object, and makes the attribute where there is none.
func (c *client) note(ctx context.Context, attribute string, of types.ManagedObjectReference, text string) error {
	m, err := object.GetCustomFieldsManager(c.vim)
	if err != nil {
		return err
	}
	key, err := m.FindKey(ctx, attribute)
	if errors.Is(err, object.ErrKeyNameNotFound) {
		var def *types.CustomFieldDef
		if def, err = m.Add(ctx, attribute, "", nil, nil); err == nil {
			key = def.Key
		}
	}
	if err != nil {
		return err
	}
	return m.Set(ctx, of, key, text)
}
