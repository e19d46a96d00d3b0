package vcenter

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// findVM reads a virtual machine again.
func (c *client) findVM(ctx context.Context, path string) (*reading, *vm, error) {
	r, err := c.read(ctx, path)
	if err != nil {
		return nil, nil, err
	}
	if v := r.vms[path]; v != nil {
		return r, v, nil
	}
	return nil, nil, fmt.Errorf("vCenter has no virtual machine %s", path)
}

func (c *client) reconfigureVM(ctx context.Context, v *vm, spec types.VirtualMachineConfigSpec) error {
	res, err := methods.ReconfigVM_Task(ctx, c.vim, &types.ReconfigVM_Task{This: v.ref, Spec: spec})
	if err != nil {
		return err
	}
	return c.wait(ctx, res.Returnval)
}

func deviceChange(verb types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) []types.BaseVirtualDeviceConfigSpec {
	return []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: verb, Device: d}}
}

// An adapterSpec says which adapter of which machine, and on which port group.
type adapterSpec struct{ vm, name, at, group, protocol string }

// addAdapter reserves all memory of the machine with it, which PVRDMA wants.
func addAdapter(w adapterSpec, owner string) op {
	text := fmt.Sprintf("ReconfigVM_Task of %s: add VirtualVmxnet3Vrdma portgroup=%s deviceProtocol=%s memoryReservationLockedToMax=true", w.vm, w.group, w.protocol)
	return op{text, func(ctx context.Context, c *client) error {
		r, v, err := c.findVM(ctx, w.vm)
		if err != nil {
			return err
		}
		d := r.switches[w.at]
		if d == nil || d.groups[w.group] == nil {
			return fmt.Errorf("vCenter has no port group %s on %s", w.group, w.at)
		}
		card := &types.VirtualVmxnet3Vrdma{DeviceProtocol: w.protocol}
		card.Key, card.AddressType = -1, string(types.VirtualEthernetCardMacTypeGenerated)
		card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, AllowGuestControl: true}
		card.Backing = &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{SwitchUuid: d.uuid, PortgroupKey: d.groups[w.group].conf.Key}}
		all := true
		spec := types.VirtualMachineConfigSpec{MemoryReservationLockedToMax: &all, DeviceChange: deviceChange(types.VirtualDeviceConfigSpecOperationAdd, card)}
		return c.makeAdapter(ctx, v, w, spec, owner)
	}}
}

// makeAdapter marks that one is begun, makes it, and marks which device it is: whoever is
// killed in between has said whose it is.
func (c *client) makeAdapter(ctx context.Context, v *vm, w adapterSpec, spec types.VirtualMachineConfigSpec, owner string) error {
	was, before := v.note.String(), []int32{}
	for _, a := range v.adapters {
		before = append(before, a.key)
	}
	n := v.note
	n.owner, n.locked = owner, n.locked || !v.locked
	delete(n.keys, w.name)
	n.begun[w.name] = before
	if err := c.own(ctx, v.ref, n.String()); err != nil {
		return err
	}
	if err := c.reconfigureVM(ctx, v, spec); err != nil {
		return errors.Join(err, c.own(ctx, v.ref, was))
	}
	_, now, err := c.findVM(ctx, w.vm)
	if err != nil {
		return err
	}
	if now.note.keys[w.name] == 0 {
		return fmt.Errorf("which of the adapters of %s is the new one is not clear", w.vm)
	}
	return c.own(ctx, now.ref, now.note.String())
}

// dropAdapter removes a device, and with free what is reserved for it.
func (c *client) dropAdapter(ctx context.Context, v *vm, a adapter, free bool) error {
	spec := types.VirtualMachineConfigSpec{DeviceChange: deviceChange(types.VirtualDeviceConfigSpecOperationRemove, a.card)}
	if no := false; free {
		spec.MemoryReservationLockedToMax = &no
	}
	return c.reconfigureVM(ctx, v, spec)
}

// removeAdapter takes away a device that the mark names. With the last of them goes what
// weft has reserved.
func removeAdapter(path, name, owner string) op {
	return op{fmt.Sprintf("ReconfigVM_Task of %s: remove VirtualVmxnet3Vrdma %s", path, name), func(ctx context.Context, c *client) error {
		_, v, err := c.findVM(ctx, path)
		if err != nil {
			return err
		}
		have := v.adapter(v.note.keys[name])
		if v.note.owner != owner || have == nil {
			return fmt.Errorf("%s of %s is not removed: its mark is %q", name, path, v.note)
		}
		n := v.note
		delete(n.keys, name)
		n.begun = nil
		if err := c.dropAdapter(ctx, v, *have, n.locked && len(n.keys) == 0); err != nil {
			return err
		}
		return c.own(ctx, v.ref, n.String())
	}}
}

// upgrade raises the version of virtual hardware, which nothing lowers again.
func upgrade(path string, version int) op {
	to := fmt.Sprintf("vmx-%02d", version)
	return op{fmt.Sprintf("UpgradeVM_Task of %s: version=%s", path, to), func(ctx context.Context, c *client) error {
		_, v, err := c.findVM(ctx, path)
		if err != nil {
			return err
		}
		res, err := methods.UpgradeVM_Task(ctx, c.vim, &types.UpgradeVM_Task{This: v.ref, Version: to})
		if err != nil {
			return err
		}
		return c.wait(ctx, res.Returnval)
	}}
}
