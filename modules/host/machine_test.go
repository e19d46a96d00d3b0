package host

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/plan"
)

const mtuFile = "/sys/class/net/ens1f0/mtu"

// machine is a replayed server with one NIC port whose MTU can be set.
func machine(t *testing.T) *remotetest.Replay {
	r := remotetest.NewReplay(t, "st1")
	r.Netdevs = map[string]string{"0000:41:00.0": "ens1f0"}
	r.Files = map[string]string{"/etc/machine-id": "abc\n", "/proc/sys/kernel/random/boot_id": "boot\n", mtuFile: "1500\n"}
	r.Modes = map[string]fs.FileMode{}
	set := func(n string) remotetest.Reply {
		return remotetest.Reply{Effect: func(r *remotetest.Replay, _ string) { r.Files[mtuFile] = n + "\n" }}
	}
	r.Commands = map[string]remotetest.Reply{
		"uname -srm":                        {Stdout: "Linux 6.12.0 x86_64\n"},
		"ip link set dev ens1f0 mtu 9000":   set("9000"),
		"ip link set dev ens1f0 mtu 1500":   set("1500"),
		"ip link set dev ens1f0 mtu 100000": {Stderr: "Error: mtu greater than device maximum.\n", Code: 2},
		"ip link set dev ens1f0 mtu 7777":   {}, // says yes and does nothing
	}
	return r
}

func replayed(r *remotetest.Replay) *Machine {
	return &Machine{os: linux(), name: "server.st1", dial: func(context.Context, bool) (remote.Host, func() error, error) {
		return r, func() error { return nil }, nil
	}}
}

// begun opens the server and begins with the resources, as the engine does. With the
// test ends what renews the lease: a minute later it would speak to a server of no test.
func begun(t *testing.T, d *Machine, rs ...plan.Resource) []plan.Step {
	t.Helper()
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	states, err := d.Read(t.Context(), rs)
	if err != nil {
		t.Fatal(err)
	}
	var out []plan.Step
	for i, r := range rs {
		diff := r.Diff(states[i])
		if diff.Err != nil {
			t.Fatal(diff.Err)
		}
		id := plan.ID{Device: d.name, Kind: "k", Name: string(rune('a' + i))}
		out = append(out, plan.Step{ID: id, Resource: r, Have: states[i], Diff: diff})
	}
	if err := d.Begin(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestServerKeepsOrRestores(t *testing.T) {
	for _, keep := range []bool{true, false} {
		r := machine(t)
		d := replayed(r)
		before := r.State()
		for _, s := range begun(t, d,
			wished(t, d, "mtu", `{"PCI":"0000:41:00.0","Bytes":9000}`),
			wished(t, d, "file", `{"Path":"/etc/weft/x","Mode":416,"Content":"bmV3Cg=="}`),
		) {
			if err := d.Apply(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if r.Files[mtuFile] != "9000\n" || r.Files["/etc/weft/x"] != "new\n" {
			t.Fatalf("not applied:\n%s", r.State())
		}
		if keep {
			if err := d.Commit(t.Context()); err != nil {
				t.Error(err)
			}
			continue
		}
		if err := d.Abort(t.Context()); err != nil {
			t.Error(err)
		}
		if got := r.State(); got != before {
			t.Errorf("restored to\n%s\nwas\n%s", got, before)
		}
	}
}

// What the server refuses carries the line that was sent and what came back.
func TestServerRefuses(t *testing.T) {
	d := replayed(machine(t))
	s := begun(t, d, wished(t, d, "mtu", `{"PCI":"0000:41:00.0","Bytes":100000}`))[0]
	err := d.Apply(t.Context(), s)
	var no *plan.RefusedError
	if !errors.As(err, &no) || no.Line != "$ ip link set dev ens1f0 mtu 100000" || !strings.Contains(no.Reply, "exit 2: Error: mtu greater") {
		t.Errorf("%v", err)
	}
	if err := d.Abort(t.Context()); err != nil {
		t.Error(err)
	}
}

// A command that says yes and does nothing is found out by reading.
func TestServerProves(t *testing.T) {
	d := replayed(machine(t))
	s := begun(t, d, wished(t, d, "mtu", `{"PCI":"0000:41:00.0","Bytes":7777}`))[0]
	if err := d.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := d.Commit(t.Context()); err == nil || !strings.Contains(err.Error(), `bytes reads "1500" after the change, wanted "7777"`) {
		t.Errorf("%v", err)
	}
}

func TestServerIsTheOneDeclared(t *testing.T) {
	d := replayed(machine(t))
	d.machineID = "def"
	_, err := d.Open(t.Context())
	if err == nil || !strings.Contains(err.Error(), `"abc"`) || !strings.Contains(hint.Of(err), "machine_id of server.st1") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
	d.machineID = "abc"
	id, err := d.Open(t.Context())
	if err != nil || id.MachineID != "abc" || id.BootID != "boot" || id.System != "Linux 6.12.0 x86_64" {
		t.Errorf("%+v, %v", id, err)
	}
}

// A server that rests is found again by Begin, if it is the one that was read.
func TestServerRests(t *testing.T) {
	for name, machineID := range map[string]string{"the same": "abc\n", "another": "def\n"} {
		r := machine(t)
		d := replayed(r)
		dials := 0
		dial := d.dial
		d.dial = func(ctx context.Context, fresh bool) (remote.Host, func() error, error) {
			dials++
			return dial(ctx, fresh)
		}
		if _, err := d.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.Rest(); err != nil {
				t.Fatal(err)
			}
		}
		r.Files["/etc/machine-id"] = machineID
		t.Cleanup(func() { _ = d.Close() })
		err := d.Begin(t.Context(), nil)
		switch {
		case name == "the same" && (err != nil || dials != 2):
			t.Errorf("%v after %d logins", err, dials)
		case name == "another" && (err == nil || !strings.Contains(err.Error(), "another machine")):
			t.Errorf("another machine was taken for the one that was read: %v", err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
