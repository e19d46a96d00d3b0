//go:build unix

package simserver

import (
	"bufio"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// software is what a simulated server has besides its NICs: parameters and
// modules of its kernel, which a reboot forgets, and packages.
type software struct {
	sysctls  map[string]string            // by path below /proc/sys
	modules  map[string]map[string]string // those loaded, with their parameters
	packages map[string]string            // version by name
	held     map[string]bool              // packages that are held
	locked   bool                         // another package tool is at work
}

// bootSysctls are the parameters that the simulated kernel has, with the
// values of a fresh Debian 13: sysctl -a in one.
func bootSysctls() map[string]string {
	return map[string]string{
		"net/core/rmem_max": "212992", "net/core/wmem_max": "212992", "net/core/netdev_max_backlog": "1000",
		"net/ipv4/tcp_rmem": "4096\t131072\t6291456", "net/ipv4/tcp_wmem": "4096\t16384\t4194304",
		"net/ipv4/conf/all/arp_ignore": "0", "net/ipv4/conf/all/arp_announce": "0", "net/ipv4/conf/all/rp_filter": "0",
		"vm/swappiness": "60", "vm/nr_hugepages": "0", "kernel/numa_balancing": "0",
	}
}

// modulesOfKernel are those that can be loaded, with their parameters' values
// when none is given.
func modulesOfKernel() map[string]map[string]string {
	return map[string]map[string]string{
		"nvmet": {}, "nvmet_tcp": {}, "nvmet_rdma": {}, "nvme_fabrics": {}, "nvme_tcp": {}, "nvme_rdma": {},
		"nvme_core": {"multipath": "Y", "max_retries": "5"}, "rdma_rxe": {}, "siw": {}, "8021q": {},
		"ib_core": {}, "rdma_cm": {}, "mlx5_ib": {}, "iw_cxgb4": {},
		"bonding": {"max_bonds": "1", "mode": ""},
	}
}

// builtinModules are those that are part of the simulated kernel, with their
// parameters. Those without are in a list only.
func builtinModules() map[string]map[string]string {
	return map[string]map[string]string{"tcp_cubic": {"beta": "717"}, "ext4": {}}
}

// builtinList is the text of the file that lists them.
func builtinList() string {
	var list strings.Builder
	for _, name := range slices.Sorted(maps.Keys(builtinModules())) {
		fmt.Fprintf(&list, "kernel/%s.ko\n", name)
	}
	return list.String()
}

// repository are the packages that can be had, with their versions; the
// second word is a unit that the package brings.
func repository() map[string][2]string {
	return map[string][2]string{
		"nvme-cli": {"2.13-2", ""}, "rdma-core": {"56.1-1", ""}, "ethtool": {"1:6.14.2-1", ""}, "fio": {"3.39-1", ""},
		"chrony": {"4.6.1-3", "chrony.service"}, "irqbalance": {"1.9.4-1", "irqbalance.service"}, "lldpd": {"1.0.18-1", "lldpd.service"},
		"infiniband-diags": {"44.0-2", ""},
	}
}

// bootSoftware forgets what a reboot forgets, and does what the files in /etc
// ask for at boot.
func (s *Server) bootSoftware() {
	v := s.rootView()
	_ = v.MkdirAll("/run/systemd/system", 0o755) // so that systemd is found running; install reports a root that takes no files
	w := software{sysctls: bootSysctls(), modules: map[string]map[string]string{}, packages: s.software.packages, held: s.software.held}
	if w.packages == nil {
		w.held = map[string]bool{}
		w.packages = map[string]string{"rdma-core": repository()["rdma-core"][0]}
	}
	s.mu.Lock()
	for _, module := range s.rdmaModules() {
		w.modules[module] = map[string]string{}
	}
	s.software = w
	s.mu.Unlock()
	for _, line := range confLines(v, "/etc/modules-load.d") {
		_ = s.loadModule(line) // one that is not there is left out, as at a real boot
	}
	for _, line := range confLines(v, "/etc/sysctl.d") {
		if k, value, ok := strings.Cut(line, "="); ok {
			k = sysctlPath(strings.TrimSpace(k))
			s.mu.Lock()
			if _, known := s.software.sysctls[k]; known {
				s.software.sysctls[k] = strings.TrimSpace(value)
			}
			s.mu.Unlock()
		}
	}
}

// confLines are the lines of the files *.conf in a directory, in the order of
// their names, without comments.
func confLines(v view, dir string) []string {
	var lines []string
	infos, err := v.ReadDir(dir)
	if err != nil {
		return nil
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	for _, i := range infos {
		if path.Ext(i.Name()) != ".conf" {
			continue
		}
		text, err := v.ReadFile(dir + "/" + i.Name())
		if err != nil {
			continue
		}
		for in := bufio.NewScanner(strings.NewReader(string(text))); in.Scan(); {
			if line := strings.TrimSpace(in.Text()); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// loadModule loads a module with the options in /etc/modprobe.d. The caller
// holds nothing.
func (s *Server) loadModule(name string) error {
	folder := strings.ReplaceAll(name, "-", "_")
	if builtinModules()[folder] != nil {
		return nil
	}
	params, ok := modulesOfKernel()[folder]
	if !ok {
		return fmt.Errorf("FATAL: Module %s not found in directory /lib/modules/%s", name, kernelRelease)
	}
	for _, line := range confLines(s.rootView(), "/etc/modprobe.d") {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "options" || strings.ReplaceAll(f[1], "-", "_") != folder {
			continue
		}
		for _, o := range f[2:] {
			k, value, _ := strings.Cut(o, "=")
			if _, known := params[k]; known {
				params[k] = value
			}
		}
	}
	for _, other := range neededModules()[folder] {
		if err := s.loadModule(other); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.software.modules[folder] == nil {
		s.software.modules[folder] = params
	}
	return nil
}

// neededModules are those that come with another.
func neededModules() map[string][]string {
	return map[string][]string{
		"nvmet_tcp": {"nvmet"}, "nvmet_rdma": {"nvmet", "rdma_cm"},
		"nvme_tcp": {"nvme_fabrics"}, "nvme_rdma": {"nvme_fabrics", "rdma_cm"}, "nvme_fabrics": {"nvme_core"},
		"rdma_cm": {"ib_core"},
	}
}

// renderSoftware shows the kernel's part. The caller holds s.mu.
func (s *Server) renderSoftware(r rendered) {
	for k, value := range s.software.sysctls {
		r.file("/proc/sys/"+k, value)
	}
	r.dir("/sys/module")
	for name, params := range builtinModules() {
		for k, value := range params {
			r.file("/sys/module/"+name+"/parameters/"+k, value)
		}
	}
	for name, params := range s.software.modules {
		r.file("/sys/module/"+name+"/initstate", "live")
		for k, value := range params {
			r.file("/sys/module/"+name+"/parameters/"+k, value)
		}
	}
}

// sysctlPath is where a parameter stands below /proc/sys; sysctl(8): the first
// separator tells which one is meant.
func sysctlPath(key string) string {
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '.' {
		return strings.NewReplacer(".", "/", "/", ".").Replace(key)
	}
	return key
}

// sysctl is a part of procps's: sysctl [-n] KEY, sysctl [-q] -w KEY=VALUE.
func sysctl(x *call) int {
	opts, args, ok := x.options("nqw", long{"values": 'n', "quiet": 'q', "write": 'w'})
	if !ok || len(args) != 1 {
		return x.notSimulated(1)
	}
	key, value, sets := strings.Cut(args[0], "=")
	at := sysctlPath(key)
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	now, known := s.software.sysctls[at]
	switch {
	case !known:
		return x.fail(1, "sysctl: cannot stat /proc/sys/%s: No such file or directory", at)
	case sets && !x.user.root:
		return x.fail(1, "sysctl: permission denied on key \"%s\"", key)
	case sets && strings.TrimFunc(value, func(r rune) bool { return r >= '0' && r <= '9' || r == ' ' || r == '\t' }) != "":
		return x.fail(1, "sysctl: setting key \"%s\": Invalid argument", key)
	case sets:
		s.software.sysctls[at] = strings.Join(strings.Fields(value), "\t")
		now = value
	}
	switch {
	case opts.has('q') && sets:
	case opts.has('n'):
		fmt.Fprintln(x.stdout, now)
	default:
		fmt.Fprintf(x.stdout, "%s = %s\n", key, now)
	}
	return 0
}
