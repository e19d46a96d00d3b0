//go:build unix

package simserver

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const nvmetDir = configDir + "/nvmet"

// nvmet is the NVMe target of a kernel, as configfs shows it. What it takes and
// refuses, and how, is what Linux 6.12 was seen to do.
type nvmet struct {
	hosts      map[string]*nvmetHost
	subsystems map[string]*nvmetSubsystem
	ports      map[string]*nvmetPort
}

type nvmetHost struct{ key, ctrlKey, hash, group string }

type nvmetSubsystem struct {
	serial, model string
	anyHost       bool
	hosts         []string // allowed
	namespaces    map[string]*nvmetNamespace
	discovered    bool // a host has seen who it is, which stays from then on
}

type nvmetNamespace struct {
	path, uuid, nguid string
	group             int
	enabled           bool
}

type nvmetPort struct {
	transport, family, address, service string
	groups                              map[string]string
	exports                             []string // NQNs; it listens while there is one
}

// at is where it listens.
func (p *nvmetPort) at() string { return net.JoinHostPort(p.address, p.service) }

func newNVMeT() *nvmet {
	return &nvmet{hosts: map[string]*nvmetHost{}, subsystems: map[string]*nvmetSubsystem{}, ports: map[string]*nvmetPort{}}
}

// renderNVMeT shows it, if its module is loaded. The caller holds s.mu.
func (s *Server) renderNVMeT(r rendered) {
	if s.software.modules["nvmet"] == nil {
		return
	}
	for _, dir := range []string{"hosts", "subsystems", "ports"} {
		r.dir(nvmetDir + "/" + dir)
	}
	for nqn, h := range s.nvmet.hosts {
		dir := nvmetDir + "/hosts/" + nqn
		s.nvmetValue(r, dir+"/dhchap_key", h.key, func(v string) error { return setKey(&h.key, v) })
		s.nvmetValue(r, dir+"/dhchap_ctrl_key", h.ctrlKey, func(v string) error { return setKey(&h.ctrlKey, v) })
		s.nvmetValue(r, dir+"/dhchap_hash", h.hash, oneOf(&h.hash, "hmac(sha256)", "hmac(sha384)", "hmac(sha512)"))
		s.nvmetValue(r, dir+"/dhchap_dhgroup", h.group, oneOf(&h.group, "null", "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192"))
	}
	for nqn, sub := range s.nvmet.subsystems {
		s.renderSubsystem(r, nvmetDir+"/subsystems/"+nqn, sub)
	}
	for number, p := range s.nvmet.ports {
		s.renderPort(r, nvmetDir+"/ports/"+number, number, p)
	}
}

// nvmetValue renders an attribute whose set is called with s.mu held.
func (s *Server) nvmetValue(r rendered, p, value string, set func(string) error) {
	r.attribute(p, value, 0o644, func(v string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		return set(v)
	})
}

func setKey(key *string, v string) error {
	if !isSecret(v) {
		return syscall.EINVAL
	}
	*key = v
	return nil
}

func oneOf(field *string, known ...string) func(string) error {
	return func(v string) error {
		if !slices.Contains(known, v) {
			return syscall.EINVAL
		}
		*field = v
		return nil
	}
}

func (s *Server) renderSubsystem(r rendered, dir string, sub *nvmetSubsystem) {
	identity := func(field *string, most int) func(string) error {
		return func(v string) error {
			if sub.discovered || v == "" || len(v) > most {
				return syscall.EINVAL
			}
			*field = v
			return nil
		}
	}
	s.nvmetValue(r, dir+"/attr_serial", fmt.Sprintf("%-20s", sub.serial), identity(&sub.serial, 20))
	s.nvmetValue(r, dir+"/attr_model", sub.model, identity(&sub.model, 40))
	s.nvmetValue(r, dir+"/attr_allow_any_host", bit(sub.anyHost), func(v string) error {
		on, err := strconv.ParseBool(v)
		if err != nil || on && len(sub.hosts) > 0 {
			return syscall.EINVAL
		}
		sub.anyHost = on
		return nil
	})
	for name, value := range map[string]string{"attr_version": "1.3", "attr_firmware": "6.12.107", "attr_cntlid_min": "1", "attr_cntlid_max": "65519", "attr_qid_max": "128"} {
		r[dir+"/"+name] = node{mode: 0o644, content: value + "\n"}
	}
	r.dir(dir + "/allowed_hosts")
	r.dir(dir + "/namespaces")
	for _, host := range sub.hosts {
		r.link(dir+"/allowed_hosts/"+host, "../../../../nvmet/hosts/"+host)
	}
	for id, ns := range sub.namespaces {
		s.renderNamespace(r, dir+"/namespaces/"+id, ns)
	}
}

