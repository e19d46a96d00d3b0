package modules

import (
	"testing"
	"time"

	"weft/inventory/catalogue"
	"weft/switches/systems"
)

// What validate says that a timed revert may last is what the switch system takes:
// the shortest stands in both, since switches know no catalogue.
func TestConfirmAsTheCatalogueHasIt(t *testing.T) {
	known, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, os := range systems.All() {
		row := known.SwitchOS(os.Name)
		if row == nil {
			t.Errorf("the catalogue does not know %s", os.Name)
			continue
		}
		if row.ConfirmSeconds.Known && time.Duration(row.ConfirmSeconds.Value[0])*time.Second != os.Dialect.Confirm {
			t.Errorf("%s: the catalogue has %v seconds, the system %s", os.Name, row.ConfirmSeconds.Value, os.Dialect.Confirm)
		}
	}
}

// The catalogue says which host systems the files may name, and the list has them.
func TestHostSystemsAsTheCatalogueHasThem(t *testing.T) {
	managed, later := catalogue.HostSystems()
	if len(managed) == 0 || managed[0].ID != catalogue.UsualHostSystem() {
		t.Fatalf("managed %v, later %v", managed, later)
	}
	for _, o := range managed {
		if os := HostOS(o.ID); os == nil || os.Name != o.ID {
			t.Errorf("%s is managed, and its system is %v", o.ID, os)
		}
	}
	for _, name := range later {
		if HostOS(name) != nil {
			t.Errorf("%s is in the list, and the catalogue does not say what a machine id is there", name)
		}
	}
	if os := HostOS(""); os == nil || os.Name != managed[0].ID {
		t.Errorf("a ledger that names no system is of %v", os)
	}
}
