package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"weft/plan"
)

// What came back, but not as it was wanted, is said.
func TestBackDegraded(t *testing.T) {
	var out bytes.Buffer
	id := plan.ID{Device: "server.one", Kind: "nvme_connection", Name: "nvme.data"}
	made := &plan.Plan{Devices: []plan.PlannedDevice{{Items: 7}}, Left: []plan.LeftAlone{
		{ID: id, Text: "DEGRADED: connected over TCP"}, {ID: id, Text: "described, not yet managed"},
	}}
	if err := (&app{stdout: &out}).isBack(made, "server.one", time.Minute); err != nil {
		t.Fatal(err)
	}
	got := out.String()
	if !strings.Contains(got, "by itself: 7 settings") || !strings.Contains(got, "\n  ! server.one/nvme_connection.nvme.data is DEGRADED: connected over TCP\n") || strings.Contains(got, "managed") {
		t.Error(got)
	}
}
