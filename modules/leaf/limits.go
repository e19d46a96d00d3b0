package leaf

import (
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/internal/traffic"
	"weft/inventory/catalogue"
	"weft/switches"
)

// queuesWritten is how many queues the lines of every switch system speak of: one
// for each 802.1p priority.
const queuesWritten = traffic.Priorities

// fits says why the classes of a fabric cannot be written to a switch of this
// model, by what the catalogue knows of it, with the source; nil: nothing that is
// known speaks against it.
func fits(known *catalogue.Catalogue, os string, f switches.Facts, classes []switches.Class) error {
	if known == nil || f.Model == "" || len(classes) == 0 {
		return nil
	}
	if family := known.SwitchOS(os); family != nil && !family.Takes(f.Model) {
		return hint.Wrap(fmt.Errorf("this switch is a %s, and the lines that weft writes are of another family (%s)", f.Model, family.Models.From()),
			"leave fabric out of the switch and configure its classes by hand, or put unmanaged = true")
	}
	row := known.Switch(os, f.Model)
	if row == nil {
		return nil
	}
	if n := row.Queues; n.Known && n.Value < queuesWritten {
		return fmt.Errorf("a port of this switch, %s, has %d queues, and weft writes %d (%s)", f.Model, n.Value, queuesWritten, n.From())
	}
	lossless := slices.DeleteFunc(slices.Clone(classes), func(k switches.Class) bool { return !k.PFC })
	if n := row.NoPFCReleases; n.Known && len(lossless) > 0 && slices.Contains(n.Value, f.Version) {
		return hint.Wrap(fmt.Errorf("%s has no priority flow control in release %s, and class %s is lossless (%s)", f.Model, f.Version, lossless[0].Name, n.From()),
			"upgrade the switch to another release, or give it a fabric whose classes are lossy")
	}
	if n := row.NoDropClasses; n.Known && len(lossless) > n.Value {
		return fmt.Errorf("%s has at most %d lossless classes, and the fabric has %d (%s)", f.Model, n.Value, len(lossless), n.From())
	}
	for _, k := range classes {
		if n := row.PauseBufferMin; n.Known && k.Headroom != nil && k.Headroom.Size < int64(n.Value) {
			return fmt.Errorf("class %s: headroom size of %d bytes is less than the %d that %s takes (%s)", k.Name, k.Headroom.Size, n.Value, f.Model, n.From())
		}
	}
	return nil
}

// fewLossless is the smallest number of lossless classes that is documented as the
// most of any switch: two, Dell's M I/O Aggregator (Command Reference, Data Center
// Bridging) and N-Series (CLI Reference, Priority Flow Control Commands).
const fewLossless = 2

// unknownLimits says what of a switch is taken for granted because nobody wrote
// it down.
func unknownLimits(known *catalogue.Catalogue, os string, f switches.Facts, classes []switches.Class) []string {
	switch {
	case known == nil || len(classes) == 0:
		return nil
	case f.Model == "":
		return []string{"it does not say which model it is: whether it has the queues and buffers for the fabric's classes is not checked"}
	}
	row := known.Switch(os, f.Model)
	if row == nil {
		return []string{fmt.Sprintf("the catalogue has no row of %s: that it has %d queues and takes the fabric's classes is assumed", f.Model, queuesWritten)}
	}
	var said []string
	lossless := 0
	for _, k := range classes {
		if k.PFC {
			lossless++
		}
		if k.Headroom != nil && !row.PauseBufferMin.Known {
			said = append(said, fmt.Sprintf("class %s: the least headroom that %s takes is not known to the catalogue: a size of %d bytes is not checked", k.Name, f.Model, k.Headroom.Size))
		}
	}
	if n := row.QoSTCAM; n.Known {
		said = append(said, fmt.Sprintf("the TCAM of %s has room, as it comes, for QoS policies of %s only (%s): whether it was carved for others is not read, so that whether the ports take their classification is not checked", f.Model, n.Value, n.From()))
	}
	if lossless > fewLossless && !row.NoDropClasses.Known {
		said = append(said, fmt.Sprintf("how many lossless classes %s takes at once is not known to the catalogue, and there are switches that take %d: the fabric's %d are not checked", f.Model, fewLossless, lossless))
	}
	return said
}
