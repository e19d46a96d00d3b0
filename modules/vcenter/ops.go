package vcenter

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/slice"
)

// Each op finds what it is about by its path when it is carried out: what it means may
// have been made by the op before. One that fails leaves nothing of what it has made, and
// what it removes must carry the owner's mark then: others may have been there meanwhile.
// One that has set an MTU or a VLAN and cannot write the mark leaves the value: Abort says
// that it is not as before, and the next plan that it drifted.

func createSwitch(at string, mtu int, owner string) op {
	folder, name := path.Dir(at), path.Base(at)
	return op{fmt.Sprintf("CreateDVS_Task in %s: name=%q maxMtu=%d", folder, name, mtu), func(ctx context.Context, c *client) error {
		in, err := c.at(ctx, folder)
		if err != nil {
			return err
		}
		f, ok := in.(*object.Folder)
		if !ok {
			return fmt.Errorf("vCenter has no folder %s", folder)
		}
		spec := &types.VMwareDVSConfigSpec{MaxMtu: int32(mtu)}
		spec.Name, spec.Description = name, madeBy(owner, at)
		spec.UplinkPortPolicy = &types.DVSNameArrayUplinkPortPolicy{UplinkPortName: []string{"uplink1"}}
		res, err := methods.CreateDVS_Task(ctx, c.vim, &types.CreateDVS_Task{This: f.Reference(), Spec: types.DVSCreateSpec{ConfigSpec: spec}})
		if err != nil {
			return err
		}
		if err := c.wait(ctx, res.Returnval); err != nil {
			return err
		}
		d, err := c.find(ctx, at)
		if err != nil {
			return err
		}
		return c.orDestroy(ctx, d.ref, c.own(ctx, d.ref, note{owner, mtuText(d.mtu)}.String()))
	}}
}

// orDestroy takes away what an op has just made where it could not be marked: nobody
// would know whose it is.
func (c *client) orDestroy(ctx context.Context, ref types.ManagedObjectReference, err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, c.destroy(ctx, ref))
}

// notOurs is why something is not removed.
func notOurs(what string, n note) error {
	return fmt.Errorf("%s is not removed: its mark is %q", what, n)
}

// find reads a switch again.
func (c *client) find(ctx context.Context, at string) (*dvs, error) {
	r, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	if d := r.switches[at]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("vCenter has no distributed switch %s", at)
}

func (c *client) findGroup(ctx context.Context, at, name string) (*group, error) {
	d, err := c.find(ctx, at)
	if err != nil {
		return nil, err
	}
	if g := d.groups[name]; g != nil {
		return g, nil
	}
	return nil, fmt.Errorf("%s has no port group %s", at, name)
}

func destroySwitch(at, owner string) op {
	return op{"Destroy_Task of " + at, func(ctx context.Context, c *client) error {
		d, err := c.find(ctx, at)
		if err == nil && d.note.owner != owner {
			err = notOurs(at, d.note)
		}
		if err != nil {
			return err
		}
		return c.destroy(ctx, d.ref)
	}}
}

func (c *client) destroy(ctx context.Context, ref types.ManagedObjectReference) error {
	res, err := methods.Destroy_Task(ctx, c.vim, &types.Destroy_Task{This: ref})
	if err != nil {
		return err
	}
	return c.wait(ctx, res.Returnval)
}

// reconfigure changes a switch as it was read: vCenter refuses where somebody has changed
// it since.
func (c *client) reconfigure(ctx context.Context, d *dvs, spec *types.VMwareDVSConfigSpec) error {
	spec.ConfigVersion = d.version
	res, err := methods.ReconfigureDvs_Task(ctx, c.vim, &types.ReconfigureDvs_Task{This: d.ref, Spec: spec})
	if err != nil {
		return err
	}
	return c.wait(ctx, res.Returnval)
}

func setMTU(at string, mtu int, owner string) op {
	return op{fmt.Sprintf("ReconfigureDvs_Task of %s: maxMtu=%d", at, mtu), func(ctx context.Context, c *client) error {
		d, err := c.find(ctx, at)
		if err != nil {
			return err
		}
		if err := c.reconfigure(ctx, d, &types.VMwareDVSConfigSpec{MaxMtu: int32(mtu)}); err != nil {
			return err
		}
		return c.own(ctx, d.ref, note{owner, mtuText(mtu)}.String())
	}}
}

func vlanSetting(vlan int) *types.VMwareDVSPortSetting {
	return &types.VMwareDVSPortSetting{Vlan: &types.VmwareDistributedVirtualSwitchVlanIdSpec{VlanId: int32(vlan)}}
}

