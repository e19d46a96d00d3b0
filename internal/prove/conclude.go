package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/language"
)

// A Check is a check block, judged by what was observed.
type Check struct {
	Name    string  `json:"name"` // check.two-planes
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"` // what the files say of a failure, or what is not known
	Place   string  `json:"place,omitempty"`
}

// An Output is an output block, computed with what was observed.
type Output struct {
	Name      string          `json:"name"`
	Value     json.RawMessage `json:"value,omitempty"` // absent where it is sensitive or not known
	Text      string          `json:"text,omitempty"`  // the value as the files would have it
	Sensitive bool            `json:"sensitive,omitempty"`
	Why       string          `json:"why,omitempty"` // it is not known
}

// An Attached is what a server has of the connections of an initiator.
type Attached struct {
	LivePaths int            // to the subsystem that has fewest
	Live      map[string]int // live connections that give storage, by the NQN of the subsystem
	Idle      []Idle         // live ones that give none
	Devices   []string       // block devices
}

// Conclude judges the checks of a model and computes its outputs, asking the
// initiators that they speak of. What a device does not tell leaves a check
// without a verdict.
func Conclude(ctx context.Context, in Input) ([]Check, []Output) {
	r := &run{in: in, hosts: hosts{dial: in.Host}}
	return r.conclude(ctx)
}

func (r *run) conclude(ctx context.Context) ([]Check, []Output) {
	m := r.in.Model
	if len(m.Checks)+len(m.Outputs) == 0 {
		return nil, nil
	}
	o := r.observer(ctx)
	o.askAhead(spokenOf(m))
	return judgeChecks(m, o.observe), computeOutputs(m, o.observe)
}

// observer asks the initiators of the run, each once.
func (r *run) observer(ctx context.Context) *observer {
	if r.asking == nil {
		r.asking = &observer{ask: map[string]func() (*Attached, error){}, baselines: map[string]func() (cty.Value, error){}}
		for _, v := range r.in.Model.Validations {
			r.asking.baselines[v.Addr] = sync.OnceValues(func() (cty.Value, error) { return r.baselineOf(v) })
		}
		for _, i := range r.in.Model.Initiators {
			r.asking.ask[i.Addr] = sync.OnceValues(func() (*Attached, error) { return r.attached(ctx, i) })
		}
	}
	return r.asking
}

func (r *run) attached(ctx context.Context, i *inventory.Initiator) (*Attached, error) {
	if r.in.Attached == nil || i.Server == nil {
		return nil, errors.New("its server was not asked")
	}
	host, err := r.hosts.of(ctx, i.Server)
	if err != nil {
		return nil, err
	}
	return r.in.Attached(ctx, host, i)
}

// An observer asks each initiator once, and looks each baseline up once.
type observer struct {
	ask       map[string]func() (*Attached, error)
	baselines map[string]func() (cty.Value, error) // by validation
}

// askAhead asks many at the same time; the answers are kept.
func (o *observer) askAhead(addrs []string) {
	asking := newQuestions()
	for _, addr := range addrs {
		asking.Go(func() {
			if ask := o.ask[addr]; ask != nil {
				_, _ = ask() // observe asks again
			}
		})
	}
	asking.Wait()
}

// observe implements inventory.Observed.
func (o *observer) observe(addr, attr string) (cty.Value, error) {
	if known := o.baselines[addr]; known != nil && attr == "baseline" {
		return known()
	}
	ask := o.ask[addr]
	if ask == nil {
		return cty.NilVal, errors.New("it is not observed")
	}
	a, err := ask()
	if err != nil {
		return cty.NilVal, err
	}
	switch attr {
	case "live_paths":
		return cty.NumberIntVal(int64(a.LivePaths)), nil
	case "devices":
		list := slice.Map(a.Devices, cty.StringVal)
		if list == nil {
			return cty.ListValEmpty(cty.String), nil
		}
		return cty.ListVal(list), nil
	}
	return cty.NilVal, fmt.Errorf("%s is not observed", attr)
}

// spokenOf are the instances whose observed values checks and outputs use, as
// far as that shows before any of them is known.
func spokenOf(m *inventory.Model) []string {
	var addrs []string
	note := inventory.Observed(func(addr, _ string) (cty.Value, error) {
		if !slices.Contains(addrs, addr) {
			addrs = append(addrs, addr)
		}
		return cty.DynamicVal, nil
	})
	for _, c := range m.Checks {
		for _, a := range c.Asserts {
			_, _ = m.Evaluate(a.Condition, note) // what is wrong shows when it is judged
		}
	}
	for _, o := range m.Outputs {
		_, _ = m.Evaluate(o.Value, note)
	}
	return addrs
}

func judgeChecks(m *inventory.Model, seen inventory.Observed) []Check {
	var out []Check
	for _, c := range m.Checks {
		verdict := Check{Name: c.Addr, Verdict: Pass, Place: fmt.Sprintf("%s:%d", c.Range.Filename, c.Range.Start.Line)}
		for _, a := range c.Asserts {
			is, why := assert(m, a, seen)
			if Worse(verdict.Verdict, is) != verdict.Verdict {
				verdict.Verdict, verdict.Why = is, why
			}
			if is == Fail {
				break
			}
		}
		out = append(out, verdict)
	}
	return out
}

// assert judges one condition: only true passes.
func assert(m *inventory.Model, a inventory.Assert, seen inventory.Observed) (v Verdict, why string) {
	is, diags := m.Evaluate(a.Condition, seen)
	if diags.HasErrors() {
		return Inconclusive, said(diags)
	}
	is, _ = is.UnmarkDeep()
	switch {
	case is.IsNull() || !is.IsKnown() || is.Type() != cty.Bool:
		return Inconclusive, "its condition is neither true nor false"
	case is.True():
		return Pass, ""
	}
	text, diags := m.Evaluate(a.ErrorMessage, seen)
	if diags.HasErrors() {
		return Fail, "its message cannot be evaluated: " + said(diags)
	}
	if text.IsMarked() || text.IsNull() || !text.IsKnown() || text.Type() != cty.String {
		return Fail, "its message cannot be shown"
	}
	return Fail, text.AsString()
}

// said is the first error of diagnostics.
func said(diags hcl.Diagnostics) string {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return strings.TrimSuffix(d.Summary+": "+d.Detail, ".")
		}
	}
	return "it cannot be computed"
}

func computeOutputs(m *inventory.Model, seen inventory.Observed) []Output {
	var out []Output
	for _, o := range m.Outputs {
		one := Output{Name: o.Name, Sensitive: o.Sensitive}
		v, diags := m.Evaluate(o.Value, seen)
		shown := language.Shown(v)
		switch {
		case diags.HasErrors():
			one.Why = said(diags)
		case !v.IsWhollyKnown():
			one.Why = "it depends on what is not known"
		case o.Sensitive:
		default:
			one.Text = shown.HCL()
			raw, err := shown.MarshalJSON()
			if err != nil {
				one.Text, one.Why = "", err.Error()
			}
			one.Value = raw
		}
		out = append(out, one)
	}
	return out
}
