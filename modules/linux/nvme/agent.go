package nvme

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"weft/internal/agent"
	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// Agent keeps one of weft's agents on a server: the executable from weft's
// own bundle, and where the agent is a service its configuration and unit,
// enabled and running with exactly those.
type Agent struct {
	Name   string         // weft-target
	Bundle *bundle.Bundle `json:"-"` // where executables come from; nil when observed
	Config string         // text of agent.ConfigPath; "" where the agent is no service, or not there
	Unit   string         // text of agent.Unit; "" likewise
	Exact  bool           `json:",omitempty"` // Config is all that hosts are to get, as was observed; else agent_access ends what they get beyond it
	Yields []agent.Portal `json:"-"`          // that another engine takes over

	// Unassigned are addresses where TCP is in its class because no class of the fabric
	// says that it carries TCP: a portal there keeps the mark that it has.
	Unassigned []string       `json:"-"`
	keeps      []agent.Portal // those that do

	source *bundle.Bundle // where a restoration finds what its undo installs

	// Observed, and for Binary and Running* also what is wanted.
	Platform      string // "linux-amd64"
	Binary        string // SHA-256 of the executable; "" is not installed
	Enabled       bool
	Active        bool
	RunningBinary string // SHA-256 of what the running process was started from
	RunningConfig string // SHA-256 of the configuration it runs with

	stale  bool                 // it asks hosts for other keys than those in its files
	hosts  int                  // controllers that hosts have
	open   []agent.Portal       // that the running process has opened
	closed []agent.PortalStatus // and those that it could not open
}

// AgentKind is the kind agent.
func AgentKind() *host.Kind[Agent] {
	return &host.Kind[Agent]{
		Name: "agent", Additive: true,
		Looks: (*Agent).Looks, Parse: (*Agent).Parse, Diff: (*Agent).Diff, Steps: (*Agent).Steps, Absent: (*Agent).absent,
		Goal: (*Agent).Goal, Left: (*Agent).Left, Why: (*Agent).Why, From: (*Agent).from,
		Holds: (*Agent).Holds, Undo: (*Agent).Undo,
		Special: host.Special[Agent]{Degraded: (*Agent).degraded, Alone: (*Agent).Alone, Lost: (*Agent).Lost, Inherit: (*Agent).inherit},
	}
}

func (a *Agent) path() string { return agent.BinDir + "/" + a.Name }

type agentLooks struct{ uname, binary, config, unit, enabled, active, status remote.Look }

func (a *Agent) looks() agentLooks {
	return agentLooks{
		uname:   remote.Look{Args: []string{"uname", "-sm"}},
		binary:  remote.Look{File: a.path(), Sum: true, Root: true},
		config:  remote.Look{File: agent.ConfigPath, Root: true},
		unit:    remote.Look{File: agent.UnitPath + agent.Unit, Root: true},
		enabled: remote.Look{Args: []string{"systemctl", "is-enabled", agent.Unit}},
		active:  remote.Look{Args: []string{"systemctl", "is-active", agent.Unit}},
		status:  remote.Look{Args: []string{a.path(), "status", "--json"}, Root: true},
	}
}

// service reports whether a unit runs it, also where there is none at the time.
func (a *Agent) service() bool { return a.Name+".service" == agent.Unit }

func (a *Agent) Looks() []remote.Look {
	l := a.looks()
	if !a.service() {
		return []remote.Look{l.uname, l.binary}
	}
	return []remote.Look{see.SystemdLook(), l.uname, l.binary, l.config, l.unit, l.enabled, l.active, l.status}
}

