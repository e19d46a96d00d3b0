package simvcenter

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// A VM is a virtual machine of a vCenter.
type VM struct {
	Path     string // DATACENTER/vm/NAME
	Host     string // where it is
	Guest    string // "": ubuntu64Guest
	Hardware int    // version of its virtual hardware; 0: 13
	On       bool
}

// install makes a virtual machine.
func install(m *simulator.Model, v VM) error {
	ctx := context.Background()
	client, err := vim25.NewClient(ctx, m.Service)
	if err != nil {
		return err
	}
	dc, ok := m.Map().Any("Datacenter").(*simulator.Datacenter)
	if !ok || path.Dir(v.Path) != dc.Name+"/vm" {
		return fmt.Errorf("it is not in %s/vm: there is no other folder", dc.Name)
	}
	for _, o := range m.Map().All("HostSystem") {
		h := o.(*simulator.HostSystem)
		if h.Name != v.Host {
			continue
		}
		var pool types.ManagedObjectReference
		switch on := m.Map().Get(*h.Parent).(type) {
		case *mo.ComputeResource:
			pool = *on.ResourcePool
		case *simulator.ClusterComputeResource:
			pool = *on.ResourcePool
		}
		spec := types.VirtualMachineConfigSpec{Name: path.Base(v.Path), GuestId: cmp.Or(v.Guest, "ubuntu64Guest"), Version: fmt.Sprintf("vmx-%02d", cmp.Or(v.Hardware, 13)),
			NumCPUs: 1, MemoryMB: 1024, Files: &types.VirtualMachineFileInfo{VmPathName: "[LocalDS_0]"}}
		task, err := object.NewFolder(client, dc.VmFolder).CreateVM(ctx, spec, object.NewResourcePool(client, pool), object.NewHostSystem(client, h.Self))
		if err != nil {
			return err
		}
		made, err := task.WaitForResult(ctx)
		if err != nil || !v.On {
			return err
		}
		if task, err = object.NewVirtualMachine(client, made.Result.(types.ManagedObjectReference)).PowerOn(ctx); err != nil {
			return err
		}
		return task.Wait(ctx)
	}
	return fmt.Errorf("there is no host %s", v.Host)
}
