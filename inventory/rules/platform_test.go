package rules

import (
	"cmp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory"
	"weft/inventory/catalogue"
)

// TestFactsWithoutSourceWarn checks that only a fact with a source refuses.
func TestFactsWithoutSourceWarn(t *testing.T) {
	f := &inventory.Fabric{MTU: 9216, Classes: []*inventory.TrafficClass{{Name: "rdma", Priority: 3, PFC: true}, {Name: "cnp", Priority: 6, PFC: true}}}
	m := &inventory.Model{Fabrics: []*inventory.Fabric{f}, Switches: []*inventory.Switch{{Name: "leaf", OS: "nxos", Fabric: f}}}
	for _, source := range []string{"", "a manual"} {
		c := &checker{Model: m}
		c.platforms(func() (*catalogue.Catalogue, error) {
			return &catalogue.Catalogue{
				OS:       []*catalogue.SwitchOS{{ID: "nxos", MaxMTU: catalogue.Fact[int]{Value: 9000, Source: source, Known: true}}},
				Switches: []*catalogue.Switch{{OS: "nxos", NoDropClasses: catalogue.Fact[int]{Value: 1, Source: source, Known: true}}},
			}, nil
		})
		if len(c.diags) != 2 {
			t.Errorf("with source %q: %v", source, c.diags)
		}
		for _, d := range c.diags {
			if refused := d.Severity == hcl.DiagError; refused != (source != "") {
				t.Errorf("with source %q: %v", source, d)
			}
			if !strings.Contains(d.Detail, cmp.Or(source, "no source")) {
				t.Errorf("%q does not name its source", d.Detail)
			}
		}
	}
}

// TestUnknownPortNames: of a system without port names in the catalogue that is said,
// by its name.
func TestUnknownPortNames(t *testing.T) {
	sw := &inventory.Switch{Name: "leaf", OS: "third"}
	c := &checker{Model: &inventory.Model{Switches: []*inventory.Switch{sw}, Links: []*inventory.Link{{From: inventory.LinkEnd{Switch: sw, Port: "et1"}}}}}
	c.platforms(func() (*catalogue.Catalogue, error) { return &catalogue.Catalogue{}, nil })
	if len(c.diags) != 1 || c.diags[0].Severity != hcl.DiagWarning || !strings.Contains(c.diags[0].Detail, "The catalogue has no port names of third") {
		t.Errorf("%v", c.diags)
	}
}
