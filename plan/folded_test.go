package plan

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func anyDevice(string) bool { return true }

// unfolded reads the part of a plan that some devices have.
func unfolded(text []byte, keep func(device string) bool) (*Plan, error) {
	f, err := ReadFolded(text)
	if err != nil {
		return nil, err
	}
	return f.Part(keep)
}

// What is read of a folded plan is the part of the whole one, whichever devices are asked
// for, and what other devices have in it is not looked at.
func TestFoldedPart(t *testing.T) {
	p := samplePlan()
	leaf, spine := ID{"switch.leaf-a", "vlan", "7"}, ID{"switch.spine", "vlan", "7"}
	p.Devices = append(p.Devices, PlannedDevice{Address: spine.Device, Items: 1})
	p.Steps = append(p.Steps,
		PlannedStep{ID: leaf, Changes: []Change{{"name", "", "roce", ImpactNone, ""}}, Needs: []ID{p.Steps[0].ID}, Phase: "b"},
		PlannedStep{ID: spine, Changes: []Change{{"name", "", "roce", ImpactNone, ""}}, Needs: []ID{leaf}, Phase: "b"})
	p.Refusals = append(p.Refusals, Refusal{ID: leaf, Text: "is refused"})
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	whole, err := ReadPlan(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, devices := range [][]string{nil, {leaf.Device}, {spine.Device}, {p.Steps[0].ID.Device}, {leaf.Device, spine.Device}, {p.Steps[0].ID.Device, spine.Device, leaf.Device}} {
		keep := func(device string) bool { return strings.Contains(strings.Join(devices, " "), device) }
		want := whole.Part(func(s PlannedStep) bool { return keep(s.ID.Device) })
		if got, err := unfolded(b.Bytes(), keep); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v\n%+v\nwanted\n%+v", devices, err, got, want)
		}
	}

	broken := bytes.Replace(b.Bytes(), []byte(`"impact": "link-flap"`), []byte(`"impact": "mild"`), 1)
	if _, err := unfolded(broken, anyDevice); err == nil {
		t.Error("an unknown impact is read")
	}
	if part, err := unfolded(broken, func(device string) bool { return device == spine.Device }); err != nil || len(part.Steps) != 1 {
		t.Errorf("what another device has is taken apart: %+v, %v", part, err)
	}
}

// JSON knows several spellings of a name: which of them counts is not left to chance.
func TestFoldedTwice(t *testing.T) {
	var b bytes.Buffer
	if err := samplePlan().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"steps", "Steps", "STEPS", "devices", "Devices", "owner"} {
		text := strings.Replace(b.String(), `{`, `{"`+name+`": [{}],`, 1)
		if _, err := ReadFolded([]byte(text)); err == nil {
			t.Errorf("a second %q is read", name)
		}
	}
}

// What the plan of 100,000 devices takes to read: all of it, or what a site of 2,000 has.
func BenchmarkReadPlan(b *testing.B) {
	const devices, sites = 100_000, 50
	p := &Plan{Format: Format, Owner: "bench"}
	for i := range devices {
		name := fmt.Sprintf("server.dc%02d-n%05d", i%sites, i)
		p.Devices = append(p.Devices, PlannedDevice{Address: name, Identity: Identity{MachineID: name}, Items: 2})
		for _, kind := range []string{"mtu", "pfc"} {
			p.Steps = append(p.Steps, PlannedStep{ID: ID{name, kind, "p0"}, Changes: []Change{{"value", "off", "on", ImpactTraffic, ""}}, Send: []string{kind + " on"}, Undo: []string{kind + " off"}, Phase: "first"})
		}
	}
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		b.Fatal(err)
	}
	p = nil
	here := func(device string) bool { return strings.HasPrefix(device, "server.dc07-") }
	for name, read := range map[string]func() (*Plan, error){
		"whole": func() (*Plan, error) { return ReadPlan(bytes.NewReader(text.Bytes())) },
		"part":  func() (*Plan, error) { return unfolded(text.Bytes(), here) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				before := inUse()
				got, err := read()
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(inUse()-before)/1e6, "MB-kept")
				b.ReportMetric(float64(len(got.Steps)), "steps")
			}
			b.ReportMetric(float64(text.Len())/1e6, "MB-text")
		})
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
