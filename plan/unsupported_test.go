package plan

import (
	"errors"
	"reflect"
	"testing"
)

// Every operation that returns an error refuses it with the reason, and wraps
// errors.ErrUnsupported; the others are without effect and without a panic.
func TestUnsupported(t *testing.T) {
	d := reflect.ValueOf(Unsupported{Reason: "vcenter.dc1 is a vCenter"})
	silent := map[string]bool{"Rest": true, "Close": true}
	for i := range d.NumMethod() {
		name := d.Type().Method(i).Name
		of := d.Method(i)
		args := make([]reflect.Value, of.Type().NumIn())
		for n := range args {
			args[n] = reflect.Zero(of.Type().In(n))
		}
		if of.Type().IsVariadic() {
			t.Fatalf("%s is variadic", name)
		}
		for _, out := range of.Call(args) {
			if err, ok := out.Interface().(error); ok && (!errors.Is(err, errors.ErrUnsupported) || silent[name]) {
				t.Errorf("%s: %v", name, err)
			}
			if out.Type() == reflect.TypeFor[error]() && out.IsNil() && !silent[name] {
				t.Errorf("%s reports no error", name)
			}
		}
	}
	if err := (Unsupported{Reason: "vcenter.dc1 is a vCenter"}).Save(t.Context()); err.Error() != "cannot save the configuration: vcenter.dc1 is a vCenter" {
		t.Error(err)
	}
	if err := (Unsupported{}).Save(t.Context()); err.Error() != "cannot save the configuration: the device does not support it" {
		t.Error(err)
	}
}
