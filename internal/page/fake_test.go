package page

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// A fabric is devices in memory and a rollout over them, a phase for each, with runs
// that are kept in a directory.
type fabric struct {
	dir     string
	model   *inventory.Model
	wired   *inventory.Model // the same, with the cable that the page draws
	devices map[string]*box
	gate    func(context.Context) prove.Verdict // nil: all pass
	value   string
}

func newFabric(t testing.TB, devices ...string) *fabric {
	f := &fabric{dir: t.TempDir(), devices: map[string]*box{}, value: "new"}
	v := &inventory.Validation{Name: "healthy", Metrics: []*inventory.Metric{{Name: "drops", Source: "x", HasMax: true}}}
	v.Addr = "validation.healthy"
	r := &inventory.Rollout{Name: "all", MaxUnavailable: 1, MaxFailures: 1, OnFailure: rollout.RollbackAll}
	r.Addr = "rollout.all"
	f.model = &inventory.Model{Name: "test", Rollouts: []*inventory.Rollout{r}, Validations: []*inventory.Validation{v}}
	for _, name := range devices {
		f.devices[name] = &box{values: map[string]string{}}
		r.Phases = append(r.Phases, &inventory.Phase{Name: "phase-" + name, Select: []string{name}, Gate: []*inventory.Validation{v}})
	}
	wired := *f.model
	f.wired = &wired
	if len(devices) > 1 {
		leaf, server := &inventory.Switch{OS: "nxos"}, &inventory.Server{Host: "cn1"}
		leaf.Addr, server.Addr = devices[0], devices[1]
		nic := &inventory.RNIC{Name: "p0", Server: server}
		nic.Addr = devices[1] + ".rnic.p0"
		server.RNICs = []*inventory.RNIC{nic}
		cable := &inventory.Link{From: inventory.LinkEnd{Switch: leaf, Port: "p0"}, To: inventory.LinkEnd{RNIC: nic}}
		wired.Switches, wired.Servers, wired.Links = []*inventory.Switch{leaf}, []*inventory.Server{server}, []*inventory.Link{cable}
	}
	return f
}

// run plans and carries out.
func (f *fabric) run(ctx context.Context) error {
	e := &run.Env{Records: run.In(f.dir), By: "ann"}
	in := plan.Input{Owner: "test", Version: "v0", Devices: map[string]plan.Device{}, Parallelism: 2, Mine: e.Records.Mine}
	for _, phase := range f.model.Rollouts[0].Phases {
		name := phase.Select[0]
		in.Devices[name] = f.devices[name]
		for _, port := range []string{"p0", "p1"} {
			in.Items = append(in.Items, plan.Item{ID: plan.ID{Device: name, Kind: "setting", Name: port}, Resource: &setting{f.devices[name], port, f.value}, Blocks: []string{name}})
		}
	}
	site := &run.Site{Model: f.model, Input: in}
	e.Open = func(*plan.Plan) (*run.Site, error) { return site, nil }
	e.Measure = func(ctx context.Context, _ prove.Input) (*prove.Result, error) {
		verdict := prove.Pass
		if f.gate != nil {
			verdict = f.gate(ctx)
		}
		res := &prove.Result{}
		res.Add(&prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "drops", Pair: f.model.Rollouts[0].Phases[0].Name + " p0", Counted: true, Value: 7, Limit: 9, Verdict: verdict, Why: "a reason <i>why</i>"}}})
		return res, nil
	}
	made, err := site.Plan(ctx, site.Input, false)
	if err != nil {
		return err
	}
	return errors.Join(run.Start(ctx, e, site, made, run.Order{}), e.Records.Close())
}

// A box is a device in memory.
type box struct {
	plan.Unsupported
	mu     sync.Mutex
	values map[string]string
	before map[string]string
}

func (d *box) Capabilities() plan.Capabilities { return plan.Capabilities{Reverse: true} }

func (d *box) Open(context.Context) (plan.Identity, error) { return plan.Identity{MachineID: "m"}, nil }

func (d *box) Read(_ context.Context, rs []plan.Resource) ([]plan.State, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	states := make([]plan.State, len(rs))
	for i, r := range rs {
		v := d.values[r.(*setting).name]
		states[i] = &v
	}
	return states, nil
}

func (d *box) Begin(context.Context, []plan.Step) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = map[string]string{}
	for k, v := range d.values {
		d.before[k] = v
	}
	return nil
}

func (d *box) Apply(_ context.Context, s plan.Step) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[s.Resource.(*setting).name] = s.Resource.(*setting).value
	return nil
}

func (d *box) Commit(context.Context) error { return nil }

func (d *box) Abort(context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before != nil {
		d.values = d.before
	}
	return nil
}

func (d *box) Reverse(_ string, s plan.PlannedStep) (plan.Resource, error) {
	return &setting{d, s.ID.Name, ""}, nil
}

// A setting wants one value.
type setting struct {
	device      *box
	name, value string
}

func (r *setting) Diff(have plan.State) plan.Diff {
	was := *have.(*string)
	if was == r.value {
		return plan.Diff{}
	}
	return plan.Diff{Changes: []plan.Change{{Path: "value", Before: was, After: r.value}}, Send: []string{"set " + r.value}, Undo: []string{"set " + was}}
}

func (r *setting) Verify(context.Context) error { return nil }

// A visit is a page that is served, and a browser's jar.
type visit struct {
	*httptest.Server
	pages  *Pages
	client *http.Client // that follows no redirection

	mu     sync.Mutex
	tokens []string
}

func (v *visit) token() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.tokens[len(v.tokens)-1]
}

// visited serves the runs of directories.
func visited(t testing.TB, f *fabric) *visit {
	t.Helper()
	v := &visit{}
	door := &Door{Hosts: Loopback, Token: func(token string) {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.tokens = append(v.tokens, token)
	}}
	door.Open()
	viewer := run.In(f.dir).Viewer()
	var err error
	v.pages, err = New(Site{Title: "a test", Sources: func(context.Context) ([]Source, error) { return []Source{{"here", viewer}}, nil },
		Read: func(*plan.Plan) (*inventory.Model, error) { return f.wired, nil }}, door)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v.Server = httptest.NewUnstartedServer(v.pages)
	v.Config = server(ctx, v.pages, nil)
	v.Start()
	t.Cleanup(func() { cancel(); v.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: 2 * time.Minute}
	t.Cleanup(v.client.CloseIdleConnections)
	return v
}

// in logs in.
func (v *visit) in(t testing.TB) *visit {
	t.Helper()
	res, err := v.client.PostForm(v.URL+"/login", url.Values{"token": {v.token()}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != "/" {
		t.Fatalf("the token is answered with %s", res.Status)
	}
	return v
}

// latest is the run that began last.
func (f *fabric) latest(t testing.TB) string {
	t.Helper()
	list, err := run.In(f.dir).Viewer().Heads(context.Background())
	if err != nil || len(list) == 0 {
		t.Fatalf("no run: %v", err)
	}
	return list[0].ID
}

func has(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
