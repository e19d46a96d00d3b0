package main

import (
	"strings"
	"testing"

	"weft/inventory/catalogue"
	"weft/modules/host"
)

// A machine that runs another system than it was taken for is told as such.
func TestStranger(t *testing.T) {
	known, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"VMkernel 8.0.3 x86_64": "VMware ESXi",
		"reading w1: exit status 1: 'sudo' is not recognized as an internal or external command,":              "Microsoft Windows",
		"sudo : The term 'sudo' is not recognized as the name of a cmdlet, function, script file, or operable": "Microsoft Windows",
		"Linux 6.12.0 x86_64": "",
		"":                    "",
	} {
		err := stranger(known, said, &host.OS{Name: "linux"})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", said, err)
		}
	}
}
