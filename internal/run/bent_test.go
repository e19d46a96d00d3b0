package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// bends are copies of a JSON document, each with another value in one place.
func bends(t testing.TB, text []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	render := func(at string) {
		bent, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		out[at] = bent
	}
	var walk func(at string, have any, set func(any))
	walk = func(at string, have any, set func(any)) {
		for i, other := range []any{nil, map[string]any{}, []any{}, []any{nil}, "", "no such thing", -1, true} {
			set(other)
			render(fmt.Sprintf("%s=%d", at, i))
		}
		set(have)
		switch have := have.(type) {
		case map[string]any:
			for key, value := range have {
				walk(at+"."+key, value, func(v any) { have[key] = v })
				delete(have, key)
				render(at + "." + key + " is missing")
				have[key] = value
			}
		case []any:
			for i, value := range have {
				walk(fmt.Sprintf("%s[%d]", at, i), value, func(v any) { have[i] = v })
			}
			set(append(have, have...))
			render(at + " twice")
			set(have)
		}
	}
	walk("", doc, func(v any) { doc = v })
	return out
}

// one is a store that has one document.
type one struct {
	store.Store
	text []byte
}

func (s one) Get(_ context.Context, key string) (store.Entry, error) {
	return store.Entry{Key: key, Value: s.text, Revision: 1}, nil
}

func (s one) Blob(context.Context, store.Digest) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(s.text)), nil
}

// honest are answers of the worker of dc1 to tasks.
func honest(made *plan.Plan) map[*task]*outcome {
	var ids []plan.ID
	res := &plan.Result{}
	for _, s := range made.Steps {
		if s.ID.Device == "a" {
			ids = append(ids, s.ID)
			if res.Devices == nil {
				res.Devices = []plan.DeviceResult{{Device: "a", Outcome: plan.DeviceChanged}}
			}
			res.Devices[0].Steps = append(res.Devices[0].Steps, plan.StepResult{ID: s.ID, Outcome: plan.StepDone})
		}
	}
	seen := &prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "p99", Pair: "a to b", Verdict: prove.Pass, Interval: &prove.Interval{}}},
		Rows: []*prove.Row{{Initiator: "a", Target: "b"}}, Local: []*prove.Row{{Initiator: "a"}},
		Compared: []*prove.Comparison{{Initiator: "a", Ways: []*prove.Compared{{Over: "tcp"}}}}, Loads: []*prove.Load{{Initiator: "a"}},
		After: &prove.Snapshot{Samples: []prove.Sample{{Counter: prove.Counter{Device: "a"}}}, Missing: []prove.Missing{{Device: "a"}}, Agents: map[string]time.Time{"a": {}}}, Verdict: prove.Pass}
	failed := plan.Report(&plan.HeldError{Device: "a", Holder: "x"})
	failed.Stale, failed.Wrong, failed.Unreachable = &plan.StaleError{Moved: []plan.Moved{{ID: ids[0]}}}, &plan.WrongDeviceError{Device: "a"}, []string{"a"}
	failed.Held.Mark = &plan.Mark{Owner: "test"}
	return map[*task]*outcome{
		{ID: "T", Do: jobApply, Phase: "phase-a", Steps: ids}:               {Result: res},
		{ID: "T", Do: jobReverse, Phase: "phase-a", Steps: ids}:             {Result: res},
		{ID: "T", Do: jobMeasure, Validations: []string{"healthy"}}:         {Seen: seen},
		{ID: "T", Do: jobApply, Phase: "phase-a", Steps: ids, Run: "fails"}: {Err: failed, Cause: Taken, Alarm: &rollout.Alarm{Verdict: rollout.Fail}},
		{ID: "T", Do: jobUnmark, Devices: []string{"a"}}:                    {Left: []string{"a"}},
	}
}

// leader is who asks dc1, with the steps of a and b.
func leader(t testing.TB) (*crew, *plan.Plan) {
	t.Helper()
	f := newFabric(t.TempDir())
	e := f.env()
	site := f.site(e)
	made, err := site.Plan(context.Background(), site.Input, true)
	if err != nil {
		t.Fatal(err)
	}
	spec := SpecOf(f.model)
	s := &staged{env: e, site: site, spec: spec, plan: made, run: rollout.NewRun("r", spec, made, time.Now())}
	return &crew{run: s, of: map[string]string{"a": "dc1", "b": "dc2"}}, made
}

