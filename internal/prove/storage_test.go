package prove

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/inventory"
)

// A connection serves, gives no storage, is missing, or is not known; while a rollout is under
// way one that is missing may be to come.
func TestStorage(t *testing.T) {
	sub := &inventory.Subsystem{Name: "data", NQN: "nqn.x"}
	target := &inventory.Target{Block: inventory.Block{Addr: "target.t"}, Subsystems: []*inventory.Subsystem{sub}}
	server := &inventory.Server{Block: inventory.Block{Addr: "server.c"}}
	m := &inventory.Model{Targets: []*inventory.Target{target}, Servers: []*inventory.Server{server},
		Initiators: []*inventory.Initiator{{Block: inventory.Block{Addr: "initiator.c"}, Engine: "kernel", Server: server, Connects: []*inventory.Connect{{To: []*inventory.Target{target}}}}}}
	for name, test := range map[string]struct {
		has     Attached
		err     error
		rollout bool
		want    string
	}{
		"serves":                 {has: Attached{Live: map[string]int{"nqn.x": 1}, Idle: []Idle{{"nqn.x", "nvme1 is connected, and no disk came of it"}}}, want: "pass"},
		"no storage":             {has: Attached{Live: map[string]int{"nqn.x": 0}, Idle: []Idle{{"nqn.x", "no disk came of it"}}}, want: "fail no disk came of it"},
		"no storage, under way":  {has: Attached{Live: map[string]int{}, Idle: []Idle{{"nqn.x", "no disk came of it"}}}, rollout: true, want: "fail no disk came of it"},
		"of another subsystem":   {has: Attached{Live: map[string]int{}, Idle: []Idle{{"nqn.y", "no disk came of it"}}}, want: "fail it has no live connection to nqn.x"},
		"missing":                {has: Attached{Live: map[string]int{}}, want: "fail it has no live connection to nqn.x"},
		"missing, and under way": {has: Attached{Live: map[string]int{}}, rollout: true, want: ""},
		"not read":               {err: errors.New("sudo: a password is required"), want: "not measured its connections could not be read: sudo: a password is required"},
	} {
		in := Input{Model: m, Host: func(context.Context, *inventory.Server) (remote.Host, error) { return nil, nil },
			Attached: func(context.Context, remote.Host, *inventory.Initiator) (*Attached, error) {
				return &test.has, test.err
			}}
		if test.rollout {
			in.There = func(*inventory.Server, *inventory.Target) bool { return true }
		}
		got := ""
		for _, j := range (&run{in: in, hosts: hosts{dial: in.Host}}).storage(t.Context()) {
			got += string(j.Verdict) + " " + j.Why
		}
		if strings.TrimSpace(got) != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
