package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"weft/internal/nvme/names"

	"github.com/google/uuid"
)

func (v *findings) subsystem(name string, s Subsystem, portals []Portal) {
	if err := CheckNQN(s.NQN); err != nil {
		v.add("%s: %w", name, err)
	}
	if s.Serial == "" || len(s.Serial) > names.MaxSerial || !printable(s.Serial) || strings.TrimSpace(s.Serial) != s.Serial {
		v.add("%s: serial %q is not 1 to %d printable ASCII characters", name, s.Serial, names.MaxSerial)
	}
	hosts := map[string]bool{}
	for _, h := range s.AllowHosts {
		if err := CheckNQN(h); err != nil {
			v.add("%s: allow_hosts: %w", name, err)
		}
		if hosts[h] {
			v.add("%s: allow_hosts names %s twice", name, h)
		}
		hosts[h] = true
	}
	v.servedAt(name, s.Portals, portals)
	v.auth(name, s.Auth, hosts)
	if s.DemandAuth {
		v.demand(name, s)
	}
	v.tls(name, s, hosts, portals)
	if len(s.Namespaces) > maxNamespaces {
		v.add("%s: %d namespaces; %d is the most", name, len(s.Namespaces), maxNamespaces)
	}
	ids := map[uint32]bool{}
	for _, n := range s.Namespaces {
		name := fmt.Sprintf("%s namespace %d", name, n.ID)
		if ids[n.ID] {
			v.add("%s is there twice", name)
		}
		ids[n.ID] = true
		v.namespace(name, n)
	}
}

// servedAt judges the portals of a subsystem.
func (v *findings) servedAt(name string, addresses []string, portals []Portal) {
	for i, a := range addresses {
		if !slices.ContainsFunc(portals, func(p Portal) bool { return p.Address == a }) {
			v.add("%s: portals: there is no portal %q", name, a)
		}
		if slices.Contains(addresses[:i], a) {
			v.add("%s: portals names %s twice", name, a)
		}
	}
}

func (v *findings) auth(name string, all []Auth, hosts map[string]bool) {
	seen := map[string]bool{}
	for _, a := range all {
		who := fmt.Sprintf("%s: auth of %s", name, a.Host)
		switch {
		case seen[a.Host]:
			v.add("%s is there twice", who)
		case !hosts[a.Host]:
			v.add("%s: allow_hosts does not name this host", who)
		}
		seen[a.Host] = true
		if (a.Key == "") == (a.KeyFile == "") {
			v.add("%s: give either key or key_file", who)
		}
		if a.SubsystemKey != "" && a.SubsystemKeyFile != "" {
			v.add("%s: give either subsystem_key or subsystem_key_file", who)
		}
		for key, file := range map[string]string{"key_file": a.KeyFile, "subsystem_key_file": a.SubsystemKeyFile} {
			if file != "" && !path.IsAbs(file) {
				v.add("%s: %s %q is not absolute", who, key, file)
			}
		}
	}
}

// tls sees to it that keys are for hosts that may connect, and that who has one cannot
// go by it in clear.
func (v *findings) tls(name string, s Subsystem, hosts map[string]bool, portals []Portal) {
	seen := map[string]bool{}
	for _, k := range s.TLS {
		who := fmt.Sprintf("%s: tls of %s", name, k.Host)
		switch {
		case seen[k.Host]:
			v.add("%s is there twice", who)
		case !hosts[k.Host]:
			v.add("%s: allow_hosts does not name this host", who)
		}
		seen[k.Host] = true
		if (k.Key == "") == (k.KeyFile == "") {
			v.add("%s: give either key or key_file", who)
		}
		if k.KeyFile != "" && !path.IsAbs(k.KeyFile) {
			v.add("%s: key_file %q is not absolute", who, k.KeyFile)
		}
	}
	for _, p := range portals {
		switch {
		case !s.ServedAt(p.Address):
		case !p.TLS && len(s.TLS) > 0:
			v.add("%s has TLS keys, and portal %s %s serves it in clear: set tls = true there, or leave it out of the subsystem's portals", name, p.Transport, p.Address)
		case p.TLS && len(s.TLS) < len(s.AllowHosts):
			v.add("%s: portal %s has tls, and not every host of allow_hosts has a key in subsystem.tls", name, p.Address)
		}
	}
}

