//go:build unix

package simserver

import (
	"io/fs"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A controller is one connection of the kernel to a subsystem. What the kernel
// takes and how it refuses is what Linux 6.12 was seen to do.
type controller struct {
	name, subsystem string // nvme0, nvme-subsys0
	options         map[string]string
	namespaces      map[string]string // sizes in sectors, by id
	states          map[string]string // their ANA states when last looked at, by id
	shown           map[string]bool   // those with a block device: one path took I/O at some time
	model           string            // of the target
	uuids           map[string]string // of namespaces, by id
	met             string            // the start of the target that it has authenticated to
}

const fabricsFile = "/dev/nvme-fabrics"

// option tells what the kernel takes in a connection, with its value where one
// is left out.
func nvmeOptions() map[string]string {
	return map[string]string{
		"transport": "", "traddr": "", "trsvcid": "4420", "nqn": "", "hostnqn": "", "hostid": "", "host_traddr": "",
		"keep_alive_tmo": "5", "reconnect_delay": "10", "ctrl_loss_tmo": "600", "fast_io_fail_tmo": "-1", "nr_io_queues": "64", "queue_size": "128", "tos": "0",
		"dhchap_secret": "", "dhchap_ctrl_secret": "",
	}
}

// renderNVMe shows the connections. The caller does not hold s.mu.
func (s *Server) renderNVMe(r rendered) {
	r.dir("/sys/class/nvme")
	r.dir("/sys/class/nvme-subsystem")
	r.dir("/sys/block")
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.software.modules["nvme_fabrics"] == nil {
		return
	}
	r.attribute(fabricsFile, "", 0o600, s.connect)
	for _, c := range s.controllers {
		s.renderController(r, c)
	}
	s.renderMD(r)
}

func (s *Server) renderController(r rendered, c *controller) {
	dir, o := "/sys/class/nvme/"+c.name, c.options
	address := "traddr=" + o["traddr"] + ",trsvcid=" + o["trsvcid"]
	if o["host_traddr"] != "" {
		address += ",host_traddr=" + o["host_traddr"]
	}
	queues, _ := strconv.Atoi(o["nr_io_queues"])
	size, _ := strconv.Atoi(o["queue_size"])
	for name, value := range map[string]string{
		"transport": o["transport"], "address": address, "subsysnqn": o["nqn"], "hostnqn": o["hostnqn"], "hostid": o["hostid"],
		"cntrltype": "io", "model": c.model,
		"queue_count": strconv.Itoa(queues + 1), "sqsize": strconv.Itoa(size - 1), "kato": o["keep_alive_tmo"],
	} {
		r.file(dir+"/"+name, value)
	}
	r[dir+"/state"] = node{mode: 0o444, live: func() string {
		if s.live(c) {
			return "live\n"
		}
		return "connecting\n"
	}}
	number := func(name string) func(string) error {
		return func(v string) error {
			n, err := strconv.Atoi(v)
			if err != nil {
				return syscall.EINVAL
			}
			o[name] = strconv.Itoa(n)
			return nil
		}
	}
	s.nvmetValue(r, dir+"/reconnect_delay", o["reconnect_delay"], number("reconnect_delay"))
	s.nvmetValue(r, dir+"/ctrl_loss_tmo", lossShown(o), number("ctrl_loss_tmo"))
	fast := o["fast_io_fail_tmo"]
	if fast == "-1" {
		fast = "off"
	}
	s.nvmetValue(r, dir+"/fast_io_fail_tmo", fast, number("fast_io_fail_tmo"))
	r.attribute(dir+"/delete_controller", "", 0o200, func(string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.controllers = slices.DeleteFunc(s.controllers, func(k *controller) bool { return k == c })
		return nil
	})
	s.renderSecrets(r, dir, c)
	sub := "/sys/class/nvme-subsystem/" + c.subsystem
	r.file(sub+"/subsysnqn", o["nqn"])
	r.file(sub+"/subsystype", "nvm")
	r.file(sub+"/model", c.model)
	r.link(sub+"/"+c.name, "../../nvme/"+c.name)
	s.nvmetValue(r, sub+"/iopolicy", s.policy(c.subsystem), func(v string) error {
		if !slices.Contains([]string{"numa", "round-robin", "queue-depth"}, v) {
			return syscall.EINVAL
		}
		s.policies[c.subsystem] = v
		return nil
	})
	s.renderDisks(r, dir, sub, c)
}

// pathTo is the name of a path to a namespace: nvme0c1n1.
func (c *controller) pathTo(id string) string {
	return "nvme" + strings.TrimPrefix(c.subsystem, "nvme-subsys") + "c" + strings.TrimPrefix(c.name, "nvme") + "n" + id
}

// renderDisks shows the paths to a connection's namespaces, and the block devices of those
// that some path of the subsystem has taken I/O for.
func (s *Server) renderDisks(r rendered, dir, sub string, c *controller) {
	for id, state := range c.states {
		r.file(dir+"/"+c.pathTo(id)+"/ana_state", state)
		r.file(dir+"/"+c.pathTo(id)+"/size", c.namespaces[id])
	}
	for id, sectors := range c.namespaces {
		if !slices.ContainsFunc(s.controllers, func(k *controller) bool { return k.subsystem == c.subsystem && k.shown[id] }) {
			continue
		}
		disk := c.disk(id)
		r.dir(sub + "/" + disk)
		r.file("/sys/block/"+disk+"/size", sectors)
		r.dir("/sys/block/" + disk + "/holders")
		r.link("/sys/block/"+disk+"/device", "../../class/nvme-subsystem/"+c.subsystem)
		// Nothing is written to it here: it is as empty as it was.
		r["/dev/"+disk] = node{mode: fs.ModeDevice | 0o600, live: func() string { return strings.Repeat("\x00", 1<<20) }}
	}
}

// lossShown is how long a lost path is kept, as the kernel shows it: it counts
// attempts.
func lossShown(o map[string]string) string {
	loss, _ := strconv.Atoi(o["ctrl_loss_tmo"])
	delay, _ := strconv.Atoi(o["reconnect_delay"])
	if loss < 0 {
		return "off"
	}
	if delay > 0 {
		loss = (loss + delay - 1) / delay * delay
	}
	return strconv.Itoa(loss)
}

// policy is that of a subsystem. The caller holds s.mu.
func (s *Server) policy(subsystem string) string {
	if p := s.policies[subsystem]; p != "" {
		return p
	}
	return "numa"
}

// connect is what a write to the kernel's file does.
func (s *Server) connect(line string) error {
	o := nvmeOptions()
	for part := range strings.SplitSeq(line, ",") {
		k, v, has := strings.Cut(part, "=")
		if _, known := o[k]; !known || !has || v == "" {
			return syscall.EINVAL
		}
		o[k] = v
	}
	if o["transport"] == "" || o["traddr"] == "" || o["nqn"] == "" {
		return syscall.EINVAL
	}
	for _, name := range []string{"dhchap_secret", "dhchap_ctrl_secret"} {
		if o[name] != "" && !isSecret(o[name]) {
			return syscall.EINVAL
		}
	}
	s.mu.RLock()
	loaded := s.software.modules["nvme_"+o["transport"]] != nil
	taken := slices.Clone(s.controllers)
	s.mu.RUnlock()
	if !loaded {
		return syscall.EINVAL
	}
	for _, c := range taken {
		same := func(names ...string) bool {
			return !slices.ContainsFunc(names, func(n string) bool { return c.options[n] != o[n] })
		}
		switch {
		case same("hostid") != same("hostnqn"):
			return syscall.EINVAL
		case same("transport", "traddr", "trsvcid", "nqn", "hostnqn"):
			return syscall.EALREADY
		}
	}
	c := &controller{options: o, namespaces: map[string]string{}, uuids: map[string]string{}, states: map[string]string{}, shown: map[string]bool{}}
	to, err := s.served(c)
	if err != nil {
		return err
	}
	if err := to.proof(o).met(o); err != nil {
		return err
	}
	c.met = to.start()
	to.discover(c.options["nqn"])
	c.take(to.maps(c.options))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name(c)
	s.controllers = append(s.controllers, c)
	s.assemble()
	return nil
}

// name gives a controller the first free name, and the subsystem that others to
// the same have. The caller holds s.mu.
func (s *Server) name(c *controller) {
	free := func(prefix string, of func(*controller) string) string {
		for n := 0; ; n++ {
			name := prefix + strconv.Itoa(n)
			if !slices.ContainsFunc(s.controllers, func(k *controller) bool { return of(k) == name }) {
				return name
			}
		}
	}
	c.name = free("nvme", func(k *controller) string { return k.name })
	for _, k := range s.controllers {
		if k.options["nqn"] == c.options["nqn"] {
			c.subsystem = k.subsystem
		}
	}
	if c.subsystem == "" {
		c.subsystem = free("nvme-subsys", func(k *controller) string { return k.subsystem })
		delete(s.policies, c.subsystem)
	}
}

// served is who serves a connection, or why nobody does. The caller holds the
// state of no server.
func (s *Server) served(c *controller) (*Server, error) {
	addr, err := netip.ParseAddr(c.options["traddr"])
	if err != nil {
		return nil, syscall.EINVAL
	}
	if from := c.options["host_traddr"]; from != "" && !slices.ContainsFunc(s.interfaces(), func(i iface) bool {
		return slices.ContainsFunc(i.addrs, func(a netip.Prefix) bool { return a.Addr().String() == from })
	}) {
		return nil, syscall.EADDRNOTAVAIL
	}
	switch r := s.net.reach(s, addr); {
	case !r.routed:
		return nil, syscall.ENETUNREACH
	case !r.answers:
		return nil, syscall.ETIMEDOUT
	}
	for _, t := range s.net.all() {
		if slices.ContainsFunc(t.interfaces(), func(i iface) bool {
			return slices.ContainsFunc(i.addrs, func(a netip.Prefix) bool { return a.Addr() == addr })
		}) {
			return t, t.admits(c.options)
		}
	}
	return nil, syscall.ETIMEDOUT
}

// admits says why a server refuses a connection: nothing listens, or it does
// not know the subsystem or the host.
func (s *Server) admits(o map[string]string) error {
	if s.agentAdmits(o) {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	listens := false
	for _, p := range s.nvmet.ports {
		if p.transport != o["transport"] || p.address != o["traddr"] || p.service != o["trsvcid"] || len(p.exports) == 0 {
			continue
		}
		listens = true
		sub := s.nvmet.subsystems[o["nqn"]]
		if slices.Contains(p.exports, o["nqn"]) && sub != nil && (sub.anyHost || slices.Contains(sub.hosts, o["hostnqn"])) {
			return nil
		}
	}
	switch {
	case listens:
		return syscall.EIO
	case o["transport"] == "rdma":
		return syscall.ECONNRESET
	}
	return syscall.ECONNREFUSED
}

// agentAdmits reports whether weft-target runs there and its configuration
// names the portal, the subsystem and the host. Its own end of a connection is
// not simulated: agents move bytes between agents.
func (s *Server) agentAdmits(o map[string]string) bool {
	s.mu.RLock()
	u := s.units["weft-target.service"]
	active := u != nil && u.active == "active"
	s.mu.RUnlock()
	if !active || o["transport"] != "tcp" {
		return false
	}
	text, err := s.rootView().ReadFile("/etc/weft/target.toml")
	if err != nil {
		return false
	}
	return !slices.ContainsFunc([]string{o["traddr"] + ":" + o["trsvcid"], o["nqn"], o["hostnqn"]}, func(part string) bool {
		return !strings.Contains(string(text), part)
	})
}

// find is a part of findutils': which processes have a file open. None here has
// a device open.
func find(x *call) int {
	one := len(x.args) == 3 && x.args[1] == "-lname"
	two := len(x.args) == 6 && x.args[1] == "-lname" && x.args[3] == "-o" && x.args[4] == "-lname"
	if !one && !two || !strings.HasPrefix(x.args[0], "/proc/") {
		return x.notSimulated(1)
	}
	return 0
}
