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
