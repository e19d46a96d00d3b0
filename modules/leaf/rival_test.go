package leaf_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"weft/modules"
	"weft/modules/leaf"
	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// A rival gets hold of a switch just before weft would.
type rival struct {
	*leaf.Device
	first func()
}

// Begin implements plan.Device.
func (r *rival) Begin(ctx context.Context, steps []plan.Step) error {
	r.first()
	return r.Device.Begin(ctx, steps)
}

// Where another weft is at work on the switch, this one changes nothing, says
// who it is, and does not take what the other changes for its own doing.
func TestSwitchRival(t *testing.T) {
	eachOS(t, func(t *testing.T, os string) {
		_, planned, _ := reference(t, os)
		l := newRig(t, os)
		before := l.sw.RunningConfig()
		var other *switches.Session
		var tx *switches.Transaction
		l.adapt = func(in *plan.Input) {
			d := in.Devices["switch.leaf"].(modules.SwitchNode).Device
			in.Devices["switch.leaf"] = &rival{d, func() {
				var err error
				if other, err = switches.Open(t.Context(), "leaf", systems.Named(os), l.open, time.Minute); err != nil {
					t.Error(err)
					return
				}
				if tx, err = other.Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute, Owner: "o", Who: "other@there"}); err != nil {
					t.Error(err)
					return
				}
				l.edit("interface "+l.ports+"3", map[string]string{"nxos": "mtu 9216", "comware": "qos trust dscp"}[os])
			}}
		}
		_, res, err := l.run()
		if res.Devices[0].Outcome != plan.DeviceUnchanged || !errors.As(err, new(*plan.HeldError)) {
			t.Errorf("%s: %v", res.Devices[0].Outcome, err)
		}
		if tx == nil {
			t.Fatal("the other never began")
		}
		l.edit("interface "+l.ports+"3", map[string]string{"nxos": "no mtu", "comware": "undo qos trust"}[os])
		if err := tx.Abort(t.Context(), func(context.Context) ([]string, error) { return nil, nil }); err != nil {
			t.Error(err)
		}
		if err := other.Close(); err != nil {
			t.Log(err)
		}
		if now := l.sw.RunningConfig(); now != before {
			t.Errorf("it reads\n%s", now)
		}
		l.adapt = nil
		l.converges(planned)
	})
}
