package plan

import (
	"context"
	"fmt"
	"testing"
)

// quietDevice answers from memory and notes nothing.
type quietDevice struct{ Unsupported }

func (quietDevice) Open(context.Context) (Identity, error) { return Identity{MachineID: "m"}, nil }

func (quietDevice) Read(_ context.Context, r []Resource) ([]State, error) {
	return make([]State, len(r)), nil
}

// benchResource differs from what is there, unless it is in order.
type benchResource struct {
	Resource
	inOrder bool
}

var benchDiff = Diff{
	Changes: []Change{{Path: "bytes", Before: "1500", After: "9000", Impact: ImpactLinkFlap}},
	Send:    []string{"ip link set dev ens1f0 mtu 9000"},
	Undo:    []string{"ip link set dev ens1f0 mtu 1500"},
}

func (r *benchResource) Diff(State) Diff {
	if r.inOrder {
		return Diff{}
	}
	return benchDiff
}

// Planning is linear in the items: ns/item of the two sizes are the same.
func BenchmarkMake(b *testing.B) {
	for _, n := range []int{20_000, 200_000} {
		for _, inOrder := range []bool{false, true} {
			name := map[bool]string{false: "all change", true: "all in order"}[inOrder]
			b.Run(fmt.Sprintf("%d items, %s", n, name), func(b *testing.B) {
				in := benchInput(n, n/20, inOrder)
				b.ReportAllocs()
				for b.Loop() {
					p, err := Make(context.Background(), in)
					if err != nil || p.Empty() != inOrder {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
			})
		}
	}
}

// benchInput has chains of items on each device, and each chain needs one item
// of the device before.
func benchInput(items, devices int, inOrder bool) Input {
	in := Input{Owner: "bench", Devices: map[string]Device{}}
	resource, per := &benchResource{inOrder: inOrder}, items/devices
	for d := range devices {
		address := fmt.Sprintf("server.node[%q]", fmt.Sprint("st", d))
		in.Devices[address] = quietDevice{}
		for i := range per {
			item := Item{ID: ID{address, "mtu", fmt.Sprint("p", i)}, Resource: resource}
			if len(in.Items) > 0 {
				item.Needs = []ID{in.Items[len(in.Items)-1].ID}
			}
			in.Items = append(in.Items, item)
		}
	}
	return in
}
