package plan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
)

func samplePlan() *Plan {
	mtu := ID{`server.node["st1"]`, "mtu", "p0"}
	pfc := ID{`server.node["st1"]`, "pfc", "p0"}
	return &Plan{
		Format: Format, Version: "v0.1.0", Owner: "pilot", Simulated: true,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Devices: []PlannedDevice{
			{Address: mtu.Device, Identity: Identity{Address: "127.0.0.1:2201", MachineID: "abc"}, Items: 4,
				Unmanaged: map[string][]string{"address": {"ens1f0 192.0.2.7/24"}}},
			{Address: "switch.leaf-a", Items: 2, Error: "no route to host", Hint: "is it plugged in?"},
		},
		Steps: []PlannedStep{
			{ID: mtu, Range: rangeAt("hosts.weft.hcl", 9), Changes: []Change{{"bytes", "1500", "9000", ImpactLinkFlap, ""}},
				Send: []string{"ip link set dev ens1f0 mtu 9000"}, Undo: []string{"ip link set dev ens1f0 mtu 1500"}},
			{ID: pfc, Range: rangeAt(`c:\dir, a\x.hcl`, 2), Changes: []Change{{"priorities", "", "<3>", ImpactTraffic, ""}},
				Needs: []ID{mtu}},
		},
		Notes:    []Note{{Range: rangeAt("a.weft.hcl", 3), Block: "rollout.x", Text: "described, not yet managed"}},
		Refusals: []Refusal{{ID: ID{mtu.Device, "mtu", "p1"}, Text: "takes at most 4096"}},
		Sources:  map[string]string{"hosts.weft.hcl": "server \"node\" {\n}\n"},
		Inputs:   map[string]json.RawMessage{"planes": json.RawMessage(`["a",{"b":null}]`), "none": json.RawMessage("null")},
	}
}

func TestPlanFileRoundTrip(t *testing.T) {
	for _, p := range []*Plan{samplePlan(), {Format: Format, Devices: []PlannedDevice{}, Steps: []PlannedStep{}}} {
		if back := throughFile(t, p); !reflect.DeepEqual(p, back) {
			t.Errorf("wrote\n%+v\nread\n%+v", p, back)
		}
	}
}

func TestPlanFileReadsWell(t *testing.T) {
	var b bytes.Buffer
	if err := samplePlan().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"{\n  \"format\": 7,\n",
		`"range": "hosts.weft.hcl:9,1"`,
		`"id": "server.node[\"st1\"]/mtu.p0"`,
		`"impact": "link-flap"`,
		`"after": "<3>"`, // not \u003c
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}

func TestReadPlanRefuses(t *testing.T) {
	var b bytes.Buffer
	if err := samplePlan().Write(&b); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	edit := func(old, new string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%s is not in the sample", old)
		}
		return strings.Replace(good, old, new, 1)
	}
	tests := []struct{ name, text, want, hint string }{
		{"nothing", "", "not a plan file", ""},
		{"no JSON", "hello", "not a plan file", ""},
		{"other JSON", "[]", "not a plan file", ""},
		{"no format", `{"steps": []}`, "not a plan file", ""},
		{"a later format", edit(`"format": 7`, `"format": 8, "colour": "red"`),
			"the file has format 8, this weft reads format 5 to 7", "use weft v0.1.0"},
		{"a later format that looks alike", edit(`"format": 7`, `"format": 4`), "has format 4", "or plan again"},
		{"an unknown field", edit(`"owner"`, `"colour": "red", "owner"`), "colour", ""},
		{"something after it", good + "{}", "something follows the plan", ""},
		{"garbage after it", good + "x", "something follows the plan", ""},
		{"cut off", good[:len(good)/2], "it is cut off, or damaged: ", "copy it once more, or plan again"},
		{"no impact of ours", edit("link-flap", "mild"), `impact "mild" is not known`, ""},
		{"a range without a line", edit("hosts.weft.hcl:9,1", "hosts.weft.hcl"), "file:line,col", ""},
		{"a negative line", edit("hosts.weft.hcl:9,1", "hosts.weft.hcl:-9,1"), "file:line,col", ""},
		{"a bad id", edit(`server.node[\"st1\"]/mtu.p0`, "x"), "device/kind.name", ""},
		{"a need of nothing", edit(`        "server.node[\"st1\"]/mtu.p0"`, `        "a/b.c"`), "no earlier step", ""},
		{"an unlisted device", edit(`"address": "server.node[\"st1\"]"`, `"address": "x"`), "does not list", ""},
		{"a device twice", edit(`"address": "switch.leaf-a"`, `"address": "server.node[\"st1\"]"`), "in the plan twice", ""},
		{"a step twice", edit(`/pfc.p0`, `/mtu.p0`), "in the plan twice", ""},
		{"fewer resources than none", edit(`"items": 4`, `"items": -4`), "no device has -4 resources", ""},
		{"more resources than any", edit(`"items": 4`, `"items": 4000000`), "no device has 4000000 resources", ""},
		{"an owner of two lines", edit(`"pilot"`, `"pilot\nroot"`), "owner \"pilot\\nroot\" holds control characters", ""},
		{"a long version", edit(`v0.1.0`, strings.Repeat("0", 300)), "weft_version has 300 bytes, of at most 255", ""},
		{"a long address", edit(`switch.leaf-a`, strings.Repeat("a", 5000)), "address has 5000 bytes", ""},
		{"a change of nothing", edit(`"path": "bytes"`, `"path": ""`), "a path has 0 bytes", ""},
		{"a long field that is unknown", edit(`"owner"`, `"`+strings.Repeat("c", 1<<20)+`": 1, "owner"`), "unknown field", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadPlan(strings.NewReader(tt.text))
			if err != nil && len(err.Error()) > 1000 {
				t.Fatalf("the error has %d bytes", len(err.Error()))
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(hint.Of(err), tt.hint) {
				t.Errorf("error %v, hint %q; want %q, %q", err, hint.Of(err), tt.want, tt.hint)
			}
			if _, err = unfolded([]byte(tt.text), anyDevice); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(hint.Of(err), tt.hint) {
				t.Errorf("folded: error %v, hint %q; want %q, %q", err, hint.Of(err), tt.want, tt.hint)
			}
		})
	}
	if _, err := readPlan(strings.NewReader(good), int64(len(good))-1); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a file over the limit: %v", err)
	}
	if _, err := readPlan(strings.NewReader(good), int64(len(good))); err != nil {
		t.Errorf("a file at the limit: %v", err)
	}
}

func FuzzReadPlan(f *testing.F) {
	var b bytes.Buffer
	if err := samplePlan().Write(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(`{"format":2,"devices":[{"address":"a"}],"steps":[{"id":"a/b.c","range":":1,2","changes":[{}]}]}`))
	f.Add([]byte(`{"format":2,"inputs":{"a":null,"b": [ 1 ]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ReadPlan(bytes.NewReader(text))
		part, refused := unfolded(text, anyDevice)
		if err != nil {
			if refused == nil {
				t.Fatalf("a part is read of a plan that is refused: %v", err)
			}
			return
		}
		if whole := p.Part(func(PlannedStep) bool { return true }); refused == nil && !reflect.DeepEqual(part, whole) {
			t.Fatalf("the part of all devices is\n%+v\nwanted\n%+v", part, whole)
		}
		var once, twice bytes.Buffer
		if err := p.Write(&once); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := ReadPlan(bytes.NewReader(once.Bytes()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once.Bytes())
		}
		if err := again.Write(&twice); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Fatalf("written\n%s\nthen\n%s", once.Bytes(), twice.Bytes())
		}
	})
}
