package simvcenter

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// profile attaches host profiles, of which vcsim has none.
func profile(m *simulator.Model, spec Spec) {
	manager := &mo.HostProfileManager{}
	manager.Self = *m.ServiceContent.HostProfileManager
	all := map[string]*mo.HostProfile{}
	for _, o := range m.Map().All("HostSystem") { // in another order than when they were named
		h := o.(*simulator.HostSystem)
		name := spec.Hosts[slices.IndexFunc(spec.Hosts, func(s Host) bool { return s.Name == h.Name })].Profile
		if name == "" {
			continue
		}
		if all[name] == nil {
			all[name] = &mo.HostProfile{}
			all[name].Self, all[name].Name = types.ManagedObjectReference{Type: "HostProfile", Value: "hostprofile-" + name}, name
			manager.Profile = append(manager.Profile, all[name].Self)
			m.Map().Put(all[name])
		}
		all[name].Entity = append(all[name].Entity, o.Reference())
	}
	m.Map().Put(manager)
}

// stuck is a folder whose tasks never end.
type stuck struct{ *simulator.Folder }

// CreateDVSTask makes nothing.
func (f *stuck) CreateDVSTask(ctx *simulator.Context, _ *types.CreateDVS_Task) soap.HasFault {
	task := simulator.CreateTask(f, "createDVS", nil)
	task.Self = types.ManagedObjectReference{Type: "Task", Value: "task-stuck"}
	task.Info.Task, task.Info.Key, task.Info.State = task.Self, task.Self.Value, types.TaskInfoStateRunning
	ctx.For("/sdk").Map.Put(task)
	return &methods.CreateDVS_TaskBody{Res: &types.CreateDVS_TaskResponse{Returnval: task.Self}}
}
