package vcenter

import (
	"context"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// warnings are what the plan says of host profiles.
func (d *Device) warnings(ctx context.Context) []string {
	list, err := d.profiled(ctx)
	if err != nil {
		return []string{"whether host profiles own settings of its hosts is not known: " + said(err)}
	}
	return list
}

// profiled says which of the hosts that resources are about have a host profile attached,
// themselves or by their cluster; nil: none has. What a profile owns is put back by whoever
// remediates with it.
func (d *Device) profiled(ctx context.Context) (list []string, err error) {
	if len(d.hosts) == 0 {
		return nil, nil
	}
	profiles, err := d.client.profiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range d.hosts {
		h := d.have.hosts[strings.ToLower(name)]
		if h == nil {
			continue
		}
		for _, p := range profiles {
			if slices.Contains(p.Entity, h.ref) {
				list = append(list, h.name+" has the host profile "+p.Name+": a remediation restores the values of the profile, and weft changes them again; remove switches and ports that weft manages from the profile")
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// profiles are all host profiles, each with the hosts that it is attached to.
func (c *client) profiles(ctx context.Context) ([]mo.HostProfile, error) {
	at := c.vim.ServiceContent.HostProfileManager
	if at == nil {
		return nil, nil
	}
	pc := property.DefaultCollector(c.vim)
	var manager mo.HostProfileManager
	if err := pc.RetrieveOne(ctx, *at, []string{"profile"}, &manager); err != nil || len(manager.Profile) == 0 {
		return nil, err
	}
	var list []mo.HostProfile
	if err := pc.Retrieve(ctx, manager.Profile, []string{"name", "entity"}, &list); err != nil {
		return nil, err
	}
	var clusters []types.ManagedObjectReference
	for _, p := range list {
		for _, e := range p.Entity {
			if e.Type != "HostSystem" && !slices.Contains(clusters, e) {
				clusters = append(clusters, e)
			}
		}
	}
	if len(clusters) == 0 {
		return list, nil
	}
	var of []mo.ComputeResource
	if err := pc.Retrieve(ctx, clusters, []string{"host"}, &of); err != nil {
		return nil, err
	}
	for i := range list {
		for _, k := range of {
			if slices.Contains(list[i].Entity, k.Self) {
				list[i].Entity = append(list[i].Entity, k.Host...)
			}
		}
	}
	return list, nil
}
