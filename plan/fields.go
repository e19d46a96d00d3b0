package plan

import (
	"fmt"
	"strings"
	"unicode"

	"weft/internal/text"
)

// The longest names that a plan file may hold, in bytes, and the most resources of a device.
const (
	longestWord  = 255  // of an owner, a version, a kind, a phase, a plane
	longestName  = 4096 // of a device or resource: paths of files are that long
	mostOfDevice = 1_000_000
)

// checkFields refuses values that no weft writes, whoever wrote the file.
func (p *Plan) checkFields() error {
	words := map[string]string{"weft_version": p.Version, "owner": p.Owner}
	if p.Reverse != "" && RunBegan(p.Reverse).IsZero() {
		return fmt.Errorf("reverse: %.40q is not the name of a run", p.Reverse)
	}
	for _, d := range p.Devices {
		if err := checkName("address", d.Address, longestName); err != nil {
			return err
		}
		if d.Items < 0 || d.Items > mostOfDevice {
			return fmt.Errorf("items of %s: no device has %d resources", d.Address, d.Items)
		}
	}
	for _, s := range p.Steps {
		words["phase"], words["plane"] = s.Phase, s.Plane
		if err := checkID(s.ID); err != nil {
			return err
		}
		if err := checkWords(words); err != nil {
			return err
		}
		for _, c := range s.Changes {
			if c.Path == "" || len(c.Path) > longestName {
				return fmt.Errorf("changes of %s: a path has %d bytes", s.ID, len(c.Path))
			}
		}
	}
	for _, r := range p.Refusals {
		if err := checkID(r.ID); err != nil {
			return err
		}
	}
	return checkWords(words)
}

func checkID(id ID) error {
	if err := checkName("device", id.Device, longestName); err != nil {
		return err
	}
	if err := checkName("kind", id.Kind, longestWord); err != nil {
		return err
	}
	if len(id.Name) > longestName {
		return fmt.Errorf("the name of a %s has %d bytes, of at most %d", id.Kind, len(id.Name), longestName)
	}
	return nil
}

func checkWords(words map[string]string) error {
	for field, text := range words {
		if err := checkName(field, text, longestWord); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses a name that is too long or not one line.
func checkName(field, text string, most int) error {
	switch {
	case len(text) > most:
		return fmt.Errorf("%s has %d bytes, of at most %d", field, len(text), most)
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("%s %.40q holds control characters", field, text)
	}
	return nil
}

// brief cuts an error that quotes what anybody may have written.
func brief(err error) error {
	const most = 500 // bytes
	if head, missing := text.Head(err.Error(), most); missing > 0 {
		return fmt.Errorf("%s… (%d bytes more)", strings.ToValidUTF8(head, ""), missing)
	}
	return err
}