func (a *Agent) Parse(s remote.Seen) (*Agent, error) {
	l := a.looks()
	out, err := see.Output(s, l.uname)
	if err != nil {
		return nil, err
	}
	have := &Agent{Name: a.Name, Platform: platform(string(out)), source: a.source, keeps: a.keeps, Exact: a.service()}
	if a.Bundle != nil {
		have.source = a.Bundle
	}
	exe, err := see.File(s, l.binary)
	if err != nil {
		return nil, err
	}
	have.Binary = exe.Sum // "" when it is not there
	if a.Bundle != nil {
		want, err := a.exe(have).Sum()
		if err == nil && have.Binary != want {
			_, err = a.executable(have) // which will be installed: here it is known whether it can be had
		}
		if err != nil {
			return nil, err
		}
	}
	if !a.service() {
		return have, nil
	}
	if err := see.Systemd(s); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		look remote.Look
		text *string
	}{{l.config, &have.Config}, {l.unit, &have.Unit}} {
		got, err := see.File(s, f.look)
		if err != nil {
			return nil, err
		}
		*f.text = string(got.Content)
	}
	have.Enabled = s.Of(l.enabled).Code == 0
	have.Active = s.Of(l.active).Code == 0
	if st := s.Of(l.status); have.Active && st.Code == 0 {
		var status agent.TargetStatus
		if err := json.Unmarshal(st.Content, &status); err != nil {
			return nil, fmt.Errorf("%s status --json: %w", a.path(), err)
		}
		have.RunningBinary, have.RunningConfig = status.Binary, status.Config
		have.stale, have.hosts = status.KeysChanged, status.Hosts()
		for _, p := range status.Portals {
			if p.Error == "" {
				have.open = append(have.open, p.Portal)
			} else {
				have.closed = append(have.closed, p)
			}
		}
	}
	return have, nil
}

// platform turns the answer of uname -sm into Go's words.
func platform(uname string) string {
	system, machine, _ := strings.Cut(strings.TrimSpace(strings.ToLower(uname)), " ")
	switch machine {
	case "x86_64":
		machine = "amd64"
	case "aarch64":
		machine = "arm64"
	}
	return system + "-" + machine
}

func (a *Agent) from(b *bundle.Bundle) { a.source = b }

// executable puts what must be installed on the platform that was observed. That it
// can be had is known then, and it is unpacked when it is put.
func (a *Agent) executable(have *Agent) (remote.Step, error) {
	size, unpack, err := a.exe(have).Packed()
	return remote.Step{Put: &remote.File{Path: a.path(), Mode: 0o755, Unpack: unpack, Size: size}}, err
}

// exe is what stands for it in the bundle, for the platform that was observed.
func (a *Agent) exe(have *Agent) bundle.Executable {
	return bundle.Executable{From: cmp.Or(a.Bundle, a.source), Platform: have.Platform, Name: a.Name}
}

// Goal: what weft installs says which bytes it will be.
func (a *Agent) Goal(have *Agent) *Agent {
	sum, _ := a.exe(have).Sum() // Parse has refused platforms without one
	g := *a
	g.Bundle, g.Platform, g.Binary, g.Yields = nil, have.Platform, sum, nil
	if a.service() {
		g.Enabled, g.Active, g.RunningBinary, g.RunningConfig = true, true, sum, put.Sum(a.Config)
	}
	return &g
}

// absent is the server without it.
func (a *Agent) absent() *Agent { return &Agent{Name: a.Name, Platform: a.Platform, source: a.source} }

func (a *Agent) Diff(have *Agent) []plan.Change {
	a = a.toward(have)
	want := a.Binary
	if a.Bundle != nil {
		want, _ = a.exe(have).Sum() // Parse has refused platforms without one
	}
	out := plan.Changed("binary", put.Short(have.Binary), put.Short(want), plan.ImpactNone)
	if !a.service() && !have.service() {
		return out
	}
	impact := plan.ImpactTraffic // it restarts
	if have.runs(a.Unit, want) && have.reloads(a.Config, true) {
		impact = plan.ImpactNone
	}
	out = append(out, put.FileChanges("config", have.Config, a.Config, agent.Attributes, impact)...)
	out = append(out, put.FileChanges("unit", have.Unit, a.Unit, put.UnitSettings, plan.ImpactTraffic)...) // it restarts
	out = append(out, plan.Changed("enabled", have.Enabled, a.wants(a.Enabled), plan.ImpactNone)...)
	out = append(out, plan.Changed("active", have.Active, a.wants(a.Active), plan.ImpactTraffic)...)
	if have.Active && a.wants(a.Active) {
		out = append(out, plan.Changed("running.binary", put.Short(have.RunningBinary), put.Short(want), plan.ImpactTraffic)...)
		if have.stale {
			out = append(out, plan.Change{Path: "running.keys", Before: "of before", After: "as in the files"})
		}
		if have.RunningConfig != put.Sum(a.Config) {
			out = append(out, plan.Change{Path: "running.config", Before: "other than declared", After: "as declared", Impact: impact})
		}
	}
	return out
}

