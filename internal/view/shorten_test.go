package view

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"weft/plan"
)

// TestShorten: no field of a plan that anybody may have written fills the terminal, whichever
// it is.
func TestShorten(t *testing.T) {
	p := &plan.Plan{Owner: "o", Devices: []plan.PlannedDevice{{Address: "server.s"}}, Steps: []plan.PlannedStep{{Changes: []plan.Change{{}}}}, Notes: []plan.Note{{}}, Refusals: []plan.Refusal{{}}, Left: []plan.LeftAlone{{}}}
	filled := fill(reflect.ValueOf(p).Elem())
	Shorten(p)
	var b bytes.Buffer
	Plan(&b, p, Options{Lines: true})
	if most := 4 * filled * (longestText + 100); b.Len() > most || filled < 30 {
		t.Errorf("%d bytes are shown of %d texts", b.Len(), filled)
	}
	if !strings.Contains(b.String(), "… (995904 bytes more)") {
		t.Errorf("what is missing is not said: %.200s", b.String())
	}

	list := &Outside{Unknown: make([]string, 5000), Variables: []string{strings.Repeat("é", longestText)}}
	Shorten(list)
	if n := len(list.Unknown); n != longestTexts+1 || list.Unknown[n-1] != "… 4000 more" {
		t.Errorf("%d texts, the last %q", n, list.Unknown[n-1])
	}
	if want := strings.Repeat("é", longestText/2) + fmt.Sprintf("… (%d bytes more)", longestText); list.Variables[0] != want {
		t.Errorf("%.40q", list.Variables[0])
	}
	short := plan.Plan{Owner: "o", Inputs: nil, Devices: []plan.PlannedDevice{{Address: "server.s", Unmanaged: map[string][]string{"nic": {"a"}}}}}
	again := short
	Shorten(&again)
	if !reflect.DeepEqual(short, again) {
		t.Errorf("%+v became %+v", short, again)
	}
}

// fill gives every text of a value a million bytes, and counts them.
func fill(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", 1_000_000))
		return 1
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				n += fill(f)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]string]() {
			v.Set(reflect.ValueOf([]string{""}))
		}
		for i := range v.Len() {
			n += fill(v.Index(i))
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string][]string]() {
			v.Set(reflect.ValueOf(map[string][]string{strings.Repeat("k", 1_000_000): {strings.Repeat("x", 1_000_000)}}))
			return 2
		}
	}
	return n
}
