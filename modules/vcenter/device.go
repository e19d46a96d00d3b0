// Package vcenter is a vCenter Server as a device: distributed switches, their port groups
// and the hosts that are their members, changed through its API. No other package speaks to
// it.
package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/modules/claim"
	"weft/plan"
)

// Device is a plan.Device. It keeps no ledger: whose an object is stands in a custom
// attribute of it.
type Device struct {
	plan.Unsupported

	name  string // HCL address
	owner string
	login Login

	holder claim.Holder
	lease  *hold // nil: it has none
	barred bool  // the transaction did not get it
	lost   bool  // another has it by now

	paths []string // of virtual machines and clusters that resources are about
	hosts []string // that they are about
	vsans []*VSAN

	members []*Member

	client *client
	uuid   string // of who answered Open
	have   *reading
	fresh  bool // Open has just read it
	steps  []plan.Step
	undo   []op // of what was done, in the order in which it is to be undone
}

// New is a vCenter that was not spoken to yet.
func New(name, owner string, holder claim.Holder, login Login) *Device {
	return &Device{Unsupported: plan.Unsupported{Reason: name + " is a vCenter"}, name: name, owner: owner, holder: holder, login: login}
}

// Resource makes a resource of a Switch, a Group, a Member, a Hardware, an Adapter, a VSAN
// or a VMKernel; its name is that of its ID.
func (d *Device) Resource(t interface{ key() (kind, name string) }) (plan.ID, plan.Resource) {
	kind, name := t.key()
	d.paths = append(d.paths, paths(t.(thing))...)
	switch x := t.(type) {
	case *VSAN:
		d.vsans = append(d.vsans, x)
	case *Member:
		d.hosts, d.members = append(d.hosts, x.Host), append(d.members, x)
	}
	return plan.ID{Device: d.name, Kind: kind, Name: name}, resource{t.(thing)}
}

// Address is what the files call it.
func (d *Device) Address() string { return d.name }

// Open implements plan.Device. A session that vCenter does not know any more, because it was
// silent for long or vCenter has started anew, is followed by another one.
func (d *Device) Open(ctx context.Context) (plan.Identity, error) {
	had := d.client != nil
	have, err := d.opened(ctx)
	if err != nil && had && ctx.Err() == nil {
		_ = d.Close()
		have, err = d.opened(ctx)
	}
	if err != nil {
		return plan.Identity{}, err
	}
	about := d.client.vim.ServiceContent.About
	d.have, d.fresh = have, true
	return plan.Identity{Address: d.login.Host, Serial: about.InstanceUuid, System: strings.TrimSpace(about.FullName), Warnings: d.warnings(ctx),
		Method: "calls of the vSphere API, each with its undo; vCenter reverts nothing by itself"}, nil
}

// opened reads over the session, or over a new one.
func (d *Device) opened(ctx context.Context) (*reading, error) {
	if d.client == nil {
		c, err := d.login.connect(ctx)
		if err != nil {
			return nil, err
		}
		d.client = c
	}
	about := d.client.vim.ServiceContent.About
	if d.uuid != "" && d.uuid != about.InstanceUuid {
		return nil, fmt.Errorf("another vCenter answers: its instance UUID is %s, before it was %s", about.InstanceUuid, d.uuid)
	}
	d.uuid = about.InstanceUuid
	have, err := d.client.survey(ctx, d.paths...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %s", d.login.Host, said(err))
	}
	return have, nil
}

// Read implements plan.Device.
func (d *Device) Read(ctx context.Context, rs []plan.Resource) ([]plan.State, error) {
	if !d.fresh {
		have, err := d.client.survey(ctx, d.paths...)
		if err != nil {
			return nil, fmt.Errorf("read %s: %s", d.login.Host, said(err))
		}
		d.have = have
	}
	d.fresh = false
	states := make([]plan.State, len(rs))
	for i := range rs {
		states[i] = d.state()
	}
	return states, nil
}

func (d *Device) state() *state { return &state{d.have, d.owner} }

// Begin implements plan.Device: nobody else may change the vCenter meanwhile.
func (d *Device) Begin(ctx context.Context, steps []plan.Step) error {
	d.steps, d.undo, d.barred = steps, nil, true
	if err := d.take(ctx); err != nil {
		return errors.Join(err, d.release(ctx))
	}
	d.barred = false
	return nil
}

// Apply implements plan.Device.
func (d *Device) Apply(ctx context.Context, s plan.Step) error {
	r, ok := s.Resource.(resource)
	have, seen := s.Have.(*state)
	if !ok || !seen {
		return nil // what keeps the books: there are none
	}
	if err := d.renew(ctx); err != nil {
		return err
	}
	c := r.change(*have)
	for i, o := range c.ops {
		if err := o.do(ctx, d.client); err != nil {
			return refused(o, err)
		}
		if i < len(c.undo) {
			d.undo = append(d.undo, c.undo[i])
		}
	}
	return nil
}

func refused(o op, err error) error {
	out := error(&plan.RefusedError{Line: o.text, Reply: said(err)})
	if advice := hint.Of(err); advice != "" {
		return hint.Wrap(out, "%s", advice)
	}
	return out
}

