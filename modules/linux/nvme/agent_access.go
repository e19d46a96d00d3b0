package nvme

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// AgentAccess ends what weft-target gives hosts beyond what is declared: names that a
// subsystem admits, and portals at an address that it listens on otherwise. The kind agent
// only adds, so that hosts have their new connections before this ends the old ones.
type AgentAccess struct {
	Config string // as declared
	Extra  string `json:",omitempty"` // the configuration that gives more; "": none does

	Yields     []agent.Portal `json:"-"` // that another engine takes over
	Unassigned []string       `json:"-"` // see Agent
}

// AgentAccessKind is the kind agent_access.
func AgentAccessKind() *host.Kind[AgentAccess] {
	return &host.Kind[AgentAccess]{
		Name: "agent_access", Lasting: true, Fleeting: true,
		Looks: (*AgentAccess).Looks, Parse: (*AgentAccess).Parse, Diff: (*AgentAccess).Diff, Steps: (*AgentAccess).Steps, Why: (*AgentAccess).Why,
		Special: host.Special[AgentAccess]{Inherit: (*AgentAccess).inherit},
	}
}

// inherit has the configuration keep the marks that the one of the agent keeps.
func (a *AgentAccess) inherit(entries []plan.Entry) {
	of := &Agent{Name: "weft-target", Config: a.Config, Unassigned: a.Unassigned}
	of.inherit(entries)
	a.Config = of.Config
}

func configLook() remote.Look { return remote.Look{File: agent.ConfigPath, Root: true} }

func (a *AgentAccess) Looks() []remote.Look { return []remote.Look{configLook()} }

func (a *AgentAccess) Parse(s remote.Seen) (*AgentAccess, error) {
	got, err := see.File(s, configLook())
	if err != nil {
		return nil, err
	}
	have := &AgentAccess{Config: a.Config}
	if text := beside(a.Config, string(got.Content), a.Yields); text != a.Config {
		have.Extra = text
	}
	return have, nil
}

func (a *AgentAccess) Diff(have *AgentAccess) (out []plan.Change) {
	is, want := have.extras(), a.extras()
	all := maps.Clone(is)
	maps.Copy(all, want)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		out = append(out, plan.Changed(path, is[path], want[path], plan.ImpactTraffic)...)
	}
	return out
}

// extras are what is given beyond what is declared, in words.
func (a *AgentAccess) extras() map[string]string {
	out := map[string]string{}
	to, err := agent.ParseTarget([]byte(a.Config))
	was, err2 := agent.ParseTarget([]byte(a.Extra))
	if err != nil || err2 != nil || a.Extra == "" {
		return out
	}
	for _, p := range was.Portals {
		if !listensAt(to.Portals, p) {
			out["portal."+p.Transport+"-"+p.Address] = "open"
		}
	}
	for _, s := range to.Subsystems {
		for _, w := range was.Subsystems {
			for _, h := range w.AllowHosts {
				if w.NQN == s.NQN && !slices.Contains(s.AllowHosts, h) {
					out["allow_hosts."+s.NQN+"."+h] = "admitted"
				}
			}
		}
	}
	return out
}

func (a *AgentAccess) Steps(have *AgentAccess) []remote.Step {
	if a.Extra == have.Extra {
		return nil
	}
	return []remote.Step{
		put.File(agent.ConfigPath, 0o600, []byte(cmp.Or(a.Extra, a.Config))),
		host.Run(agent.TargetBin, "reload"),
	}
}

func (a *AgentAccess) Why() []string { return see.StatusOf(agent.Unit) }

// toward is what is wanted while hosts may still use what have gives them.
func (a *Agent) toward(have *Agent) *Agent {
	if a.Exact || !a.service() {
		return a
	}
	g := *a
	g.Config = beside(a.Config, have.Config, a.Yields)
	return &g
}

