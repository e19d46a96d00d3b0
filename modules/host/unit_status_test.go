package host

import (
	"errors"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/internal/remote/remotetest"
	"weft/plan"
)

const unitStatus = "● x.service\n   Active: failed (Result: exit-code)"

// unit is a replayed server whose unit x.service answers a start like that.
func unit(t *testing.T, start remotetest.Reply) *remotetest.Replay {
	r := machine(t)
	r.Commands["test -d /run/systemd/system"] = remotetest.Reply{}
	r.Commands["systemctl show -p LoadState,ActiveState,SubState,UnitFileState x.service"] =
		remotetest.Reply{Stdout: "LoadState=loaded\nActiveState=inactive\nSubState=dead\nUnitFileState=enabled\n"}
	r.Commands["systemctl start x.service"] = start
	r.Commands["systemctl status --no-pager --full --lines=10 x.service"] = remotetest.Reply{Stdout: unitStatus + "\n", Code: 3}
	return r
}

// A unit that does not start, or does not stay, shows its status.
func TestUnitsShowTheirStatus(t *testing.T) {
	no := new(plan.RefusedError)

	d := replayed(unit(t, remotetest.Reply{Stderr: "Job for x.service failed.\n", Code: 1}))
	s := begun(t, d, wished(t, d, "service", `{"Unit":"x.service","Enabled":true,"Running":true}`))[0]
	err := d.Apply(t.Context(), s)
	if !errors.As(err, &no) || no.Line != "$ systemctl start x.service" || no.Reply != "exit 1: Job for x.service failed.\n"+unitStatus {
		t.Errorf("%v", err)
	}

	d = replayed(unit(t, remotetest.Reply{}))
	s = begun(t, d, wished(t, d, "service", `{"Unit":"x.service","Enabled":true,"Running":true}`))[0]
	if err := d.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	err = d.Commit(t.Context())
	if !errors.As(err, &no) || !strings.Contains(no.Line, "systemctl status") || no.Reply != unitStatus {
		t.Errorf("%v", err)
	}
	if !strings.Contains(err.Error(), `running reads "false" after the change, wanted "true"`) || !strings.Contains(hint.Of(err), "journalctl") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
}