// again logs in afresh and reads.
func (d *Device) again(ctx context.Context) error {
	err := d.Close()
	d.client = nil
	if err != nil && ctx.Err() != nil {
		return err
	}
	_, err = d.Open(ctx)
	return err
}

// Commit implements plan.Device: from a fresh login all of it reads as planned.
func (d *Device) Commit(ctx context.Context) error {
	if err := d.again(ctx); err != nil {
		return err
	}
	for _, s := range d.steps {
		if left := s.Resource.Diff(d.state()); !left.Empty() {
			return errors.Join(left.Err, fmt.Errorf("%s does not read back as planned; left: %s", s.ID, strings.Join(left.Send, "; ")))
		}
	}
	if err := d.letGo(ctx); err != nil {
		return &plan.KeptError{Err: fmt.Errorf("its lease, which ends by itself: %w", err)}
	}
	return nil
}

// Abort implements plan.Device: what was done is undone, the latest first, and proven by
// reading.
func (d *Device) Abort(ctx context.Context) (err error) {
	if d.barred { // nothing was done, and another is at work
		return nil
	}
	if d.lost && len(d.undo) > 0 {
		return errors.New("another process holds its lease now: the changes are not reverted")
	}
	if err := d.again(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.letGo(ctx)) }()
	var errs []error
	for _, o := range slices.Backward(d.undo) {
		if err := o.do(ctx, d.client); err != nil {
			errs = append(errs, refused(o, err))
		}
	}
	d.undo = nil
	if err := d.again(ctx); err != nil {
		return errors.Join(append(errs, err)...)
	}
	for _, s := range d.steps {
		if have, ok := s.Have.(*state); ok && fmt.Sprint(s.Resource.Diff(d.state()).Send) != fmt.Sprint(s.Resource.Diff(have).Send) {
			return errors.Join(append(errs, fmt.Errorf("%s is not as it was before", s.ID))...)
		}
	}
	return nil // what could not be undone was not there
}

// logoutTime is how long the end of a session may take.
const logoutTime = 10 * time.Second

// Close ends the session.
func (d *Device) Close() error {
	if d.client == nil {
		return nil
	}
	ctx, done := context.WithTimeout(context.Background(), logoutTime)
	defer done()
	_ = d.client.end(ctx) // it ends by itself
	d.client = nil
	return nil
}

// Capabilities implements plan.Device. A vCenter carries no run locks and reverts no runs.
func (d *Device) Capabilities() plan.Capabilities { return plan.Capabilities{Ledger: true} }

// Kept implements plan.Keeper: what carries the owner's name.
func (d *Device) Kept() (kept plan.Kept) {
	if d.have == nil {
		return kept
	}
	add := func(kind, name string, needs ...plan.ID) {
		kept.Entries = append(kept.Entries, plan.Entry{Kind: kind, Name: name, State: plan.EntryCreated, Needs: needs})
	}
	for _, at := range slices.Sorted(maps.Keys(d.have.switches)) {
		s := d.have.switches[at]
		if s.note.owner != d.owner {
			continue
		}
		add(SwitchKind, at)
		on := plan.ID{Device: d.name, Kind: SwitchKind, Name: at}
		for _, name := range slices.Sorted(maps.Keys(s.groups)) {
			if s.groups[name].note.owner == d.owner {
				add(GroupKind, at+"/"+name, on)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.have.hosts)) {
			h := d.have.hosts[name]
			if _, member := s.members[h.ref]; member && h.noted(d.owner, at) {
				add(MemberKind, at+"@"+name, on)
			}
		}
	}
	kept.Entries = append(kept.Entries, d.state().keptPorts(d.name)...)
	kept.Entries = append(kept.Entries, d.state().keptVMs(d.name)...)
	for _, at := range slices.Sorted(maps.Keys(d.have.clusters)) {
		if d.have.clusters[at].note.owner == d.owner {
			add(VSANKind, at)
		}
	}
	return kept
}

// Restore implements plan.Keeper.
func (d *Device) Restore(e plan.Entry) (plan.Resource, error) {
	if !slices.Contains([]string{SwitchKind, GroupKind, MemberKind, AdapterKind, VSANKind, VMKernelKind}, e.Kind) {
		return nil, fmt.Errorf("a vCenter has no kind %q", e.Kind)
	}
	return resource{removal{e.Kind, e.Name}}, nil
}

// Drifted implements plan.Keeper: the mark says what weft has left.
func (d *Device) Drifted(e plan.Entry, _ plan.State) bool {
	if d.have == nil {
		return false
	}
	at, name := path.Dir(e.Name), path.Base(e.Name)
	switch s := d.have.switches[e.Name]; {
	case e.Kind == SwitchKind && s != nil:
		return s.note.text != "" && s.note.text != mtuText(s.mtu)
	case e.Kind == GroupKind && d.have.switches[at] != nil && d.have.switches[at].groups[name] != nil:
		g := d.have.switches[at].groups[name]
		return g.note.text != "" && g.note.text != vlanText(g.vlan)
	case e.Kind == VSANKind && d.have.clusters[e.Name] != nil:
		return d.have.clusters[e.Name].drifted()
	}
	return false
}

var _ plan.Device = (*Device)(nil)