// beside is the configuration want with what the one that is there gives hosts of its
// subsystems beyond that. Portals that are yielded go to another engine at once.
func beside(want, have string, yields []agent.Portal) string {
	to, err := agent.ParseTarget([]byte(want))
	was, err2 := agent.ParseTarget([]byte(have))
	if err != nil || err2 != nil || want == "" || have == "" {
		return want
	}
	out := withAccess(to, was, yields)
	switch text, err := out.Marshal(); {
	case err != nil, out.Validate() != nil, same(out, to):
		return want
	case same(out, was):
		return have // in another order
	default:
		return string(text)
	}
}

func withAccess(to, was *agent.Target, yields []agent.Portal) *agent.Target {
	out := *to
	out.Portals, out.Subsystems = slices.Clone(to.Portals), slices.Clone(to.Subsystems)
	for _, p := range was.Portals {
		stays := slices.ContainsFunc(to.Portals, func(o agent.Portal) bool { return ip(o) == ip(p) })
		if stays && !listensAt(to.Portals, p) && !listensAt(yields, p) {
			out.Portals = append(out.Portals, p)
		}
	}
	for i := range out.Subsystems {
		s := &out.Subsystems[i]
		at := slices.IndexFunc(was.Subsystems, func(w agent.Subsystem) bool { return w.NQN == s.NQN })
		if at < 0 {
			continue
		}
		w := was.Subsystems[at]
		gone := func(h string) bool { return slices.Contains(w.AllowHosts, h) && !slices.Contains(s.AllowHosts, h) }
		auth := slices.DeleteFunc(slices.Clone(w.Auth), func(k agent.Auth) bool { return !gone(k.Host) })
		tls := slices.DeleteFunc(slices.Clone(w.TLS), func(k agent.TLS) bool { return !gone(k.Host) })
		hosts := slices.DeleteFunc(slices.Clone(w.AllowHosts), func(h string) bool { return !gone(h) })
		s.Auth, s.TLS, s.AllowHosts = slices.Concat(s.Auth, auth), slices.Concat(s.TLS, tls), slices.Concat(s.AllowHosts, hosts)
		if len(s.Portals) == 0 {
			continue
		}
		s.Portals = slices.Clone(s.Portals)
		for _, p := range out.Portals {
			if w.ServedAt(p.Address) && slices.ContainsFunc(was.Portals, p.Same) && !slices.Contains(s.Portals, p.Address) {
				s.Portals = append(s.Portals, p.Address)
			}
		}
	}
	return &out
}

func ip(p agent.Portal) netip.Addr {
	a, _ := netip.ParseAddrPort(p.Address) // what is not valid is no portal
	return a.Addr()
}

// listensAt reports whether one of the portals has that transport and address, which only
// one can.
func listensAt(list []agent.Portal, p agent.Portal) bool {
	return slices.ContainsFunc(list, func(o agent.Portal) bool { return o.Transport == p.Transport && o.Address == p.Address })
}

// same reports whether two configurations mean the same, in whatever order.
func same(a, b *agent.Target) bool {
	one, err := ordered(a).Marshal()
	two, err2 := ordered(b).Marshal()
	return err == nil && err2 == nil && bytes.Equal(one, two)
}

func ordered(t *agent.Target) *agent.Target {
	out := *t
	out.Portals, out.Subsystems = sortedBy(t.Portals), slices.Clone(t.Subsystems)
	for i := range out.Subsystems {
		s := &out.Subsystems[i]
		s.AllowHosts, s.Portals = slices.Sorted(slices.Values(s.AllowHosts)), slices.Sorted(slices.Values(s.Portals))
		s.Auth, s.TLS, s.Namespaces = sortedBy(s.Auth), sortedBy(s.TLS), sortedBy(s.Namespaces)
	}
	slices.SortFunc(out.Subsystems, func(x, y agent.Subsystem) int { return strings.Compare(x.NQN, y.NQN) })
	return &out
}

func sortedBy[E any](list []E) []E {
	return slices.SortedFunc(slices.Values(list), func(x, y E) int { return strings.Compare(fmt.Sprintf("%+v", x), fmt.Sprintf("%+v", y)) })
}