// demand sees to it that every host must authenticate.
func (v *findings) demand(name string, s Subsystem) {
	for _, h := range s.AllowHosts {
		if !slices.ContainsFunc(s.Auth, func(a Auth) bool { return a.Host == h }) {
			v.add("%s: demand_auth, and there is no auth of %s, which allow_hosts lets in by its name", name, h)
		}
	}
	for _, a := range s.Auth {
		if slices.Contains(a.DHGroups, "null") {
			v.add("%s: demand_auth, and auth of %s has the group null, which exchanges nothing", name, a.Host)
		}
	}
}

func (v *findings) namespace(name string, n Namespace) {
	if n.ID == 0 || n.ID > names.MaxNSID {
		v.add("%s: id is not from 1 to %d", name, uint32(names.MaxNSID))
	}
	if n.ANAGroup > maxGroup {
		v.add("%s: ana_group %d is not from 1 to %d", name, n.ANAGroup, maxGroup)
	}
	v.uuid(name, n.UUID)
	v.nguid(name, n)
	switch {
	case n.BlockSize != 512 && n.BlockSize != 4096:
		v.add("%s: block_size %d is neither 512 nor 4096", name, n.BlockSize)
	case n.Size == 0 && n.Backend == "device": // all of it
	case n.Size == 0:
		v.add("%s: size is missing: only a device says by itself how large it is", name)
	case n.Size < 0 || n.Size%int64(n.BlockSize) != 0:
		v.add("%s: size %d is not a positive multiple of the block size %d", name, n.Size, n.BlockSize)
	}
	v.backend(name, n)
}

// backend judges where the blocks are.
func (v *findings) backend(name string, n Namespace) {
	if n.Backend != "mirror" && n.Mirror != nil {
		v.add("%s: mirror is for backend = \"mirror\"", name)
	}
	switch n.Backend {
	case "memory", "null":
		if n.Path != "" {
			v.add("%s: a %s backend has no path", name, n.Backend)
		}
	case "file", "device":
		v.path(name, n.Backend, n.Path)
	case "mirror":
		if n.Path != "" || len(n.Mirror) != 2 {
			v.add("%s: a mirror has no path but two in mirror = [...]", name)
		}
		for _, p := range n.Mirror {
			v.path(name, kindOf(p), p)
		}
	default:
		v.add("%s: unknown backend %q; memory, file, device, null and mirror are known", name, n.Backend)
	}
}

// IsDevice says that a path is that of a device, for halves of a mirror, which
// may be either.
func IsDevice(p string) bool {
	clean := path.Clean(p)
	return clean == "/dev" || strings.HasPrefix(clean, "/dev/")
}

func kindOf(p string) string {
	if IsDevice(p) {
		return "device"
	}
	return "file"
}

func (v *findings) uuid(name, s string) {
	u, err := uuid.Parse(s)
	if err != nil || len(s) != 36 || u == uuid.Nil {
		v.add("%s: uuid %q is none", name, s)
		return
	}
	if other, ok := v.uuids[u.String()]; ok {
		v.add("%s: its uuid is that of %s", name, other)
	}
	v.uuids[u.String()] = name
}

func (v *findings) nguid(name string, n Namespace) {
	if n.NGUID == LocalNGUID {
		return // as good as the UUID
	}
	id, err := n.GUID()
	switch other, there := v.nguids[id]; {
	case err != nil:
		v.add("%s: %w", name, err)
	case id == [16]byte{}:
	case there:
		v.add("%s: its nguid is that of %s", name, other)
	default:
		v.nguids[id] = name
	}
}

func (v *findings) path(name, backend, p string) {
	switch clean := path.Clean(p); {
	case !path.IsAbs(p):
		v.add("%s: path %q is not absolute", name, p)
	case backend == "file" && IsDevice(p):
		v.add("%s: %s is below /dev: serve a device with backend = \"device\"", name, p)
	case v.paths[clean] != "":
		v.add("%s: its path is that of %s", name, v.paths[clean])
	default:
		v.paths[clean] = name
	}
}
