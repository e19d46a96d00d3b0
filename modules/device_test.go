package modules

import (
	"errors"
	"reflect"
	"testing"

	"weft/internal/remote"
	"weft/modules/claim"
	"weft/modules/host"
	"weft/modules/leaf"
	"weft/modules/vcenter"
	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// Each class of device has the capabilities of its kind, and refuses the operations of other
// classes by name.
func TestDeviceClasses(t *testing.T) {
	fleet := &Fleet{Devices: map[string]Device{
		"server.a":    newServer(host.New(host.Config{OS: &host.OS{}, Member: plan.Member{Device: "server.a"}})),
		"switch.b":    newSwitchNode(leaf.New(leaf.Config{Name: "switch.b", OS: systems.Named("nxos")})),
		"vcenter.dc1": newVCenter(vcenter.New("vcenter.dc1", "o", claim.Holder{}, vcenter.Login{})),
	}}
	for address, want := range map[string]plan.Capabilities{
		"server.a":    {Ledger: true, Marks: true, Fence: true, Reverse: true},
		"switch.b":    {Ledger: true, Marks: true, Probe: true, Reverse: true, Save: true},
		"vcenter.dc1": {Ledger: true},
		"server.c":    {},
	} {
		if got := fleet.Device(address).Capabilities(); got != want {
			t.Errorf("%s: %+v", address, got)
		}
	}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"commands of a switch", second(fleet.Device("switch.b").RunCommand(t.Context(), remote.Cmd{}, false)), "cannot run commands: switch.b is a switch"},
		{"the terminal of a server", second(fleet.Device("server.a").Show(t.Context(), "show version")), "cannot type at a switch terminal: server.a is a server"},
		{"a command for a vCenter", fleet.Device("vcenter.dc1").CheckCommand("ls"), "cannot run commands: vcenter.dc1 is a vCenter"},
		{"a test case of a server", second(fleet.Device("server.a").Record(t.Context(), switches.Discretion{})), "cannot record a test case: server.a is a server"},
		{"maintenance mode of a system without one", second(fleet.Device("server.a").Maintenance()), "cannot use maintenance mode: server.a is a server"},
		{"a run lock on a vCenter", fleet.Device("vcenter.dc1").Unmark(t.Context(), plan.Mark{}), "cannot remove the run lock: vcenter.dc1 is a vCenter"},
		{"the configuration of a server", fleet.Device("server.a").Save(t.Context()), "cannot save the configuration: server.a is a server"},
		{"the fencing token of a switch", second(fleet.Device("switch.b").Token(t.Context())), "cannot read the fencing token: switch.b is a switch"},
		{"facts without a device", second(fleet.Device("server.c").Facts(t.Context())), "cannot read facts: server.c is not a device of these files"},
		{"no fleet", second((*Fleet)(nil).Device("server.c").Facts(t.Context())), "cannot read facts: server.c is not a device of these files"},
	} {
		if c.err == nil || !errors.Is(c.err, errors.ErrUnsupported) || c.err.Error() != c.want {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	if err := fleet.Device("server.a").CheckCommand("reboot"); err != nil {
		t.Error(err)
	}
	if err := fleet.Device("switch.b").CheckCommand("reload"); err == nil || errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a switch takes a line that does more than print: %v", err)
	}
	if err := fleet.Close(); err != nil {
		t.Error(err)
	}
}

// A method of the wrapped device that Unsupported has as well is the device's own, not ambiguous.
func TestUnsupportedIsBelow(t *testing.T) {
	for _, d := range []Device{Server{}, SwitchNode{}, VCenter{}} {
		of := reflect.TypeOf(d)
		for i := range of.Field(0).Type.NumMethod() {
			if name := of.Field(0).Type.Method(i).Name; reflect.ValueOf(d).MethodByName(name) == (reflect.Value{}) {
				t.Errorf("%s: %s is ambiguous", of, name)
			}
		}
	}
}

func second[T any](_ T, err error) error { return err }
