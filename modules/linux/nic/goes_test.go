package nic

import (
	"encoding/json"
	"slices"
	"testing"

	"weft/internal/remote"
)

// The name that an interface had when a ledger was written says nothing about
// the port that bears it today.
func TestLedgersForgetInterfaces(t *testing.T) {
	raw := json.RawMessage(`{"PCI": "0000:41:00.0", "Interface": "old0", "Bytes": 1500}`)
	var former MTU
	if err := json.Unmarshal(raw, &former); err != nil {
		t.Fatal(err)
	}
	steps := showNIC(former.Steps(&MTU{PCI: former.PCI, Interface: "new0", Bytes: 9000}))
	if want := []string{"$ ip link set dev new0 mtu 1500"}; !slices.Equal(steps, want) {
		t.Errorf("%q, want %q", steps, want)
	}
}

func TestAddressGoes(t *testing.T) {
	have := &Address{PCI: "0000:41:00.0", Interface: "ens1f0", Present: true, Up: true}
	if err := json.Unmarshal([]byte(`"10.0.0.1/24"`), &have.CIDR); err != nil {
		t.Fatal(err)
	}
	if got, want := showNIC(have.absent().Steps(have)), []string{"$ ip addr del 10.0.0.1/24 dev ens1f0"}; !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func showNIC(steps []remote.Step) (lines []string) {
	for _, s := range steps {
		lines = append(lines, s.String())
	}
	return lines
}
