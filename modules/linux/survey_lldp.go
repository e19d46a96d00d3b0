package linux

import (
	"errors"
	"fmt"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// heardLook asks the agent for LLDP of a server, where one runs, whom it hears. The form
// json0 has the same layout however many there are; see lldpcli(8).
func heardLook() remote.Look {
	return remote.Look{Args: []string{"lldpcli", "-f", "json0", "show", "neighbors"}, Root: true}
}

// parseHeard reads what lldpcli prints, by interface. What other protocols than LLDP tell
// is left out. An answer of another layout, or one that is cut, is an error: it is no silence.
func parseHeard(text []byte) (map[string][]host.Heard, error) {
	type value []struct {
		Value string `json:"value"`
	}
	of := func(v value) string {
		if len(v) == 0 {
			return ""
		}
		return v[0].Value
	}
	var all struct {
		LLDP []struct {
			Interface []struct {
				Name    string `json:"name"`
				Via     string `json:"via"`
				Chassis []struct {
					ID, Name value
				} `json:"chassis"`
				Port []struct {
					ID    value
					Descr value
				} `json:"port"`
			} `json:"interface"`
		} `json:"lldp"`
	}
	if err := see.JSON(text, &all); err != nil {
		return nil, fmt.Errorf("the answer to lldpcli is not understood: whom it hears is not known: %w", err)
	}
	if all.LLDP == nil {
		return nil, errors.New("the answer to lldpcli does not speak of LLDP: whom it hears is not known")
	}
	heard := map[string][]host.Heard{}
	for _, l := range all.LLDP {
		for _, i := range l.Interface {
			if i.Via != "LLDP" {
				continue
			}
			var h host.Heard // somebody, even where it does not say who or which port
			if len(i.Chassis) > 0 {
				h.System, h.Chassis = of(i.Chassis[0].Name), of(i.Chassis[0].ID)
			}
			if len(i.Port) > 0 {
				h.Port, h.Describes = of(i.Port[0].ID), of(i.Port[0].Descr)
			}
			heard[i.Name] = append(heard[i.Name], h)
		}
	}
	return heard, nil
}