func createGroup(at, name string, vlan int, owner string) op {
	return op{fmt.Sprintf("AddDVPortgroup_Task of %s: name=%q vlanId=%d", at, name, vlan), func(ctx context.Context, c *client) error {
		d, err := c.find(ctx, at)
		if err != nil {
			return err
		}
		grows := true
		spec := types.DVPortgroupConfigSpec{Name: name, Description: madeBy(owner, at+"/"+name), NumPorts: 8, AutoExpand: &grows, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding), DefaultPortConfig: vlanSetting(vlan)}
		res, err := methods.AddDVPortgroup_Task(ctx, c.vim, &types.AddDVPortgroup_Task{This: d.ref, Spec: []types.DVPortgroupConfigSpec{spec}})
		if err != nil {
			return err
		}
		if err := c.wait(ctx, res.Returnval); err != nil {
			return err
		}
		g, err := c.findGroup(ctx, at, name)
		if err != nil {
			return err
		}
		return c.orDestroy(ctx, g.ref, c.own(ctx, g.ref, note{owner, vlanText(vlan)}.String()))
	}}
}

func destroyGroup(at, name, owner string) op {
	return op{"Destroy_Task of " + at + "/" + name, func(ctx context.Context, c *client) error {
		g, err := c.findGroup(ctx, at, name)
		if err == nil && g.note.owner != owner {
			err = notOurs(at+"/"+name, g.note)
		}
		if err != nil {
			return err
		}
		return c.destroy(ctx, g.ref)
	}}
}

// setVLAN keeps what else the port group is made of.
func setVLAN(at, name string, vlan int, owner string) op {
	return op{fmt.Sprintf("ReconfigureDVPortgroup_Task of %s/%s: vlanId=%d", at, name, vlan), func(ctx context.Context, c *client) error {
		g, err := c.findGroup(ctx, at, name)
		if err != nil {
			return err
		}
		was := g.conf
		spec := types.DVPortgroupConfigSpec{ConfigVersion: was.ConfigVersion, Name: was.Name, NumPorts: was.NumPorts, Type: was.Type, AutoExpand: was.AutoExpand,
			Policy: was.Policy, PortNameFormat: was.PortNameFormat, Description: was.Description, DefaultPortConfig: vlanSetting(vlan)}
		res, err := methods.ReconfigureDVPortgroup_Task(ctx, c.vim, &types.ReconfigureDVPortgroup_Task{This: g.ref, Spec: spec})
		if err != nil {
			return err
		}
		if err := c.wait(ctx, res.Returnval); err != nil {
			return err
		}
		return c.own(ctx, g.ref, note{owner, vlanText(vlan)}.String())
	}}
}

// withHost finds a switch and a host.
func (c *client) withHost(ctx context.Context, at, name string) (*dvs, *host, error) {
	r, err := c.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	d, h := r.switches[at], r.hosts[strings.ToLower(name)]
	if d == nil || h == nil {
		return nil, nil, fmt.Errorf("vCenter has no distributed switch %s, or no host %s", at, name)
	}
	return d, h, nil
}

func addMember(at, name, nic, owner string) op {
	return op{fmt.Sprintf("ReconfigureDvs_Task of %s: host add %s pnicDevice=%s", at, name, nic), func(ctx context.Context, c *client) error {
		d, h, err := c.withHost(ctx, at, name)
		if err != nil {
			return err
		}
		// The mark first: whoever is killed in between has said whose the member is.
		if !h.noted(owner, at) {
			if err := c.remark(ctx, h, append(slices.Clone(h.notes), note{owner, at})); err != nil {
				return err
			}
		}
		if err := c.reconfigure(ctx, d, membership(h, types.ConfigSpecOperationAdd, nic)); err != nil {
			return errors.Join(err, c.remark(ctx, h, h.notes))
		}
		return nil
	}}
}

func removeMember(at, name, owner string) op {
	return op{fmt.Sprintf("ReconfigureDvs_Task of %s: host remove %s", at, name), func(ctx context.Context, c *client) error {
		d, h, err := c.withHost(ctx, at, name)
		if err == nil && !h.noted(owner, at) {
			err = fmt.Errorf("%s stays a member of %s: its mark does not say that weft made it one", name, at)
		}
		if err != nil {
			return err
		}
		if err := c.reconfigure(ctx, d, membership(h, types.ConfigSpecOperationRemove)); err != nil {
			return err
		}
		return c.remark(ctx, h, slices.DeleteFunc(slices.Clone(h.notes), func(n note) bool { return n == note{owner, at} }))
	}}
}

func membership(h *host, verb types.ConfigSpecOperation, nics ...string) *types.VMwareDVSConfigSpec {
	m := types.DistributedVirtualSwitchHostMemberConfigSpec{Operation: string(verb), Host: h.ref}
	if len(nics) > 0 {
		b := &types.DistributedVirtualSwitchHostMemberPnicBacking{}
		for _, n := range nics {
			b.PnicSpec = append(b.PnicSpec, types.DistributedVirtualSwitchHostMemberPnicSpec{PnicDevice: n})
		}
		m.Backing = b
	}
	spec := &types.VMwareDVSConfigSpec{}
	spec.Host = []types.DistributedVirtualSwitchHostMemberConfigSpec{m}
	return spec
}

// remark writes whose member a host is.
func (c *client) remark(ctx context.Context, h *host, notes []note) error {
	words := slice.Map(notes, note.String)
	return c.own(ctx, h.ref, strings.Join(words, "; "))
}
