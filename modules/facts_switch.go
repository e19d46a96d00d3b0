package modules

import "weft/switches"

// SwitchFacts are what a switch says of itself. What it does not tell is empty.
type SwitchFacts struct {
	OS       string `json:"os"` // nxos or comware
	Version  string `json:"version,omitempty"`
	Model    string `json:"model,omitempty"`
	Serial   string `json:"serial,omitempty"`
	Hostname string `json:"hostname,omitempty"`
}

// facts are those of the last reading.
func (d *device) facts() *SwitchFacts {
	return switchFacts(d.driver.Dialect().OS, d.have.Facts)
}

func switchFacts(os string, f switches.Facts) *SwitchFacts {
	return &SwitchFacts{OS: os, Version: f.Version, Model: f.Model, Serial: f.Serial, Hostname: f.Hostname}
}
