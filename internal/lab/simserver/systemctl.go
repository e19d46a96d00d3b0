//go:build unix

package simserver

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"weft/internal/slice"
)

// systemctl is a part of systemd's.
func systemctl(x *call) int {
	opts, rest, ok := x.options("p:qn:l", long{"property": 'p', "now": 'N', "value": 'V', "quiet": 'q',
		"no-pager": 'P', "no-block": 'B', "full": 'l', "lines": 'n', "no-ask-password": 'A', "no-reload": 'R', "system": 'S', "wait": 'W'})
	if !ok || opts.has('B') || opts.has('W') && (len(rest) == 0 || rest[0] != "is-system-running") {
		return x.notSimulated(1)
	}
	if len(rest) == 0 {
		return x.notSimulated(1)
	}
	c := &systemctlCall{call: x, opts: opts, verb: rest[0]}
	if len(rest) == 2 && strings.HasSuffix(rest[1], ".timer") {
		return x.aboutTimer(rest[0], rest[1], opts.has('q'))
	}
	c.units = slice.Map(rest[1:], unitName)
	switch c.verb {
	case "is-active", "is-failed", "is-enabled", "show", "status", "cat":
		return c.look()
	case "daemon-reload", "start", "stop", "restart", "try-restart", "reload", "enable", "disable", "reset-failed":
		return c.change()
	case "reboot", "is-system-running":
		return c.whole()
	}
	return x.notSimulated(1)
}

type systemctlCall struct {
	*call
	opts  options
	verb  string
	units []string
}

func (c *systemctlCall) say(format string, args ...any) {
	fmt.Fprintf(c.stderr, format+"\n", args...)
}

// look answers verbs that change nothing.
func (c *systemctlCall) look() int {
	status := 0
	for _, name := range c.units {
		u := c.server.load(name)
		var s int
		switch c.verb {
		case "is-active":
			s = c.state(u, 3, "active")
		case "is-failed":
			s = c.state(u, 1, "failed")
		case "is-enabled":
			s = c.isEnabled(u, name)
		case "show":
			s = c.show(u, name)
		case "status":
			s = c.status(u, name)
		case "cat":
			s = c.cat(name)
		}
		status = max(status, s)
	}
	return status
}