// wants is what is wanted of enabled and active: both, unless a is an
// observation that is to be restored.
func (a *Agent) wants(observed bool) bool { return a.Bundle != nil || observed }

// Steps: the executable that is replaced stays beside the new
// one as NAME.previous, which is what undo puts back.
func (a *Agent) Steps(have *Agent) []remote.Step {
	a = a.toward(have)
	if a.Bundle == nil {
		return a.restore(have)
	}
	want, _ := a.exe(have).Sum()
	var steps []remote.Step
	if have.Binary != want {
		if have.Binary != "" {
			steps = append(steps, host.Run("cp", "-p", a.path(), a.path()+".previous"))
		}
		exe, _ := a.executable(have) // Parse has refused one that cannot be had
		steps = append(steps, exe)
	}
	if !a.service() {
		return steps
	}
	if have.Config != a.Config {
		steps = append(steps, put.File(agent.ConfigPath, 0o600, []byte(a.Config)))
	}
	if have.Unit != a.Unit {
		steps = append(steps, put.File(agent.UnitPath+agent.Unit, 0o644, []byte(a.Unit)), host.Run("systemctl", "daemon-reload"))
	}
	if !have.Enabled { // links need no other look at all units
		steps = append(steps, host.Run("systemctl", "enable", "--no-reload", agent.Unit))
	}
	switch {
	case !have.runs(a.Unit, want):
	case have.Config == a.Config && have.RunningConfig == put.Sum(a.Config) && !have.stale:
		return steps // it serves as wanted
	case have.reloads(a.Config, false):
		return append(steps, host.Run(a.path(), "reload")) // hosts stay connected
	}
	return append(steps, a.again(have)...)
}

// restore leads back to what was observed before.
func (a *Agent) restore(now *Agent) []remote.Step {
	var steps []remote.Step
	service := now.service() || a.service()
	if service && !a.Active {
		steps = append(steps, host.Run("systemctl", "stop", agent.Unit))
	}
	if service && !a.Enabled {
		steps = append(steps, host.Run("systemctl", "disable", agent.Unit))
	}
	ours, _ := a.exe(a).Sum()
	installed := now.Binary
	if now.Bundle != nil {
		installed = ours
	}
	exe, err := remote.Step{}, error(nil)
	if a.Binary != installed && a.Binary == ours {
		exe, err = a.executable(a)
	}
	switch {
	case a.Binary == installed:
	case a.Binary == "":
		steps = append(steps, remote.Step{Del: a.path()}, remote.Step{Del: a.path() + ".previous"})
	case err == nil && ours == a.Binary:
		steps = append(steps, exe)
	default:
		steps = append(steps, host.Run("mv", "-f", a.path()+".previous", a.path()))
	}
	if service {
		steps = append(steps, put.Back(agent.ConfigPath, 0o600, a.Config),
			put.Back(agent.UnitPath+agent.Unit, 0o644, a.Unit), host.Run("systemctl", "daemon-reload"))
	}
	if service && a.Enabled && !now.wants(now.Enabled) {
		steps = append(steps, host.Run("systemctl", "enable", "--no-reload", agent.Unit))
	}
	switch {
	case !service || !a.Active:
	case a.Binary == installed && a.RunningBinary == installed && now.Unit == a.Unit && now.reloads(a.Config, false):
		steps = append(steps, host.Run(a.path(), "reload"))
	default:
		steps = append(steps, host.Run("systemctl", "restart", agent.Unit))
		if a.hosts > 0 {
			steps = append(steps, a.returning(a.hosts))
		}
	}
	return steps
}

// degraded reports whether portals are closed although hosts reach the others.
func (a *Agent) degraded() bool { return len(a.closed) > 0 && len(a.unreached()) == 0 }

// Left: a weft-target without RDMA serves what it can.
func (a *Agent) Left() string {
	if len(a.closed) == 0 {
		return a.keptMarks()
	}
	if list := a.unreached(); len(list) > 0 {
		return shut(list)
	}
	return fmt.Sprintf("DEGRADED: %d portals of %s are not open: %s", len(a.closed), strings.ToUpper(a.closed[0].Transport), a.closed[0].Error)
}

func (a *Agent) Why() []string {
	if !a.service() {
		return nil
	}
	return see.StatusOf(agent.Unit)
}
