package modules

import (
	"strings"
	"testing"
	"testing/fstest"

	"weft/inventory/language"
	"weft/plan"
)

// A plan that would prune what stands under another name says how it is kept, in a block
// that parses, before how it would be lost.
func TestRenamed(t *testing.T) {
	const text = `
weft { name = "o" }
fabric "new" {
  transport = "tcp"
  mode      = "lossy"
  plane "a" { subnet = "10.0.0.0/24" }
}
server "s" {
  for_each = toset(["a", "b"])
  host     = each.key
}
pool "shelf" {
  for_each = toset(["a", "b"])
  server   = server.s[each.key]
  drives   = ["nvme-2${each.key}", "nvme-1${each.key}"]
}
pool "other" {
  server = server.s["a"]
  drives = ["nvme-9"]
}
volume "blocks" {
  for_each = toset(["a", "b"])
  pool     = pool.shelf[each.key]
  size     = "1GiB"
}
volume "log" {
  pool = pool.other
  size = "1GiB"
}
`
	m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}}, language.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	const device = `server.s["a"]`
	step := func(prune bool, kind, name, path, before, after string) plan.PlannedStep {
		return plan.PlannedStep{ID: plan.ID{Device: device, Kind: kind, Name: name}, Prune: prune, Changes: []plan.Change{{Path: path, Before: before, After: after}}}
	}
	refusal := func(kind, name string) plan.Refusal {
		return plan.Refusal{ID: plan.ID{Device: device, Kind: kind, Name: name}, Hint: "lose it"}
	}
	for name, c := range map[string]struct {
		plan *plan.Plan
		want []string // the hints of refusals and the warnings, a moved block as "from to"
	}{
		"a pool": {&plan.Plan{
			Steps: []plan.PlannedStep{step(true, "volume_group", "flash", "drives", "nvme-1a nvme-2a", ""), step(true, "volume", "flash.blocks", "size", "1GiB", "")}, Refusals: []plan.Refusal{refusal("volume_group", "shelf"), refusal("volume", "flash.blocks")}},
			[]string{"pool.flash pool.shelf", "pool.flash pool.shelf"}},
		"a volume": {&plan.Plan{
			Steps: []plan.PlannedStep{step(true, "volume", "shelf.data", "size", "1GiB", ""), step(false, "volume", "shelf.blocks", "size", "", "1GiB")}, Refusals: []plan.Refusal{refusal("volume", "shelf.data")}},
			[]string{"volume.data volume.blocks"}},
		"both": {&plan.Plan{
			Steps: []plan.PlannedStep{step(true, "volume_group", "flash", "drives", "nvme-1a nvme-2a", ""), step(true, "volume", "flash.data", "size", "1GiB", ""), step(false, "volume", "shelf.blocks", "size", "", "1GiB")}, Refusals: []plan.Refusal{refusal("volume", "flash.data")}},
			[]string{"volume.data volume.blocks"}},
		"a volume of another size": {&plan.Plan{
			Steps: []plan.PlannedStep{step(true, "volume", "shelf.data", "size", "2GiB", ""), step(false, "volume", "shelf.blocks", "size", "", "1GiB")}, Refusals: []plan.Refusal{refusal("volume", "shelf.data")}},
			[]string{"lose it"}},
		"a volume in a module": {&plan.Plan{
			Steps: []plan.PlannedStep{step(true, "volume", "shelf.x.data", "size", "1GiB", ""), step(false, "volume", "shelf.blocks", "size", "", "1GiB")}, Refusals: []plan.Refusal{refusal("volume", "shelf.x.data")}},
			[]string{"lose it"}},
		"other drives": {&plan.Plan{
			Steps: []plan.PlannedStep{step(true, "volume_group", "flash", "drives", "nvme-1a", "")}, Refusals: []plan.Refusal{refusal("volume_group", "shelf")}},
			[]string{"lose it"}},
		"a fabric":                  {&plan.Plan{Steps: []plan.PlannedStep{step(false, "qos", "new", "policies", "WEFT-o-old", "WEFT-o-new")}}, []string{"fabric.old fabric.new"}},
		"a fabric of another owner": {&plan.Plan{Steps: []plan.PlannedStep{step(false, "qos", "new", "policies", "WEFT-x-old", "WEFT-o-new")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c.plan.Devices = []plan.PlannedDevice{{Address: device}}
			Renamed(m, c.plan)
			var got []string
			for _, r := range c.plan.Refusals {
				got = append(got, r.Hint)
			}
			for _, d := range c.plan.Devices {
				got = append(got, d.Identity.Warnings...)
			}
			if len(got) != len(c.want) {
				t.Fatalf("%q, want %q", got, c.want)
			}
			for i, want := range c.want {
				from, to, moved := strings.Cut(want, " ")
				if !moved || strings.HasPrefix(want, "lose") {
					if got[i] != want {
						t.Errorf("%q, want %q", got[i], want)
					}
					continue
				}
				at := strings.Index(got[i], "moved {")
				if at < 0 || strings.Contains(got[i][:at], "lose it") {
					t.Fatalf("%q has no moved block before all else", got[i])
				}
				block := got[i][at : at+strings.Index(got[i][at:], "}")+1]
				now, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(text)}, "moved.weft.hcl": {Data: []byte(block)}}, language.Options{})
				if diags.HasErrors() || len(now.Moved) != 1 || now.Moved[0].From != from || now.Moved[0].To != to {
					t.Errorf("%s: %v", block, diags)
				}
			}
		})
	}
}