// active is how a unit is now.
func (s *Server) active(u *unit) string {
	if u == nil {
		return "inactive"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return u.active
}

func (c *systemctlCall) state(u *unit, otherwise int, wanted string) int {
	is := c.server.active(u)
	if !c.opts.has('q') {
		fmt.Fprintln(c.stdout, is)
	}
	switch {
	case is == wanted:
		return 0
	case u == nil:
		return 4
	}
	return otherwise
}

func (c *systemctlCall) isEnabled(u *unit, name string) int {
	state, status := "disabled", 1
	switch {
	case u == nil:
		return c.fail(1, "Failed to get unit file state for %s: No such file or directory", name)
	case c.server.enabled(u):
		state, status = "enabled", 0
	case u.service != nil && len(u.service.wantedBy) == 0:
		state, status = "static", 0
	}
	if !c.opts.has('q') {
		fmt.Fprintln(c.stdout, state)
	}
	return status
}

// show prints properties, in an order of its own as the real one does.
func (c *systemctlCall) show(u *unit, name string) int {
	known := c.properties(u, name)
	var wanted []string
	for _, p := range c.opts['p'] {
		wanted = append(wanted, strings.Split(p, ",")...)
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(known, func(p [2]string) bool { return p[0] == w }) {
			return c.errorf("property %s: not simulated in the lab", w)
		}
	}
	for _, p := range known {
		switch {
		case len(wanted) > 0 && !slices.Contains(wanted, p[0]):
		case c.opts.has('V'):
			fmt.Fprintln(c.stdout, p[1])
		default:
			fmt.Fprintf(c.stdout, "%s=%s\n", p[0], p[1])
		}
	}
	return 0
}

func (c *systemctlCall) properties(u *unit, name string) [][2]string {
	if u == nil {
		return [][2]string{{"Id", name}, {"LoadState", "not-found"}, {"ActiveState", "inactive"}, {"SubState", "dead"},
			{"UnitFileState", ""}, {"FragmentPath", ""}, {"NeedDaemonReload", "no"}, {"MainPID", "0"}, {"NRestarts", "0"},
			{"Result", "success"}, {"ExecMainStatus", "0"}}
	}
	enabled, stale := "disabled", "no"
	if c.server.enabled(u) {
		enabled = "enabled"
	}
	if c.server.stale(u) {
		stale = "yes"
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	sub, pid := "dead", 0
	switch u.active {
	case "active":
		sub = "exited"
	case "failed":
		sub = "failed"
	case "activating":
		sub = "start"
	}
	if u.proc != nil {
		pid = u.proc.cmd.Process.Pid
		if u.active == "active" {
			sub = "running"
		}
	}
	return [][2]string{{"Id", name}, {"LoadState", "loaded"}, {"ActiveState", u.active}, {"SubState", sub},
		{"UnitFileState", enabled}, {"FragmentPath", unitDir + "/" + name}, {"NeedDaemonReload", stale},
		{"MainPID", strconv.Itoa(pid)}, {"NRestarts", "0"}, {"Result", u.result}, {"ExecMainStatus", strconv.Itoa(u.status)}}
}

// status is for people: the state and the end of the journal.
func (c *systemctlCall) status(u *unit, name string) int {
	if u == nil {
		return c.fail(4, "Unit %s could not be found.", name)
	}
	for _, p := range c.properties(u, name) {
		fmt.Fprintf(c.stdout, "%18s: %s\n", p[0], p[1])
	}
	fmt.Fprintln(c.stdout)
	c.journalTail(name, 10)
	if c.server.active(u) != "active" {
		return 3
	}
	return 0
}

func (c *systemctlCall) cat(name string) int {
	data, err := c.server.unitFile(name)
	if err != nil {
		return c.fail(1, "No files found for %s.", name)
	}
	fmt.Fprintf(c.stdout, "# %s/%s\n%s", unitDir, name, data)
	return 0
}

// change answers verbs that need root.
func (c *systemctlCall) change() int {
	if !c.user.root {
		return c.fail(4, "Failed to %s: Interactive authentication required.", c.verb)
	}
	c.server.jobs.Lock()
	defer c.server.jobs.Unlock()
	if c.verb == "daemon-reload" {
		if len(c.units) > 0 {
			return c.notSimulated(1)
		}
		c.server.daemonReload()
		return 0
	}
	if len(c.units) == 0 {
		return c.fail(1, "Too few arguments.")
	}
	status := 0
	for _, name := range c.units {
		status = max(status, c.changeUnit(name))
	}
	return status
}

func (c *systemctlCall) changeUnit(name string) int {
	u := c.server.load(name)
	if u == nil {
		return c.unknown(name)
	}
	switch c.verb {
	case "enable", "disable":
		if status := c.enable(u, c.verb == "enable"); status != 0 || !c.opts.has('N') {
			return status
		}
		if c.verb == "disable" {
			c.server.stopUnit(u, stopPatience)
			return 0
		}
		return c.start(u)
	case "reset-failed":
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		if u.active == "failed" {
			u.active = "inactive"
		}
		return 0
	case "reload":
		return c.reload(u)
	}
	if c.server.stale(u) {
		c.say("Warning: The unit file, source configuration file or drop-ins of %s changed on disk. Run 'systemctl daemon-reload' to reload units.", name)
	}
	if c.verb == "try-restart" && c.server.active(u) != "active" {
		return 0
	}
	if c.verb != "start" {
		c.server.stopUnit(u, stopPatience)
	}
	if c.verb == "stop" {
		return 0
	}
	return c.start(u)
}

func (c *systemctlCall) unknown(name string) int {
	switch c.verb {
	case "enable":
		return c.fail(1, "Failed to enable unit: Unit file %s does not exist.", name)
	case "disable":
		return c.fail(1, "Failed to disable unit: Unit file %s does not exist.", name)
	case "start", "restart":
		c.say("Failed to %s %s: Unit %s not found.", c.verb, name, name)
	default:
		c.say("Failed to %s %s: Unit %s not loaded.", c.verb, name, name)
	}
	return 5
}

func (c *systemctlCall) start(u *unit) int {
	if err := c.server.startUnit(u); err != nil {
		return c.fail(1, "Job for %s failed: %v.\nSee \"systemctl status %s\" and \"journalctl -xeu %s\" for details.", u.name, err, u.name, u.name)
	}
	return 0
}

// enable makes or removes the links that start a unit at boot.
func (c *systemctlCall) enable(u *unit, on bool) int {
	if u.service == nil {
		return c.fail(1, "Failed to %s unit: %v", c.verb, u.broken)
	}
	v := c.server.rootView()
	if len(u.service.wantedBy) == 0 && on {
		c.say("The unit files have no installation config (WantedBy=, RequiredBy=, Also=,\nAlias= settings in the [Install] section, and DefaultInstance= for template\nunits). This means they are not meant to be enabled using systemctl.")
	}
	for _, target := range u.service.wantedBy {
		link := wants(target, u.name)
		if !on {
			err := v.Remove(link)
			if err == nil {
				c.say("Removed %q.", link)
			} else if !errors.Is(err, fs.ErrNotExist) {
				return c.fail(1, "Failed to disable unit: %v", err)
			}
			continue
		}
		err := v.MkdirAll(unitDir+"/"+target+".wants", 0o755)
		if err == nil {
			err = v.Symlink(unitDir+"/"+u.name, link)
		}
		switch {
		case err == nil:
			c.say("Created symlink %s → %s/%s.", link, unitDir, u.name)
		case !errors.Is(err, fs.ErrExist):
			return c.fail(1, "Failed to enable unit: %v", err)
		}
	}
	return 0
}

// reload sends the signal that ExecReload= names.
func (c *systemctlCall) reload(u *unit) int {
	s := c.server
	s.mu.Lock()
	proc, svc := u.proc, u.service
	s.mu.Unlock()
	switch {
	case proc == nil:
		return c.fail(1, "%s is not active, cannot reload.", u.name)
	case svc == nil || len(svc.reload) == 0:
		return c.fail(1, "Failed to reload %s: Job type reload is not applicable for unit %s.", u.name, u.name)
	case slices.Equal(svc.reload[1:], []string{"-HUP", "$MAINPID"}):
		proc.signal(syscall.SIGHUP)
		return 0
	}
	return c.fail(1, "ExecReload=%s: not simulated in the lab", strings.Join(svc.reload, " "))
}

// logger tells the journal a line.
func logger(x *call) int {
	opts, rest, ok := x.options("t:", long{"tag": 't'})
	if !ok || !opts.has('t') || len(rest) == 0 {
		return x.notSimulated(1)
	}
	f, err := x.server.journal("-" + opts.last('t'))
	if err == nil {
		_, err = fmt.Fprintln(f, strings.Join(rest, " "))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return x.errorf("%v", err)
	}
	return 0
}

// journalctl prints the end of a unit's output, or what logger was told with a tag.
func journalctl(x *call) int {
	opts, rest, ok := x.options("u:n:o:t:", long{"unit": 'u', "lines": 'n', "output": 'o', "no-pager": 'P', "identifier": 't'})
	if ok && len(rest) == 0 && opts.has('t') && !opts.has('u') && !opts.has('n') && opts.has('o') && opts.last('o') == "cat" {
		x.journalTail("-"+opts.last('t'), 1<<30)
		return 0
	}
	if ok = ok && !opts.has('t'); !ok || len(rest) > 0 || !opts.has('u') || opts.has('o') && opts.last('o') != "cat" {
		return x.notSimulated(1)
	}
	lines := 1 << 30
	if opts.has('n') {
		n, err := strconv.Atoi(opts.last('n'))
		if err != nil {
			return x.notSimulated(1)
		}
		lines = n
	}
	x.journalTail(unitName(opts.last('u')), lines)
	return 0
}
