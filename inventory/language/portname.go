package language

import "weft/inventory/catalogue"

// portName writes the name of a port as the switch does in its configuration.
func portName(os, name string) string {
	known, err := catalogue.Load()
	if err != nil {
		return name // which the rules report
	}
	return known.SpellPort(os, name)
}
