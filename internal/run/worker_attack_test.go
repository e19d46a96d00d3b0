package run

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/approve"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// An attacker writes to the store as a pipeline may, and asks the worker of dc1.
type attacker struct {
	*fabric
	w    *Worker
	made *plan.Plan
	rec  *Record
	key  ssh.Signer
}

// attack begins a run of signed phases whose head anybody may write.
func attack(t *testing.T) *attacker {
	a := &attacker{fabric: sited(t, sharedAt(t, t.TempDir()))}
	for _, p := range a.model.Rollouts[0].Phases {
		p.Approve, p.Approvals = "signed", 1
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if a.key, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	known, err := approve.NewSigners("list", append([]byte("ann@x "), ssh.MarshalAuthorizedKey(a.key.PublicKey())...), "")
	if err != nil {
		t.Fatal(err)
	}
	a.w = a.worker("dc1")
	a.w.Env.Signers = known
	a.w.crews, a.w.clear, a.w.Env.Pauses = map[string]*staged{}, map[cleared]bool{}, new(Pauses)
	e := a.env()
	s := a.site(e)
	if a.made, err = s.Plan(within(t), s.Input, true); err != nil {
		t.Fatal(err)
	}
	a.made.Run = plan.NewRunID(time.Now())
	run := rollout.NewRun(a.made.Run, SpecOf(a.model), a.made, time.Now())
	a.rec, err = e.create(within(t), a.made, run.ID, func(h *Head) { h.Rollout, h.Sites = run.Rollout, []string{"dc1", "dc2"}; h.put(run) })
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// names has the head name another plan than the first, of which it returns the digest.
func (a *attacker) names(t *testing.T, other *plan.Plan) store.Digest {
	t.Helper()
	d, err := putPlan(within(t), a.rec.store, other)
	if err != nil {
		t.Fatal(err)
	}
	a.head(t, func(h *Head) { h.Plan = d })
	return d
}

// head rewrites the head of the run.
func (a *attacker) head(t *testing.T, change func(*Head)) {
	t.Helper()
	change(a.rec.Head)
	text, err := json.Marshal(a.rec.Head)
	if err == nil {
		err = put(within(t), a.rec.store, keyRun(a.rec.ID), text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// signs approves phases of a plan.
func (a *attacker) signs(t *testing.T, d store.Digest, expires time.Time, phases ...string) {
	t.Helper()
	for _, phase := range phases {
		s := &approve.Statement{Owner: "test", Run: a.rec.ID, Phase: phase, Plan: string(d), Signers: a.w.Env.Signers.Digest, Expires: expires.UTC().Truncate(time.Second)}
		x, err := s.Sign(a.key, nil)
		if err == nil {
			err = a.rec.PutApproval(within(t), phase, "ann", x.Joined())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// asks has the worker do a task now, and returns what it says.
func (a *attacker) asks(t *testing.T, job *task) string {
	t.Helper()
	job.Run, job.ID, job.Lead = a.rec.ID, rand.Text(), "attacker"
	rec, err := a.w.Env.Records.glance(within(t), a.rec.ID)
	if err != nil {
		t.Fatal(err)
	}
	o, _, err := a.w.do(context.Background(), job, rec)
	if err != nil {
		t.Fatal(err)
	}
	if o.Err == nil {
		return ""
	}
	return o.Err.Text
}

// refused demands that the worker refuses, and that no device has changed.
func (a *attacker) refused(t *testing.T, job *task, why string) {
	t.Helper()
	if says := a.asks(t, job); !strings.Contains(says, why) {
		t.Errorf("%s of phase %q: it says %q, wanted %q", job.Do, job.Phase, says, why)
	}
	if n := len(a.w.Env.site(t).steps()); n != 0 {
		t.Errorf("%s of phase %q: %d steps were carried out", job.Do, job.Phase, n)
	}
}

// site is the fabric of the worker's process.
func (e *Env) site(t *testing.T) *fabric {
	t.Helper()
	s, err := e.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s.Input.Devices["a"].(*box).fabric
}

func (a *attacker) steps(phase string) (ids []plan.ID) {
	for _, s := range a.made.Steps {
		if s.Phase == phase && s.ID.Device == "a" {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// A worker carries out the plan that was approved, and not the one that the head named when
// it first looked.
func TestWorkerPlanSwitched(t *testing.T) {
	t.Parallel()
	a := attack(t)
	approved := a.rec.Head.Plan
	other := *a.made
	other.Version = "v6.6.6" // a plan that nobody has signed
	evil := a.names(t, &other)
	a.signs(t, approved, time.Now().Add(time.Hour), "phase-a", "phase-b")
	job := func() *task { return &task{Do: jobApply, Phase: "phase-a", Steps: a.steps("phase-a")} }
	a.refused(t, job(), "it is for another plan")
	a.head(t, func(h *Head) { h.Plan = approved })
	rec, err := a.w.Env.Records.glance(within(t), a.rec.ID)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.w.staged(within(t), rec)
	if err != nil || s.plan.Version == other.Version {
		t.Fatalf("the head names %s, and the plan of %s is carried out: %v", approved, s.plan.Version, err)
	}
	if says := a.asks(t, job()); says != "" {
		t.Fatalf("what was approved is refused: %s", says)
	}
	a.head(t, func(h *Head) { h.Plan = evil }) // what was found approved was another plan
	if says := a.asks(t, job()); !strings.Contains(says, "it is for another plan") {
		t.Errorf("it says %q", says)
	}
	// Approvals are judged on the plan in hand, whatever the head says meanwhile.
	if s, err = a.w.staged(within(t), rec); err != nil {
		t.Fatal(err)
	}
	s.rec.Head.Plan = evil
	if _, _, err := s.approved(within(t), &s.spec.Phases[0], ""); err != nil {
		t.Errorf("the plan in hand was approved: %v", err)
	}
}

// A reverse, a mark and the order of phases need the same proof as an apply.
func TestWorkerProof(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signs []string
		late  bool // what was signed has expired
		head  func(*Head)
		job   func(a *attacker) *task
		why   string // "": it is done
	}{
		"reverse of an unapproved phase": {head: reversing, job: reverseA, why: `phase "phase-a" is not approved`},
		"reverse in a running run":       {signs: []string{"phase-a"}, job: reverseA, why: "nothing of it is reverted"},
		"reverse of an approved phase":   {signs: []string{"phase-a"}, head: reversing, job: reverseA},
		"reverse after the approval":     {signs: []string{"phase-a"}, late: true, head: reversing, job: reverseA},
		"apply after the approval":       {signs: []string{"phase-a"}, late: true, job: applyA, why: "it expired at"},
		"apply of an unknown phase":      {signs: []string{"phase-a"}, job: func(a *attacker) *task { return &task{Do: jobApply, Phase: "phase-z"} }, why: `no phase "phase-z"`},
		"second phase first": {signs: []string{"phase-a", "phase-b"}, job: func(a *attacker) *task { return &task{Do: jobApply, Phase: "phase-b"} },
			why: `phase "phase-a" before it is pending`},
		"first phase said to have passed": {signs: []string{"phase-b"}, head: func(h *Head) { h.Phases[0].State = rollout.Passed },
			job: func(a *attacker) *task { return &task{Do: jobApply, Phase: "phase-b"} }, why: `phase "phase-a" is not approved`},
		"first phase left out": {signs: []string{"phase-b"}, head: func(h *Head) { h.Phases = h.Phases[1:] },
			job: func(a *attacker) *task { return &task{Do: jobApply, Phase: "phase-b"} }, why: `leaves out phase "phase-a" before it`},
		"phases in another order": {signs: []string{"phase-b"}, head: func(h *Head) { h.Phases[0], h.Phases[1] = h.Phases[1], h.Phases[0] },
			job: func(a *attacker) *task { return &task{Do: jobApply, Phase: "phase-b"} }, why: "is not one of a rollout that its own plan describes"},
		"keep of an unapproved phase": {job: func(a *attacker) *task { return &task{Do: jobKeep, Devices: []string{"a"}} }, why: `phase "phase-a" is not approved`},
		"keep of a strange device":    {signs: []string{"phase-a"}, job: func(a *attacker) *task { return &task{Do: jobKeep, Devices: []string{"b"}} }, why: "the plan changes nothing there"},
		"keep of an approved phase":   {signs: []string{"phase-a"}, late: true, job: func(a *attacker) *task { return &task{Do: jobKeep, Devices: []string{"a"}} }},
		"mark of another run": {job: func(a *attacker) *task {
			return &task{Do: jobMark, Devices: []string{"a"}, Mark: &plan.Mark{Owner: "test", Run: "another", Plan: strings.TrimPrefix(string(a.rec.Head.Plan), "sha256-")}}
		}, why: "a mark of run another"},
		"mark of another plan": {job: func(a *attacker) *task {
			return &task{Do: jobMark, Devices: []string{"a"}, Mark: &plan.Mark{Owner: "test", Run: a.rec.ID, Plan: "00"}}
		}, why: "and plan sha256-00 is asked for"},
		"a job that nobody knows": {job: func(a *attacker) *task { return &task{Do: "wipe"} }, why: `"wipe" is asked for`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attack(t)
			until := time.Now().Add(time.Hour)
			if c.late {
				until = time.Now().Add(-time.Hour)
			}
			a.signs(t, a.rec.Head.Plan, until, c.signs...)
			if c.head != nil {
				a.head(t, c.head)
			}
			if c.why != "" {
				a.refused(t, c.job(a), c.why)
			} else if says := a.asks(t, c.job(a)); says != "" {
				t.Errorf("it is refused: %s", says)
			}
		})
	}
}

func reversing(h *Head) { h.State, h.Phases[0].State = rollout.Reversing, rollout.Reversing }

func reverseA(a *attacker) *task {
	return &task{Do: jobReverse, Phase: "phase-a", Steps: a.steps("phase-a")}
}

func applyA(a *attacker) *task {
	return &task{Do: jobApply, Phase: "phase-a", Steps: a.steps("phase-a")}
}

// switching is a store in which a worker rewrites its answer as soon as it was read.
type switching struct {
	store.Store
	t    *testing.T
	then []byte
}

func (s *switching) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := s.Store.Get(ctx, key)
	if then := s.then; err == nil && strings.HasSuffix(key, "/done") && then != nil {
		s.then = nil
		if err := put(ctx, s.Store, key, then); err != nil {
			s.t.Fatal(err)
		}
	}
	return e, err
}

// The leader deletes no blob because a worker names it.
func TestWorkerNamesBlobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, then string }{
		"instead of an answer":         {`{"blob":"PLAN"}`, ""},
		"after an answer":              {`{"value":{"task":"T","by":"w","seen":{"judgements":[{"validation":"healthy","verdict":"pass"}]}}}`, `{"blob":"PLAN"}`},
		"beside an answer":             {`{"blob":"PLAN","value":{"task":"T","by":"w"}}`, ""},
		"a blob that is not there":     {`{"blob":"sha256-` + strings.Repeat("0", 64) + `"}`, ""},
		"something that is no digest":  {`{"blob":"../../run"}`, ""},
		"an answer that takes no blob": {`{"value":{"task":"T","by":"w"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attack(t)
			ctx := within(t)
			fill := func(text string) []byte { return []byte(strings.ReplaceAll(text, "PLAN", string(a.rec.Head.Plan))) }
			key := keySite(a.rec.ID, "dc1") + "/done"
			if err := put(ctx, a.rec.store, key, fill(c.first)); err != nil {
				t.Fatal(err)
			}
			e := a.env()
			rec := *a.rec
			if c.then != "" {
				rec.store = &switching{a.rec.store, t, fill(c.then)}
			}
			s := &staged{env: e, site: a.site(e), spec: SpecOf(a.model), plan: a.made, run: rec.Run, rec: &rec}
			crew := &crew{run: s, of: map[string]string{"a": "dc1", "b": "dc2"}}
			if o, err := crew.came(ctx, "dc1", &task{ID: "T", Do: jobMeasure, Validations: []string{"healthy"}}); err != nil {
				t.Fatalf("%+v, %v", o, err)
			}
			if _, err := a.rec.PlanText(ctx); err != nil {
				t.Errorf("the plan is gone: %v", err)
			}
		})
	}
	// A run that never began takes what workers have written, and no blob with it.
	a := attack(t)
	ctx := within(t)
	other, err := a.rec.store.PutBlob(ctx, strings.NewReader("another's"))
	if err == nil {
		err = put(ctx, a.rec.store, keySite(a.rec.ID, "dc1")+"/done", []byte(`{"blob":"`+string(other)+`"}`))
	}
	if err == nil {
		err = a.rec.drop(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readBlob(ctx, a.rec.store, other, 100); err != nil {
		t.Errorf("another's blob is gone: %v", err)
	}
}

// Documents and blobs that are read from a store have a size limit.
func TestLargeIsBounded(t *testing.T) {
	t.Parallel()
	a := attack(t)
	ctx := within(t)
	d, err := a.rec.store.PutBlob(ctx, strings.NewReader("0123456789"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := readBlob(ctx, a.rec.store, d, 10); err != nil || len(text) != 10 {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := readBlob(ctx, a.rec.store, d, 9); !isCorrupt(err) {
		t.Errorf("one byte more is read: %v", err)
	}
	e := store.Entry{Key: "k", Value: []byte(`{"value":"` + strings.Repeat("x", store.MaxValue) + `"}`)}
	if err := openLarge(ctx, a.rec.store, e, new(string)); !isCorrupt(err) {
		t.Errorf("a document that is too large is read: %v", err)
	}
}