// takes reads an answer as the leader does, and demands that nothing of it is believed that
// was not asked for.
func takes(t *testing.T, c *crew, made *plan.Plan, job *task, text []byte) {
	rec := &Record{Head: &Head{ID: "r"}, store: one{text: text}}
	o, _, err := rec.told(context.Background(), "dc1", job.ID)
	if err != nil || o == nil {
		return
	}
	asked := chosen(job.Steps)
	part := made.Part(func(s plan.PlannedStep) bool { return asked(s) && c.of[s.ID.Device] == "dc1" })
	o = o.answered("dc1", job, part, func(d string) bool { return d == "a" })
	_ = fmt.Sprint(o.err("dc1"))
	switch job.Do {
	case jobApply, jobReverse:
		res, _ := c.applied(part, "dc1", o)
		all, _ := plan.JoinResults(part, []*plan.Result{res})
		_ = fmt.Sprint(all.Outcome(), all.Paused(), all.Held(), all.Overtaken(), all.Err())
		for _, d := range all.Devices {
			_ = fmt.Sprint(d.Err)
			for _, s := range d.Steps {
				_ = fmt.Sprint(s.Err)
				if job.Do == jobApply && all.Err() == nil && s.Outcome != plan.StepDone && s.Outcome != plan.StepAlready {
					t.Errorf("%s\nall is done, and %s is %s", text, s.ID, s.Outcome)
				}
			}
			if d.Device != "a" {
				t.Errorf("%s\nit answers for %s", text, d.Device)
			}
		}
	case jobMeasure:
		res, err := joinMeasured(map[string]*outcome{"dc1": o})
		switch {
		case err != nil:
		case res == nil:
			t.Errorf("%s\nthere is neither a measurement nor an error", text)
		default:
			verdict, _ := c.run.weigh(res)
			look := soakSample(Kept{Result: res})
			_, err := json.Marshal(look)
			if len(res.Judgements) == 0 || verdict == "" || err != nil {
				t.Errorf("%s\n%q of %d judgements, %v", text, verdict, len(res.Judgements), err)
			}
			new(prove.Baseline).Record(res, time.Now())
			if res.After != nil {
				_ = res.After.Since(nil)
			}
		}
	case jobUnmark:
		for _, d := range o.Left {
			if d != "a" {
				t.Errorf("%s\nit answers for %s", text, d)
			}
		}
	case jobMark, jobKeep:
	}
}

// No answer of a worker ends its leader, or is believed beyond what was asked.
func TestBentAnswers(t *testing.T) {
	t.Parallel()
	c, made := leader(t)
	for job, o := range honest(made) {
		o.Task, o.By = job.ID, "worker"
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(heldValue{Value: raw})
		if err != nil {
			t.Fatal(err)
		}
		again := new(outcome)
		if err := json.Unmarshal(raw, again); err != nil {
			t.Fatal(err)
		}
		part := made.Part(chosen(job.Steps))
		if said := again.answered("dc1", job, part, func(string) bool { return true }); said != again {
			t.Errorf("%s: an honest answer is refused: %v", job.Do, said.err("dc1"))
		}
		for at, bent := range bends(t, text) {
			func() {
				defer func() {
					if r := recover(); r != nil {
						t.Errorf("%s with %s: %v", job.Do, at, r)
					}
				}()
				takes(t, c, made, job, bent)
			}()
		}
	}
}

