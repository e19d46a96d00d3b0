package main

import (
	"testing"

	"weft/plan"
)

func TestSelects(t *testing.T) {
	d := plan.Member{Device: `server.node["st1"]`, Host: "st1.example.net"}
	labels := map[string]string{"role": "storage", "empty": ""}
	for selector, want := range map[string]bool{
		`server.node["st1"]`: true, "server.node": true, "server": true, "st1.example.net": true, "role=storage": true, "empty=": true,
		"": false, "server.no": false, "server.node[": false, "st1": false, "role=compute": false, "role": false, "rack=": false, "=": false, "node": false,
	} {
		if selects(selector, d, labels) != want {
			t.Errorf("%q selects it: %v", selector, !want)
		}
	}
	if !selects("module.rack", plan.Member{Device: "module.rack.server.a"}, nil) {
		t.Error("a module does not select what is in it")
	}
}
