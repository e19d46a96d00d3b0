//go:build unix

package lab

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"weft/internal/labctl"
)

// serving runs serve for an order, and returns its input and the answers after the first, which
// is the lab's state.
func serving(t *testing.T, o labctl.Order) (in io.WriteCloser, answers *json.Decoder, done chan error) {
	t.Helper()
	r, in := io.Pipe()
	out, w := io.Pipe()
	done = make(chan error, 1)
	go func() {
		done <- serve(r, w, io.Discard, nil)
		_ = w.Close()
	}()
	answers = json.NewDecoder(out)
	var h labctl.Hello
	if err := answers.Decode(&h); err != nil || h.Version != labctl.Version() {
		t.Fatalf("%+v, %v", h, err)
	}
	if err := json.NewEncoder(in).Encode(o); err != nil {
		t.Fatal(err)
	}
	var a labctl.Answer
	if err := answers.Decode(&a); err != nil || a.State == nil || len(a.State.Devices) != 3 {
		t.Fatalf("%+v, %v", a, err)
	}
	return in, answers, done
}

// TestServe: a lab stops when the weft that started it ends, unless it is detached.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	in, answers, done := serving(t, labctl.Order{Dir: dir, Devices: labctl.Describe(model(1))})
	if s, err := labctl.Running(dir); s == nil || err != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	_ = in.Close()
	var a labctl.Answer
	if err := answers.Decode(&a); err != nil || a.Error != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s, err := labctl.Running(dir); s != nil || err != nil {
		t.Errorf("it is still up: %+v, %v", s, err)
	}

	in, _, done = serving(t, labctl.Order{Dir: dir, Detached: true, Devices: labctl.Describe(model(1))})
	_ = in.Close()
	if _, err := labctl.Status(dir); err != nil {
		t.Error(err)
	}
	select {
	case err := <-done:
		t.Fatalf("it ended with the weft that started it: %v", err)
	default:
	}
	if err := labctl.Down(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestServeFails: the reason for which a lab does not start is an answer.
func TestServeFails(t *testing.T) {
	m := model(2)
	m.Servers[1].Host = m.Servers[0].Host
	order, err := json.Marshal(labctl.Order{Dir: t.TempDir(), Devices: labctl.Describe(m)})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{string(order): "the same host", `{"dir": "x"}`: "", "not JSON": ""} {
		var out bytes.Buffer
		if code := Main([]string{"serve"}, strings.NewReader(in), &out, io.Discard, nil); code != 1 {
			t.Errorf("%s: exit code %d", in, code)
		}
		answers := json.NewDecoder(&out)
		var h labctl.Hello
		var a labctl.Answer
		if err := answers.Decode(&h); err != nil {
			t.Error(err)
		}
		if err := answers.Decode(&a); (err == nil) != (want != "") || !strings.Contains(a.Error, want) {
			t.Errorf("%s: %+v, %v", in, a, err)
		}
	}
	var errs bytes.Buffer
	if code := Main(nil, strings.NewReader(""), io.Discard, &errs, nil); code != 64 || !strings.Contains(errs.String(), "weft lab --help") {
		t.Errorf("without arguments: %d, %s", code, errs.String())
	}
}
