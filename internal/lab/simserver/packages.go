//go:build unix

package simserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// dpkgQuery answers dpkg-query -W -f FORMAT NAME for the format that shows
// state and version.
func dpkgQuery(x *call) int {
	opts, args, ok := x.options("Wf:", long{"show": 'W', "showformat": 'f'})
	if !ok || !opts.has('W') || len(args) != 1 || opts.last('f') != `${db:Status-Status} ${Version}\n` {
		return x.notSimulated(2)
	}
	version, _ := x.server.installed(args[0])
	if version == "" {
		return x.errorf("no packages found matching %s", args[0])
	}
	fmt.Fprintf(x.stdout, "installed %s\n", version)
	return 0
}

// aptGet is a part of apt's: apt-get … install NAME[=VERSION].
func aptGet(x *call) int {
	opts, args, ok := x.options("qyo:", long{"no-install-recommends": 'R', "no-remove": 'M', "allow-downgrades": 'D', "option": 'o', "quiet": 'q', "yes": 'y'})
	if !ok || len(args) != 2 || args[0] != "install" || !opts.has('y') {
		return x.notSimulated(100)
	}
	if !x.user.root {
		return x.fail(100, "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)")
	}
	if x.server.packagesLocked() {
		fmt.Fprintln(x.stderr, "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)\n"+
			"N: Be aware that removing the lock file is not a solution and may break your system.\n"+
			"E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?")
		return 100
	}
	name, version, pinned := strings.Cut(args[1], "=")
	has, known := repository()[name]
	switch is, held := x.server.installed(name); {
	case held && is != has[0]:
		return x.fail(100, "E: Held packages were changed and -y was used without --allow-change-held-packages.")
	case !known:
		return x.fail(100, "E: Unable to locate package %s", name)
	case pinned && version != has[0]:
		return x.fail(100, "E: Version '%s' for '%s' was not found", version, name)
	}
	return x.unpack(name, has)
}

func (x *call) unpack(name string, has [2]string) int {
	s := x.server
	if has[1] != "" {
		unit := "[Unit]\nDescription=" + name + " (SIMULATED)\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
		if err := s.rootView().WriteFile(unitDir+"/"+has[1], []byte(unit), 0o644); err != nil {
			return x.fail(100, "dpkg: error processing archive %s: %s", name, strerror(err))
		}
		s.daemonReload()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.software.packages = maps.Clone(s.software.packages)
	s.software.packages[name] = has[0]
	return 0
}

// dpkg is a part of dpkg's: dpkg --remove NAME.
func dpkg(x *call) int {
	opts, args, ok := x.options("r", long{"remove": 'r'})
	if !ok || !opts.has('r') || len(args) != 1 {
		return x.notSimulated(2)
	}
	if !x.user.root {
		return x.errorf("error: requested operation requires superuser privilege")
	}
	if x.server.packagesLocked() {
		x.errorf("error: dpkg frontend lock was locked by another process with pid 4711")
		return 2
	}
	return x.removePackage(args[0])
}

func (x *call) removePackage(name string) int {
	s := x.server
	s.mu.Lock()
	delete(s.software.packages, name)
	s.mu.Unlock()
	if unit := repository()[name][1]; unit != "" {
		_ = s.rootView().Remove(unitDir + "/" + unit) // removed by hand before
		s.daemonReload()
	}
	return 0
}

// aptMark is a part of apt's: apt-mark hold NAME, unhold NAME, showhold.
func aptMark(x *call) int {
	switch {
	case len(x.args) == 1 && x.args[0] == "showhold":
		x.server.mu.Lock()
		defer x.server.mu.Unlock()
		for _, name := range slices.Sorted(maps.Keys(x.server.software.held)) {
			fmt.Fprintln(x.stdout, name)
		}
		return 0
	case len(x.args) != 2 || x.args[0] != "hold" && x.args[0] != "unhold":
		return x.notSimulated(1)
	case !x.user.root:
		return x.fail(100, "E: Unable to write to /var/lib/dpkg/")
	}
	x.server.mu.Lock()
	defer x.server.mu.Unlock()
	if delete(x.server.software.held, x.args[1]); x.args[0] == "hold" {
		x.server.software.held[x.args[1]] = true
	}
	return 0
}

// rpm is a part of rpm's: rpm -q --qf FORMAT NAME for the format that shows
// state and version, and rpm -e NAME.
func rpm(x *call) int {
	opts, args, ok := x.options("qef:", long{"query": 'q', "erase": 'e', "qf": 'f', "queryformat": 'f'})
	const format = `installed %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n`
	if !ok || len(args) != 1 || opts.has('q') == opts.has('e') || opts.has('q') && opts.last('f') != format {
		return x.notSimulated(1)
	}
	version, _ := x.server.installed(args[0])
	switch {
	case opts.has('q') && version == "":
		fmt.Fprintf(x.stdout, "package %s is not installed\n", args[0])
		return 1
	case opts.has('q'):
		fmt.Fprintf(x.stdout, "installed %s\n", version)
		return 0
	case !x.user.root:
		return x.fail(1, "error: can't create transaction lock on /usr/lib/sysimage/rpm/.rpm.lock (Permission denied)")
	case version == "":
		return x.fail(1, "error: package %s is not installed", args[0])
	}
	return x.removePackage(args[0])
}

// dnf is a part of dnf's: dnf -y install NAME[-VERSION].
func dnf(x *call) int {
	opts, args, ok := x.options("qy", long{"quiet": 'q', "assumeyes": 'y'})
	if !ok || len(args) != 2 || args[0] != "install" || !opts.has('y') {
		return x.notSimulated(1)
	}
	if !x.user.root {
		return x.fail(1, "Error: This command has to be run with superuser privileges (under the root user on most systems).")
	}
	for name, has := range repository() {
		if args[1] == name || args[1] == name+"-"+has[0] {
			return x.unpack(name, has)
		}
	}
	return x.fail(1, "Error: Unable to find a match: %s", args[1])
}

// LockPackages lets another package tool be at work, or not.
func (s *Server) LockPackages(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.software.locked = on
}

func (s *Server) packagesLocked() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.software.locked
}

// installed is the version of a package, "" where it is not there, and whether
// it is held.
func (s *Server) installed(name string) (version string, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.software.packages[name], s.software.held[name]
}

// bears reports whether the server has a tool of a package. Which package tools: a file
// that all systems with dnf have tells that.
func (s *Server) bears(name string) bool {
	switch name {
	case "apt-get", "apt-mark", "dpkg", "dpkg-query":
		return !s.redHat()
	case "dnf", "rpm":
		return s.redHat()
	case "lldpcli", "smpquery":
		version, _ := s.installed(map[string]string{"lldpcli": "lldpd", "smpquery": "infiniband-diags"}[name])
		return version != ""
	}
	return true
}

func (s *Server) redHat() bool {
	_, err := s.rootView().Stat("/etc/redhat-release")
	return err == nil
}
