package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/hint"
)

// emptyTime is how long the machines of a host may take to leave it.
const emptyTime = 30 * time.Minute

// Knows reports whether vCenter has a host; the device is open.
func (d *Device) Knows(host string) bool {
	return d.have != nil && d.have.hosts[strings.ToLower(host)] != nil
}

// Empty has all machines that run on a host leave it, and keeps others from coming, with
// maintenance mode; the device is open. It refuses where they cannot leave. begun is told the
// task of vCenter before it is waited for; where that fails, the host is filled again.
func (d *Device) Empty(ctx context.Context, host string, begun func(task string) error) error {
	ref := d.have.hosts[strings.ToLower(host)].ref
	var h mo.HostSystem
	pc := property.DefaultCollector(d.client.vim)
	if err := pc.RetrieveOne(ctx, ref, []string{"parent", "runtime.inMaintenanceMode", "vm"}, &h); err != nil {
		return err
	}
	if h.Runtime.InMaintenanceMode {
		return hint.Wrap(fmt.Errorf("%s is already in maintenance mode, which weft did not start", host), "when that is over, let it leave that in vCenter")
	}
	drs, vsan, err := d.client.moves(ctx, h.Parent)
	if err != nil {
		return err
	}
	running, err := d.client.running(ctx, h.Vm)
	if err != nil {
		return err
	}
	if len(running) > 0 && !drs {
		return hint.Wrap(fmt.Errorf("%s runs on %s and is not moved: DRS of its cluster is not fully automated", strings.Join(running, ", "), host), "move or shut down what runs there, or have DRS do it")
	}
	req := types.EnterMaintenanceMode_Task{This: ref, Timeout: int32(emptyTime.Seconds())}
	if vsan {
		req.MaintenanceSpec = &types.HostMaintenanceSpec{VsanMode: &types.VsanHostDecommissionMode{ObjectAction: string(types.VsanHostDecommissionModeObjectActionEnsureObjectAccessibility)}}
	}
	res, err := methods.EnterMaintenanceMode_Task(ctx, d.client.vim, &req)
	var unable error
	if err == nil {
		unable = begun(res.Returnval.Value)
		err = d.client.waitFor(ctx, res.Returnval, emptyTime)
	}
	if err == nil && unable != nil {
		return errors.Join(unable, d.Fill(ctx, host))
	}
	if err != nil {
		return hint.Wrap(fmt.Errorf("EnterMaintenanceMode_Task of %s: %s", host, said(err)), "see Recent Tasks in vCenter, which machine does not leave and why")
	}
	return nil
}

// Await waits for a task that empties a host, begun by one that has ended, and reports whether
// that was done. vCenter forgets tasks after some minutes.
func (d *Device) Await(ctx context.Context, task string) (done bool, err error) {
	err = d.client.waitFor(ctx, types.ManagedObjectReference{Type: "Task", Value: task}, emptyTime)
	if err != nil {
		return false, fmt.Errorf("the task %s of the weft before: %s", task, said(err))
	}
	return true, nil
}

// Fill lets machines come to a host again; the device is open.
func (d *Device) Fill(ctx context.Context, host string) error {
	h := d.have.hosts[strings.ToLower(host)]
	if h == nil {
		return fmt.Errorf("vCenter has no host %s any more: it stays in maintenance mode", host)
	}
	var now mo.HostSystem
	if err := property.DefaultCollector(d.client.vim).RetrieveOne(ctx, h.ref, []string{"runtime.inMaintenanceMode"}, &now); err != nil {
		return err
	}
	if !now.Runtime.InMaintenanceMode {
		return nil // a host that starts may have left it by itself
	}
	res, err := methods.ExitMaintenanceMode_Task(ctx, d.client.vim, &types.ExitMaintenanceMode_Task{This: h.ref, Timeout: int32(d.client.task.Seconds())})
	if err == nil {
		err = d.client.wait(ctx, res.Returnval)
	}
	if err != nil {
		return fmt.Errorf("ExitMaintenanceMode_Task of %s: %s", host, said(err))
	}
	return nil
}

// moves reports whether the cluster of a host moves machines by itself, and whether it has
// vSAN.
func (c *client) moves(ctx context.Context, of *types.ManagedObjectReference) (drs, vsan bool, err error) {
	if of == nil || of.Type != "ClusterComputeResource" {
		return false, false, nil
	}
	var k mo.ClusterComputeResource
	if err := property.DefaultCollector(c.vim).RetrieveOne(ctx, *of, []string{"configurationEx"}, &k); err != nil {
		return false, false, err
	}
	conf, ok := k.ConfigurationEx.(*types.ClusterConfigInfoEx)
	if !ok {
		return false, false, nil
	}
	on := func(b *bool) bool { return b != nil && *b }
	return on(conf.DrsConfig.Enabled) && conf.DrsConfig.DefaultVmBehavior == types.DrsBehaviorFullyAutomated,
		conf.VsanConfigInfo != nil && on(conf.VsanConfigInfo.Enabled), nil
}

// running are the names of those machines that are on.
func (c *client) running(ctx context.Context, of []types.ManagedObjectReference) (names []string, err error) {
	if len(of) == 0 {
		return nil, nil
	}
	var list []mo.VirtualMachine
	if err := property.DefaultCollector(c.vim).Retrieve(ctx, of, []string{"name", "runtime.powerState"}, &list); err != nil {
		return nil, err
	}
	for _, v := range list {
		if v.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
