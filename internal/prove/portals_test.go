package prove

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/inventory"
)

// Each transport of a target has its portal: the first is what was declared, and another
// one in its place is degraded, which the files may allow.
func TestPortals(t *testing.T) {
	const at = "10.0.0.1:4420"
	rdma, tcp := agent.Portal{Transport: "rdma", Address: at}, agent.Portal{Transport: "tcp", Address: at}
	open := func(p agent.Portal) agent.PortalStatus { return agent.PortalStatus{Portal: p} }
	closed := func(p agent.Portal) agent.PortalStatus { return agent.PortalStatus{Portal: p, Error: "no device"} }
	for name, test := range map[string]struct {
		transport []string
		fabric    string
		allow     bool
		have      []agent.PortalStatus
		want      string // verdict for each transport
		why       string // of the first that does not pass, or is degraded
	}{
		"RDMA":                      {[]string{"rdma"}, "rocev2", false, []agent.PortalStatus{open(rdma)}, "pass", ""},
		"RDMA alone, closed":        {[]string{"rdma"}, "rocev2", true, []agent.PortalStatus{closed(rdma), open(agent.Portal{Transport: "tcp", Address: "10.0.0.1:4421"})}, "fail", "it is closed: no device"},
		"both":                      {[]string{"rdma", "tcp"}, "rocev2", false, []agent.PortalStatus{open(tcp), open(rdma)}, "pass pass", ""},
		"TCP in place of RDMA":      {[]string{"rdma", "tcp"}, "rocev2", false, []agent.PortalStatus{closed(rdma), open(tcp)}, "fail pass", "it is closed, and TCP in its place is DEGRADED: no device; allow_degraded = true in target.t accepts that"},
		"which is allowed":          {[]string{"rdma", "tcp"}, "rocev2", true, []agent.PortalStatus{closed(rdma), open(tcp)}, "pass pass", "no device"},
		"nothing is open":           {[]string{"rdma", "tcp"}, "rocev2", true, []agent.PortalStatus{closed(rdma), closed(tcp)}, "fail fail", "it is closed: no device"},
		"the way back is closed":    {[]string{"rdma", "tcp"}, "rocev2", true, []agent.PortalStatus{open(rdma)}, "pass pass", "weft-target does not have it"},
		"TCP first":                 {[]string{"tcp", "rdma"}, "rocev2", false, []agent.PortalStatus{open(tcp), open(rdma)}, "pass pass", ""},
		"TCP first, RDMA closed":    {[]string{"tcp", "rdma"}, "rocev2", false, []agent.PortalStatus{open(tcp), closed(rdma)}, "pass fail", "it is closed: no device"},
		"a fabric of TCP":           {[]string{"rdma", "tcp"}, "tcp", false, []agent.PortalStatus{open(tcp)}, "pass", ""},
		"iWARP has the port of TCP": {[]string{"rdma", "tcp"}, "iwarp", false, []agent.PortalStatus{open(rdma)}, "pass", ""},
		"TCP has that of iWARP":     {[]string{"rdma", "tcp"}, "iwarp", true, []agent.PortalStatus{closed(rdma), open(tcp)}, "pass pass", "no device"},
	} {
		target := &inventory.Target{Block: inventory.Block{Addr: "target.t"}, Transport: test.transport, AllowDegraded: test.allow, Server: &inventory.Server{}}
		p := inventory.Portal{Address: netip.MustParseAddrPort(at), RNIC: &inventory.RNIC{Fabric: &inventory.Fabric{Transport: test.fabric}}}
		var verdicts []string
		why := ""
		res := &Result{Judgements: judgePortal(target, p, saying{status: &agent.TargetStatus{Portals: test.have}})}
		for _, j := range res.Judgements {
			verdicts = append(verdicts, string(j.Verdict))
			if why == "" {
				why = j.Why + j.Degraded
			}
		}
		if got := strings.Join(verdicts, " "); got != test.want || why != test.why {
			t.Errorf("%s: %s, %q", name, got, why)
		}
		if got := res.DegradedAllowed(); (got != "") != (test.allow && strings.HasPrefix(test.want, "pass") && test.why != "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Ports of the kernel's target are judged by transport too: each has to export all subsystems
// of the target, and to listen.
func TestKernelPortals(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.0.1:4420")
	port := func(transport string, nqns ...string) KernelPort {
		return KernelPort{Transport: transport, Address: at, NQNs: nqns}
	}
	deaf, unread := port("rdma", "nqn.a", "nqn.b"), port("rdma", "nqn.a", "nqn.b")
	deaf.Closed, unread.Unknown = "it does not listen", errors.New("no rdma")
	both := port("tcp", "nqn.a", "nqn.b", "nqn.other")
	for name, test := range map[string]struct {
		have []KernelPort
		err  error
		want string // verdict for each transport, and why the first is none
	}{
		"both":         {[]KernelPort{port("rdma", "nqn.a", "nqn.b"), both}, nil, "pass pass"},
		"no port":      {[]KernelPort{both}, nil, "fail pass: it is closed, and TCP in its place is DEGRADED: the kernel's target has no such port; allow_degraded = true in target.t accepts that"},
		"part of it":   {[]KernelPort{port("rdma", "nqn.a"), both}, nil, "fail pass: it is closed, and TCP in its place is DEGRADED: the port of the kernel's target does not export nqn.b; allow_degraded = true in target.t accepts that"},
		"deaf":         {[]KernelPort{deaf, both}, nil, "fail pass: it is closed, and TCP in its place is DEGRADED: it does not listen; allow_degraded = true in target.t accepts that"},
		"not known":    {[]KernelPort{unread, both}, nil, "inconclusive pass: no rdma"},
		"not answered": {nil, errors.New("timed out"), "inconclusive inconclusive: the kernel's target of server.s could not be read: timed out"},
		"none":         {nil, nil, "fail fail: it is closed: the kernel's target has no such port"},
	} {
		server := &inventory.Server{Block: inventory.Block{Addr: "server.s"}}
		target := &inventory.Target{Block: inventory.Block{Addr: "target.t"}, Engine: "nvmet", Transport: []string{"rdma", "tcp"}, Server: server,
			Subsystems: []*inventory.Subsystem{{NQN: "nqn.a"}, {NQN: "nqn.b"}}}
		target.Portals = []inventory.Portal{{Address: at, RNIC: &inventory.RNIC{Fabric: &inventory.Fabric{Transport: "rocev2"}}}}
		r := &run{in: Input{Model: &inventory.Model{Targets: []*inventory.Target{target}},
			KernelPorts: func(context.Context, *inventory.Server, remote.Host) ([]KernelPort, error) {
				return test.have, test.err
			}},
			hosts: hosts{dial: func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil }}}
		var verdicts []string
		why := ""
		for _, j := range r.portals(t.Context()) {
			verdicts = append(verdicts, string(j.Verdict))
			if why == "" && j.Why != "" {
				why = ": " + j.Why
			}
		}
		if got := strings.Join(verdicts, " ") + why; got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestDegradedAllowed(t *testing.T) {
	row := func(from string, degraded bool) *Row {
		return &Row{Initiator: from, Target: "target.t", Plane: "a", Degraded: degraded}
	}
	res := &Result{Rows: []*Row{row("a", true), row("a", true), row("b", false)}}
	if got := res.DegradedAllowed(); got != "degraded (allowed): 1 of 2 pairs over TCP in place of RDMA" {
		t.Error(got)
	}
	res.Judgements = []Judgement{{Validation: pathName, Metric: Transport, Verdict: Fail}}
	if got := res.DegradedAllowed(); got != "" {
		t.Error("it is allowed nowhere: " + got)
	}
}