// The same of any text.
func FuzzAnswer(f *testing.F) {
	c, made := leader(f)
	jobs := honest(made)
	for job, o := range jobs {
		o.Task, o.By = job.ID, "worker"
		if raw, err := json.Marshal(o); err == nil {
			f.Add(raw)
		}
	}
	f.Add([]byte(`{"task":"T"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for job := range jobs {
			takes(t, c, made, job, []byte(`{"value":`+string(raw)+`}`))
		}
	})
}

// A site answers for its own devices and steps, and for nothing else.
func TestAnswersForAnother(t *testing.T) {
	t.Parallel()
	c, made := leader(t)
	part := made.Part(func(s plan.PlannedStep) bool { return s.Phase == "phase-a" })
	job := &task{ID: "T", Do: jobApply, Phase: "phase-a"}
	for _, s := range part.Steps {
		job.Steps = append(job.Steps, s.ID)
	}
	done := func(device string) *plan.Result {
		r := &plan.Result{Devices: []plan.DeviceResult{{Device: device, Outcome: plan.DeviceChanged}}}
		for _, s := range made.Steps {
			if s.ID.Device == device {
				r.Devices[0].Steps = append(r.Devices[0].Steps, plan.StepResult{ID: s.ID, Outcome: plan.StepDone})
			}
		}
		return r
	}
	here := func(d string) bool { return c.of[d] == "dc1" }
	o := &outcome{Task: "T", By: "w", Result: &plan.Result{Devices: append(done("a").Devices, done("b").Devices...)}}
	o = o.answered("dc1", job, part, here)
	if o.Err != nil || len(o.Result.Devices) != 1 || o.Result.Devices[0].Device != "a" {
		t.Errorf("it is taken as %+v: %v", o.Result, o.Err)
	}
	o = (&outcome{Task: "T", By: "w", Result: done("b")}).answered("dc1", job, part, here)
	if o.Err == nil || o.Result.Devices[0].Outcome != plan.DeviceUnknown {
		t.Errorf("what it says of another device is an answer: %+v", o.Result)
	}
	seen := &prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Verdict: prove.Pass}}, Rows: []*prove.Row{{Initiator: "a"}, {Initiator: "b"}},
		After: &prove.Snapshot{Samples: []prove.Sample{{Counter: prove.Counter{Device: "a"}}, {Counter: prove.Counter{Device: "b"}}}}}
	o = (&outcome{Task: "T", By: "w", Seen: seen}).answered("dc1", &task{ID: "T", Do: jobMeasure, Validations: []string{"validation.healthy"}}, part, here)
	if o.Err != nil || len(o.Seen.Rows) != 1 || len(o.Seen.After.Samples) != 1 {
		t.Errorf("it measures for another: %+v, %v", o.Seen, o.Err)
	}
	o = (&outcome{Task: "T", By: "w", Seen: seen}).answered("dc1", &task{ID: "T", Do: jobMeasure, Validations: []string{"validation.other"}}, part, here)
	if o.Err == nil {
		t.Error("it judges what was not asked for")
	}
}

// A worker that answers with nothing but the task is an error of its site, and the leader
// goes on to say so.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	for _, of := range []job{jobMark, jobApply, jobMeasure} {
		t.Run(string(of), func(t *testing.T) {
			t.Parallel()
			f := sited(t, sharedAt(t, t.TempDir()))
			f.model.Rollouts[0].MaxFailures = 0
			f.crewAt(t, "dc2")
			r := f.records().ForSite("dc1")
			ctx, end := context.WithCancel(within(t))
			defer end()
			led := make(chan error, 1)
			e := f.env()
			go func() { led <- f.lead(ctx, e) }()
			honest := f.worker("dc1")
			honest.crews, honest.clear, honest.Env.Pauses = map[string]*staged{}, map[cleared]bool{}, new(Pauses)
			defer honest.close()
			answered := ""
			for answered == "" {
				if ctx.Err() != nil {
					t.Fatal("it is never asked")
				}
				asked, err := r.task(ctx, false, "dc1")
				if err != nil {
					t.Fatal(err)
				}
				if asked == nil {
					time.Sleep(shortIdle)
					continue
				}
				if asked.Do != of {
					if _, _, err := honest.turn(ctx); err != nil {
						t.Fatal(err)
					}
					continue
				}
				answered = asked.ID
				s, err := r.use(ctx)
				if err == nil {
					err = put(ctx, s, keySite(asked.Run, "dc1")+"/done", []byte(`{"value":{"task":"`+asked.ID+`"}}`))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			f.crewAt(t, "dc1") // for what follows: marks that are taken away, a rollback
			if err := <-led; err == nil || !strings.Contains(err.Error(), "site dc1: its answer is incomplete") {
				t.Errorf("it is led to %v", err)
			}
		})
	}
}