func bit(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func (s *Server) renderPort(r rendered, dir, number string, p *nvmetPort) {
	quiet := func(field *string, known ...string) func(string) error {
		return func(v string) error {
			switch {
			case len(p.exports) > 0:
				return syscall.EACCES
			case known != nil && !slices.Contains(known, v):
				return syscall.EINVAL
			}
			*field = v
			return nil
		}
	}
	s.nvmetValue(r, dir+"/addr_trtype", p.transport, quiet(&p.transport, "rdma", "tcp", "fc", "loop", "pci"))
	s.nvmetValue(r, dir+"/addr_adrfam", p.family, quiet(&p.family, "ipv4", "ipv6", "ib", "fc", "loop", "pci"))
	s.nvmetValue(r, dir+"/addr_traddr", p.address, quiet(&p.address))
	s.nvmetValue(r, dir+"/addr_trsvcid", p.service, quiet(&p.service))
	for group, state := range p.groups {
		s.nvmetValue(r, dir+"/ana_groups/"+group+"/ana_state", state, func(v string) error {
			if !slices.Contains([]string{"optimized", "non-optimized", "inaccessible", "persistent-loss", "change"}, v) {
				return syscall.EINVAL
			}
			p.groups[group] = v
			return nil
		})
	}
	r.dir(dir + "/subsystems")
	for _, nqn := range p.exports {
		r.link(dir+"/subsystems/"+nqn, "../../../../nvmet/subsystems/"+nqn)
	}
}

// nvmetMkdir makes a directory of the target's.
func (s *Server) nvmetMkdir(p string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, parts := path.Base(p), strings.Split(strings.TrimPrefix(p, nvmetDir+"/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "hosts":
		s.nvmet.hosts[name] = &nvmetHost{hash: "hmac(sha256)", group: "null"}
	case len(parts) == 2 && parts[0] == "subsystems":
		s.nvmet.subsystems[name] = &nvmetSubsystem{serial: "0123456789abcdef0123", model: "Linux", namespaces: map[string]*nvmetNamespace{}}
	case len(parts) == 2 && parts[0] == "ports":
		if !numbered(name, 0, 65535) {
			return syscall.EINVAL
		}
		s.nvmet.ports[name] = &nvmetPort{groups: map[string]string{"1": "optimized"}}
	case len(parts) == 4 && parts[0] == "subsystems" && parts[2] == "namespaces":
		if !numbered(name, 1, 0xfffffffe) {
			return syscall.EINVAL
		}
		s.nvmet.subsystems[parts[1]].namespaces[name] = &nvmetNamespace{uuid: "00000000-0000-4000-8000-00000000000" + name[:1], nguid: "00000000-0000-0000-0000-000000000000", group: 1}
	case len(parts) == 4 && parts[0] == "ports" && parts[2] == "ana_groups":
		if !numbered(name, 2, 128) {
			return syscall.EINVAL
		}
		s.nvmet.ports[parts[1]].groups[name] = "inaccessible"
	default:
		return syscall.EPERM
	}
	return nil
}

func numbered(name string, least, most uint64) bool {
	n, err := strconv.ParseUint(name, 10, 64)
	return err == nil && n >= least && n <= most
}

// nvmetRemove takes a directory or a link of the target's away, in the order
// that the kernel asks for.
func (s *Server) nvmetRemove(p string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name, parts := path.Base(p), strings.Split(strings.TrimPrefix(p, nvmetDir+"/"), "/")
	is := func(n int, a, b string) bool { return len(parts) == n && parts[0] == a && (n < 4 || parts[2] == b) }
	switch {
	case is(2, "hosts", ""):
		for _, sub := range s.nvmet.subsystems {
			if slices.Contains(sub.hosts, name) {
				return syscall.EBUSY
			}
		}
		delete(s.nvmet.hosts, name)
	case is(2, "subsystems", ""):
		for _, port := range s.nvmet.ports {
			if slices.Contains(port.exports, name) {
				return syscall.EBUSY
			}
		}
		if sub := s.nvmet.subsystems[name]; len(sub.namespaces)+len(sub.hosts) > 0 {
			return syscall.ENOTEMPTY
		}
		delete(s.nvmet.subsystems, name)
	case is(2, "ports", ""):
		if port := s.nvmet.ports[name]; len(port.exports) > 0 || len(port.groups) > 1 {
			return syscall.ENOTEMPTY
		}
		delete(s.nvmet.ports, name)
	case is(4, "subsystems", "namespaces"):
		delete(s.nvmet.subsystems[parts[1]].namespaces, name)
	case is(4, "subsystems", "allowed_hosts"):
		sub := s.nvmet.subsystems[parts[1]]
		sub.hosts = without(sub.hosts, name)
	case is(4, "ports", "ana_groups") && name != "1":
		delete(s.nvmet.ports[parts[1]].groups, name)
	case is(4, "ports", "subsystems"):
		port := s.nvmet.ports[parts[1]]
		port.exports = without(port.exports, name)
	default:
		return syscall.EPERM
	}
	return nil
}

func without(list []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(o string) bool { return o == name })
}

// nvmetLink allows a host, or exports a subsystem.
func (s *Server) nvmetLink(target, p string) error {
	name, parts := path.Base(p), strings.Split(strings.TrimPrefix(p, nvmetDir+"/"), "/")
	if len(parts) != 4 || name != path.Base(target) {
		return syscall.EPERM
	}
	switch parts[0] + " " + parts[2] + " " + path.Dir(target) {
	case "subsystems allowed_hosts " + nvmetDir + "/hosts":
		s.mu.Lock()
		defer s.mu.Unlock()
		sub := s.nvmet.subsystems[parts[1]]
		switch {
		case s.nvmet.hosts[name] == nil:
			return syscall.ENOENT
		case sub.anyHost:
			return syscall.EINVAL
		}
		sub.hosts = append(sub.hosts, name)
		return nil
	case "ports subsystems " + nvmetDir + "/subsystems":
		local := s.interfaces()
		devices := s.rdmaDevices()
		open := s.bound(context.Background()) // of weft-target, whose RDMA is not simulated
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.nvmet.subsystems[name] == nil {
			return syscall.ENOENT
		}
		port := s.nvmet.ports[parts[1]]
		if len(port.exports) == 0 {
			if port.transport == "tcp" && open[port.at()] != "" {
				return syscall.EADDRINUSE
			}
			if err := s.listen(port, local, devices); err != nil {
				return err
			}
		}
		port.exports = append(port.exports, name)
		return nil
	}
	return syscall.EINVAL
}

// listen checks what the kernel does when a port gets its first subsystem. The
// caller holds s.mu.
func (s *Server) listen(port *nvmetPort, local []iface, devices []rdmaDevice) error {
	addr, err := netip.ParseAddr(port.address)
	if err != nil || port.family != "ipv4" && port.family != "ipv6" || s.software.modules["nvmet_"+port.transport] == nil {
		return syscall.EINVAL
	}
	for _, other := range s.nvmet.ports {
		if len(other.exports) > 0 && other.transport == port.transport && other.address == port.address && other.service == port.service {
			return syscall.EADDRINUSE
		}
	}
	for _, i := range local {
		if !slices.ContainsFunc(i.addrs, func(a netip.Prefix) bool { return a.Addr() == addr }) {
			continue
		}
		if port.transport == "rdma" && !slices.ContainsFunc(devices, func(d rdmaDevice) bool { return d.netdev == i.Name }) {
			return syscall.ENODEV
		}
		return nil
	}
	return syscall.EADDRNOTAVAIL
}
