package vcenter

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"weft/internal/hint"
	"weft/internal/lab/simvcenter"
	"weft/modules/claim"
)

// A host is emptied where what runs there can leave, and only then.
func TestMaintenance(t *testing.T) {
	const host = "esx1.example.net"
	for _, test := range []struct {
		name    string
		drs, on bool
		refused string
	}{
		{"nothing runs", false, false, ""},
		{"nobody moves it", false, true, "hpc1 runs on esx1.example.net and is not moved: DRS of its cluster is not fully automated"},
		{"DRS moves it", true, true, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			var told []string
			spec := ready()
			spec.DRS = test.drs
			spec.VMs = []simvcenter.VM{{Path: simvcenter.Datacenter + "/vm/hpc1", Host: host, On: test.on}}
			spec.Tell = func(e simvcenter.Event) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, e.Host+" "+e.Maintenance)
			}
			d := New("vcenter.dc1", "o", claim.Holder{}, startVSAN(t, spec))
			t.Cleanup(func() { _ = d.Close() })
			ctx := context.Background()
			if _, err := d.Open(ctx); err != nil {
				t.Fatal(err)
			}
			if !d.Knows("ESX1.example.net") || d.Knows("esx9.example.net") {
				t.Error("it does not know its hosts")
			}
			task := ""
			begun := func(name string) error { task = name; return nil }
			err := d.Empty(ctx, host, begun)
			if test.refused != "" {
				mu.Lock()
				defer mu.Unlock()
				if err == nil || err.Error() != test.refused || hint.Of(err) == "" || told != nil {
					t.Errorf("it says %v, and told %q", err, told)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Empty(ctx, host, begun); err == nil || !strings.Contains(err.Error(), "is already in maintenance mode") {
				t.Errorf("again: %v", err)
			}
			if done, err := d.Await(ctx, task); err != nil || !done {
				t.Errorf("its task %s: %v, %v", task, done, err)
			}
			if done, err := d.Await(ctx, "task-that-is-forgotten"); done || err == nil {
				t.Errorf("a task that is not there: %v, %v", done, err)
			}
			for range 2 { // the second finds it filled
				if err := d.Fill(ctx, host); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Fill(ctx, "esx9.example.net"); err == nil || !strings.Contains(err.Error(), "has no host esx9.example.net any more") {
				t.Errorf("a host that is gone: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(told, []string{host + " on", host + " off"}) {
				t.Errorf("told %q", told)
			}
		})
	}
}
