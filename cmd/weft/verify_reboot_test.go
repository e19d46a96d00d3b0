package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weft/plan"
)

func reboots(stdout, stderr io.Writer) *rebootCommand {
	p := newServices(nil, stdout, stderr, nil)
	return &rebootCommand{opts: p.opts, out: p.out, store: p.store, fabric: p.fabric, planner: p.planner}
}

// What came back, but not as it was wanted, is said.
func TestBackDegraded(t *testing.T) {
	var out bytes.Buffer
	id := plan.ID{Device: "server.one", Kind: "nvme_connection", Name: "nvme.data"}
	made := &plan.Plan{Devices: []plan.PlannedDevice{{Items: 7}}, Left: []plan.LeftAlone{
		{ID: id, Text: "DEGRADED: connected over TCP", Degraded: true}, {ID: id, Text: "described, not yet managed"},
	}}
	if err := reboots(&out, io.Discard).isBack(made, "server.one", time.Minute); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.Contains(got, "by itself: 7 settings") || !strings.Contains(got, "\n  ! server.one/nvme_connection.nvme.data is DEGRADED: connected over TCP\n") || strings.Contains(got, "managed") {
		t.Error(got)
	}
}

// What does not come back is waited for until its time is over, named once, and shown as
// the plan that would bring it back.
func TestNotBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 10*rebootPause + rebootPause/2
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var out, said bytes.Buffer
		c := reboots(&out, &said)
		id := plan.ID{Device: "server.one", Kind: "service", Name: "chrony"}
		made := &plan.Plan{Devices: []plan.PlannedDevice{{Address: "server.one", Items: 7}}, Steps: []plan.PlannedStep{{ID: id}}}
		begun, looks := time.Now(), 0
		err := c.comesBack(ctx, func(context.Context) (*plan.Plan, error) { looks++; return made, nil }, []string{"server.one"}, begun)
		if coded := new(codeError); !errors.As(err, &coded) || coded.code != exitFailed || err.Error() != "not everything came back by itself" || time.Since(begun) != patience || looks != 11 {
			t.Errorf("%v after %s and %d looks", err, time.Since(begun), looks)
		}
		if n := strings.Count(said.String(), "not back yet: server.one/service.chrony"); n != 1 {
			t.Errorf("it is named %d times:\n%s", n, said.String())
		}
		if !strings.Contains(out.String(), "chrony") {
			t.Errorf("the plan is\n%s", out.String())
		}
	})
}

// What a weft that was killed has left keeps no server from being restarted; anything else
// that is to do does.
func TestLeftIsNothingDeclared(t *testing.T) {
	for paths, want := range map[string]bool{"": true, "lease": true, "lease uploads": true, "lease revert": false, "roster": false, "value": false} {
		made := &plan.Plan{}
		if paths != "" {
			step := plan.PlannedStep{ID: plan.ID{Device: "server.a", Kind: plan.LedgerKind, Name: "roster"}}
			if paths == "value" {
				step.ID.Kind = "sysctl"
			}
			for _, p := range strings.Fields(paths) {
				step.Changes = append(step.Changes, plan.Change{Path: p})
			}
			made.Steps = append(made.Steps, step)
		}
		if converged(made) != want {
			t.Errorf("%q: not %v", paths, want)
		}
	}
}
