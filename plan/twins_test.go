package plan

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Two names that lead to one machine are refused, both: what is declared of one would be
// pruned of the other. Machines that were made of one image are two.
func TestTwins(t *testing.T) {
	w := newWorld()
	w.want("a/v.x", "new")
	w.want("b/v.x", "other")
	w.want("c/v.x", "new")
	w.device("b").identity = w.device("a").identity
	p, err := Make(context.Background(), w.input())
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 1 || p.Steps[0].ID.Device != "c" || len(p.Unreachable()) != 2 {
		t.Errorf("steps %+v, unreachable %+v", p.Steps, p.Unreachable())
	}
	for i, other := range []string{"b", "a"} {
		if said := p.Devices[i].Error; !strings.Contains(said, "it is the same device as "+other+", which has machine id machine-a, too") || p.Devices[i].Hint == "" {
			t.Errorf("%s: %s", p.Devices[i].Address, said)
		}
	}
	if _, err := Apply(context.Background(), p, w.input()); !errors.As(err, new(*UnreachableError)) {
		t.Errorf("it is applied: %v", err)
	}

	w.device("b").identity.BootID = "2"
	if p, err = Make(context.Background(), w.input()); err != nil || len(p.Steps) != 3 {
		t.Errorf("of one image: %+v, %v", p.Steps, err)
	}
	w.device("b").identity = Identity{Serial: "FDO1"}
	w.device("c").identity = Identity{Serial: "FDO1"}
	if p, err = Make(context.Background(), w.input()); err != nil || len(p.Steps) != 1 || !strings.Contains(p.Devices[2].Error, "serial FDO1") {
		t.Errorf("two switches of one serial: %+v, %v", p.Steps, err)
	}
}
