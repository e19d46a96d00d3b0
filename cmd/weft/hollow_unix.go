//go:build unix

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/discover"
	"weft/internal/labctl"
	"weft/inventory"
)

// hollow says which targets of the lab carry no I/O: the kernel's, on servers that
// are SIMULATED. Guests have kernels of their own.
func (f *fabric) hollow() func(*inventory.Target) string {
	if !f.opts.lab {
		return nil
	}
	devices, err := labctl.Status(f.opts.dir)
	if err != nil {
		return nil // whoever measures will meet that
	}
	return func(t *inventory.Target) string {
		simulated := func(d labctl.DeviceStatus) bool { return d.Kind == "server" && d.Name == t.Server.Host }
		if t.Engine != "nvmet" || t.Server == nil || !slices.ContainsFunc(devices, simulated) {
			return ""
		}
		return "the kernel's target of a SIMULATED server carries no I/O: measure with engine = \"weft\", or on guests (weft lab up --real)"
	}
}

// guests reports whether the servers of the lab that is up are guests with real kernels.
func (f *fabric) guests() bool {
	s, err := labctl.Running(f.opts.dir)
	return err == nil && s != nil && slices.ContainsFunc(s.Devices, func(d labctl.Device) bool { return d.Kind == "guest" })
}

// labConfig is the ssh_config that leads to the lab of a directory; "": no lab is up.
func labConfig(dir string) (string, error) { return labctl.Config(dir) }

// labPassword is one that vCenters of labs take from whoever has no other.
const labPassword = labctl.VCenterPassword

// labHosts names the devices of the lab that is up for a directory, and who logs in to
// them.
func labHosts(dir string, f *discoverFlags) error {
	devices, err := labctl.Status(dir)
	for _, d := range devices {
		switch d.Kind {
		case "switch":
			f.seeds, f.login.SwitchUser = append(f.seeds, d.Name), cmp.Or(f.login.SwitchUser, d.User)
		case "vcenter":
			f.vcenters, f.login.VCenterUser = append(f.vcenters, d.Name), cmp.Or(f.login.VCenterUser, d.User)
		default:
			m := discover.Named{Host: d.Name}
			if d.User != "" {
				m.User = d.Login // of another system than most
			} else {
				f.login.User = cmp.Or(f.login.User, d.Login)
			}
			f.named = append(f.named, m)
		}
	}
	return err
}

// labVCenter is where the vCenter of the lab answers that stands in for a host.
func (f *fabric) labVCenter(host string) (at netip.AddrPort, sha256 string, err error) {
	s, err := labctl.Running(f.opts.place())
	if err != nil {
		return at, "", err
	}
	if s == nil {
		return at, "", errors.New("no lab is up for this directory")
	}
	d := s.VCenter(host)
	if d == nil {
		return at, "", fmt.Errorf("the lab has no vCenter %s", host)
	}
	at, err = netip.ParseAddrPort(d.Address)
	if err == nil && !at.Addr().IsLoopback() {
		err = fmt.Errorf("%s is no address on loopback", d.Address)
	}
	return at, d.SHA256, err
}
