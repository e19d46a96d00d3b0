package plan

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// outcomes prints a result: "a changed: x done, y skipped".
func outcomes(r *Result) []string {
	var lines []string
	for _, d := range r.Devices {
		var steps []string
		for _, s := range d.Steps {
			steps = append(steps, s.ID.Name+" "+string(s.Outcome))
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", d.Device, d.Outcome, strings.Join(steps, ", ")))
	}
	return lines
}

func TestApply(t *testing.T) {
	// a: x, y; b: x needs a's x; c stands alone.
	tests := []struct {
		name    string
		faults  []string
		outcome RunOutcome
		want    []string
		err     string
	}{
		{"no fault", nil, RunDone, []string{
			"a changed: x done, y done", "b changed: x done", "c changed: x done"}, ""},
		{"begin fails", []string{"begin a"}, RunChanged, []string{
			"a unchanged: x skipped, y skipped", "b unchanged: x skipped", "c changed: x done"},
			"2 devices are not as planned, the first: begin on a: fault: begin a"},
		{"begin fails everywhere", []string{"begin"}, RunNothingChanged, []string{
			"a unchanged: x skipped, y skipped", "b unchanged: x skipped", "c unchanged: x skipped"}, "begin on a"},
		{"begin fails and cannot be proven undone", []string{"begin", "abort a"}, RunChanged, []string{
			"a unknown: x skipped, y skipped", "b unchanged: x skipped", "c unchanged: x skipped"}, "put a back"},
		{"the first step fails", []string{"apply a/v.x"}, RunChanged, []string{
			"a rolled-back: x failed, y skipped", "b unchanged: x skipped", "c changed: x done"},
			"apply a/v.x: fault"},
		{"a later step fails", []string{"apply a/v.y", "begin c"}, RunRolledBack, []string{
			"a rolled-back: x rolled-back, y failed", "b *: x *", "c unchanged: x skipped"}, "apply a/v.y: fault"},
		{"what is needed cannot commit", []string{"commit a", "begin c"}, RunRolledBack, []string{
			"a rolled-back: x rolled-back, y rolled-back", "b *: x *", "c unchanged: x skipped"}, "commit on a: fault"},
		{"putting back fails", []string{"apply a/v.y", "abort a", "begin c"}, RunChanged, []string{
			"a unknown: x unknown, y failed", "b *: x *", "c unchanged: x skipped"}, "put a back: fault"},
		{"what needs it fails", []string{"apply b"}, RunChanged, []string{
			"a changed: x done, y done", "b rolled-back: x failed", "c changed: x done"}, "apply b/v.x"},
		{"an effect is not proven", []string{"verify a/v.x"}, RunChanged, []string{
			"a changed: x failed-verify, y done", "b changed: x done", "c changed: x done"}, "verify a/v.x: fault"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, w := within(t), newWorld()
			w.want("a/v.x", "1")
			w.want("a/v.y", "1")
			w.want("b/v.x", "1", "a/v.x")
			w.want("c/v.x", "1")
			in := w.input()
			p := mustMake(t, ctx, in)
			w.failOn(tt.faults...)
			res, err := Apply(ctx, p, in)
			got := outcomes(res)
			for i, line := range tt.want {
				// Whether b had begun when a failed is a matter of timing.
				began := strings.ReplaceAll(line, "b *: x *", "b rolled-back: x rolled-back")
				not := strings.ReplaceAll(line, "b *: x *", "b unchanged: x skipped")
				if got[i] != began && got[i] != not {
					t.Errorf("got %q, want %q", got[i], line)
				}
			}
			if res.Outcome() != tt.outcome {
				t.Errorf("the run is %s, want %s", res.Outcome(), tt.outcome)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// A device does not commit while what it needs may still be reverted.
func TestCommitWaits(t *testing.T) {
	ctx, w := within(t), newWorld()
	w.want("a/v.x", "1")
	w.want("b/v.x", "1", "a/v.x")
	in := w.input()
	p := mustMake(t, ctx, in)
	w.failOn("commit a")
	inner, bApplied := w.fault, make(chan struct{})
	w.fault = func(call string, nth int) error {
		if call == "apply b/v.x" {
			close(bApplied)
		}
		return inner(call, nth)
	}
	// a's commit begins only when b has applied, so that b always is ahead.
	in.Devices = map[string]Device{"a": &slowCommit{w.device("a"), bApplied}, "b": w.device("b")}
	res, err := Apply(ctx, p, in)
	if err == nil || w.called("commit b") != 0 || res.Outcome() != RunRolledBack {
		t.Errorf("error %v, outcome %s, calls %v", err, res.Outcome(), w.calls)
	}
	if len(w.device("b").values) != 0 {
		t.Errorf("b keeps %v", w.device("b").values)
	}
	if got := res.Devices[1].Err.Error(); got != "keep the changes of b: it needs a/v.x, which is being reverted" {
		t.Errorf("b says %s", got)
	}
}

type slowCommit struct {
	*fakeDevice
	until <-chan struct{}
}

func (d *slowCommit) Commit(ctx context.Context) error {
	<-d.until
	return d.fakeDevice.Commit(ctx)
}

// Devices that need each other do not wait for each other for ever.
func TestDevicesThatNeedEachOther(t *testing.T) {
	ctx, w := within(t), newWorld()
	w.want("a/v.1", "1")
	w.want("b/v.1", "1", "a/v.1")
	w.want("a/v.2", "1", "b/v.1")
	w.want("b/v.2", "1", "a/v.2")
	in := w.input()
	in.Parallelism = 1
	res, err := Apply(ctx, mustMake(t, ctx, in), in)
	if err != nil || res.Outcome() != RunDone {
		t.Errorf("error %v, %v", err, outcomes(res))
	}
}

// The first Ctrl-C: the running step finishes, nothing new begins, and what
// has not committed is put back, really.
func TestApplyInterrupted(t *testing.T) {
	for _, at := range []string{"begin a", "apply a/v.1", "apply a/v.2", "commit a", "verify a/v.1"} {
		t.Run(at, func(t *testing.T) {
			w := newWorld()
			w.want("a/v.1", "1")
			w.want("a/v.2", "1")
			w.want("b/v.1", "1", "a/v.2")
			in := w.input()
			p := mustMake(t, within(t), in)
			ctx, cancel := context.WithCancel(within(t))
			w.fault = func(call string, _ int) error {
				if call == at {
					cancel()
				}
				return nil
			}
			res, err := Apply(ctx, p, in)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			want := map[string]string{
				"begin a":      "a unchanged: 1 skipped, 2 skipped",
				"apply a/v.1":  "a rolled-back: 1 rolled-back, 2 skipped",
				"apply a/v.2":  "a rolled-back: 1 rolled-back, 2 rolled-back",
				"commit a":     "a changed: 1 failed-verify, 2 failed-verify",
				"verify a/v.1": "a changed: 1 done, 2 failed-verify",
			}[at]
			if got := outcomes(res)[0]; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if w.called("commit b") != 0 && at != "verify a/v.1" {
				t.Errorf("b committed after the interruption: %v", w.calls)
			}
			if n := len(w.device("a").values); n != 0 && n != 2 {
				t.Errorf("a is left with %v", w.device("a").values)
			}
		})
	}
}

// syncBuffer is a journal that counts its syncs and can break.
type syncBuffer struct {
	bytes.Buffer
	syncs     int
	lines     int
	breakFrom int // from this line on nothing can be written; 0: never
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.lines++
	if b.breakFrom > 0 && b.lines >= b.breakFrom {
		return 0, errors.New("disk full")
	}
	return b.Buffer.Write(p)
}

func (b *syncBuffer) Sync() error { b.syncs++; return nil }

// Everything done to a device is announced in the journal before.
func TestJournal(t *testing.T) {
	ctx, w := within(t), newWorld()
	w.want("a/v.x", "1")
	w.want("a/v.y", "2")
	in := w.input()
	var j syncBuffer
	in.Journal = &j
	p := mustMake(t, ctx, in)
	w.fault = func(call string, _ int) error {
		do, what, _ := strings.Cut(call, " ")
		if !slices.Contains([]string{"begin", "apply", "commit", "abort"}, do) {
			return nil
		}
		if !strings.Contains(lastLine(j.String()), `"state":"start"`) || !strings.Contains(lastLine(j.String()), what) {
			t.Errorf("%s is not announced: %s", call, lastLine(j.String()))
		}
		if call == "apply a/v.y" {
			return errors.New("fault")
		}
		return nil
	}
	if _, err := Apply(ctx, p, in); err == nil {
		t.Fatal("no error")
	}
	var got []string
	lines := bufio.NewScanner(strings.NewReader(j.String()))
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.Device != "a" || r.Time.IsZero() {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(r.Do, " ", r.State, " ", r.ID)))
	}
	want := []string{"begin start", "begin done", "step start a/v.x", "step done a/v.x",
		"step start a/v.y", "step failed a/v.y", "abort start", "abort done"}
	if !slices.Equal(got, want) || j.syncs != len(want) {
		t.Errorf("journal %q, %d syncs", got, j.syncs)
	}
}

func lastLine(s string) string {
	s = strings.TrimSuffix(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Without a journal nothing goes on, but what was begun is put back.
func TestJournalBreaks(t *testing.T) {
	// Lines: 1, 2 begin; 3, 4 step; 5, 6 commit.
	tests := []struct {
		from    int
		want    string
		outcome RunOutcome
	}{
		{1, "a unchanged: x skipped", RunNothingChanged},
		{2, "a unchanged: x skipped", RunNothingChanged},
		{3, "a unchanged: x skipped", RunNothingChanged},
		{4, "a rolled-back: x failed", RunRolledBack},
		{5, "a rolled-back: x rolled-back", RunRolledBack},
		{6, "a changed: x done", RunChanged},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint("from line ", tt.from), func(t *testing.T) {
			ctx, w := within(t), newWorld()
			w.want("a/v.x", "1")
			in := w.input()
			in.Journal = &syncBuffer{breakFrom: tt.from}
			res, err := Apply(ctx, mustMake(t, ctx, in), in)
			if err == nil || !strings.Contains(err.Error(), "write the journal: disk full") {
				t.Errorf("error %v", err)
			}
			if got := outcomes(res)[0]; got != tt.want || res.Outcome() != tt.outcome {
				t.Errorf("got %q, %s", got, res.Outcome())
			}
		})
	}
}

// A line that a device refused reaches the events and the caller.
func TestApplyEvents(t *testing.T) {
	ctx, w := within(t), newWorld()
	w.want("a/v.x", "1")
	in := w.input()
	p := mustMake(t, ctx, in)
	w.fault = func(call string, _ int) error {
		if call == "apply a/v.x" {
			return fmt.Errorf("line 1: %w", &RefusedError{Line: "mtu 9216", Reply: "% Invalid command"})
		}
		return nil
	}
	w.events = nil
	_, err := Apply(ctx, p, in)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Line != "mtu 9216" {
		t.Errorf("error %v", err)
	}
	var types []EventType
	for _, e := range w.events {
		types = append(types, e.Type)
		if e.Type == EventApplyErrored && (e.Data["range"] != "fake.weft.hcl:1,1" || e.Data["line"] != "mtu 9216" || e.Data["reply"] != "% Invalid command") {
			t.Errorf("event %+v", e)
		}
	}
	want := []EventType{EventConnect, EventRead, EventApplyStart, EventApplyErrored, EventRollback}
	if !slices.Equal(types, want) {
		t.Errorf("events %v, want %v", types, want)
	}
}
