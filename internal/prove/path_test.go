package prove

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/inventory"
)

func TestLocate(t *testing.T) {
	for _, tt := range []struct {
		bad, good [][]string
		want      string
	}{
		{nil, nil, ""},
		{[][]string{{"a", "b", "c"}}, nil, "undecided between a, b and c"},
		{[][]string{{"a", "b", "c"}}, [][]string{{"a", "x"}, {"y", "c"}}, "at b"},
		{[][]string{{"a", "b"}, {"c", "b"}}, nil, "at b"},
		{[][]string{{"a", "b"}, {"c", "d"}}, nil, "in more than one place"},
		{[][]string{{"a", "b"}}, [][]string{{"a", "x"}, {"b", "x"}}, ""},
		{[][]string{{"a", "b"}, {"a", "c"}}, [][]string{{"a", "b", "c"}}, "in more than one place"},
	} {
		if got := locate(tt.bad, tt.good); got != tt.want {
			t.Errorf("%v without %v: %q, want %q", tt.bad, tt.good, got, tt.want)
		}
	}
}

// pinged answers pings: what is longer than most[destination] is lost.
type pinged struct {
	most map[string]int
	none bool // there is no ping
}

func (p *pinged) Name() string                                     { return "pinged" }
func (p *pinged) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }
func (p *pinged) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("a proof writes nothing")
}

func (p *pinged) Run(_ context.Context, c remote.Cmd) (remote.Output, error) {
	if c.Args[0] != "ping" || p.none {
		return remote.Output{}, &remote.ExitError{Code: 127, Output: remote.Output{Stderr: []byte("not found")}}
	}
	size, err := strconv.Atoi(c.Args[slices.Index(c.Args, "-s")+1])
	to := c.Args[len(c.Args)-1]
	if most, limited := p.most[to]; err == nil && limited && size > most {
		return remote.Output{}, &remote.ExitError{Code: 1, Output: remote.Output{Stdout: []byte("2 packets transmitted, 0 received")}}
	}
	return remote.Output{}, err
}

// cabledModel is model with a switch for each plane.
func cabledModel() *inventory.Model {
	m := model(2, 2, time.Second)
	for _, t := range m.Targets {
		t.Transport = []string{"rdma"}
	}
	f := &inventory.Fabric{Name: "f", Transport: "rocev2", HostMTU: 9000, Classes: []*inventory.TrafficClass{{Name: "rdma", Priority: 3, DSCP: []int{26}, PFC: true}}}
	planes := map[*inventory.Plane]*inventory.Switch{}
	for _, s := range []*inventory.Server{m.Initiators[0].Server, m.Initiators[1].Server, m.Targets[0].Server, m.Targets[1].Server} {
		for n, nic := range s.RNICs {
			nic.Name, nic.Fabric = "p"+strconv.Itoa(n), f
			if planes[nic.Plane] == nil {
				planes[nic.Plane] = &inventory.Switch{Block: inventory.Block{Addr: "switch." + nic.Plane.Name}, Fabric: f}
			}
			m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{RNIC: nic}, To: inventory.LinkEnd{Switch: planes[nic.Plane], Port: s.Name}})
		}
	}
	return m
}

func TestJumbo(t *testing.T) {
	m := cabledModel()
	all := legs(m, nil)
	if len(all) != 8 || !slices.Equal(all[0].parts, []string{"server.i1 p0", "switch.a i1", "switch.a t1", "server.t1 p0"}) {
		t.Fatalf("%d legs: %v", len(all), all[0].parts)
	}
	ask := func(p *pinged) []Judgement {
		r := &run{in: Input{Model: m}, hosts: hosts{dial: func(context.Context, *inventory.Server) (remote.Host, error) { return p, nil }}}
		return r.jumbo(t.Context(), all)
	}
	count := func(js []Judgement, v Verdict) int {
		return len(slices.DeleteFunc(slices.Clone(js), func(j Judgement) bool { return j.Verdict != v }))
	}
	if js := ask(&pinged{}); count(js, Pass) != 8 {
		t.Errorf("%+v", js)
	}
	js := ask(&pinged{most: map[string]int{"10.0.1.10": 1472}})
	i := slices.IndexFunc(js, func(j Judgement) bool { return j.Verdict == Fail })
	if count(js, Fail) != 2 || js[i].Where != "undecided between switch.a t1 and server.t1 p0" || !strings.Contains(js[i].Why, "those of 9000 bytes do not") {
		t.Errorf("%+v", js)
	}
	js = ask(&pinged{most: map[string]int{"10.0.1.10": 0}})
	if i := slices.IndexFunc(js, func(j Judgement) bool { return j.Verdict == Fail }); !strings.Contains(js[i].Why, "nothing arrives") {
		t.Errorf("%+v", js)
	}
	if js := ask(&pinged{none: true}); count(js, Inconclusive) != 8 {
		t.Errorf("%+v", js)
	}
}

func TestClassified(t *testing.T) {
	m := cabledModel()
	all := legs(m, nil)
	judged := func(degraded bool, change func(c *Counter, n *uint64)) []Judgement {
		res := &Result{Before: &Snapshot{}, After: &Snapshot{}}
		for _, l := range all {
			row := &Row{Initiator: l.from.Server.Addr, Target: l.target.Addr, Plane: l.portal.Plane.Name, Degraded: degraded}
			row.Bytes = 1000
			res.Rows = append(res.Rows, row)
		}
		add := func(c Counter, n uint64) {
			if change != nil {
				change(&c, &n)
			}
			res.Before.Samples = append(res.Before.Samples, Sample{Counter: c, Value: 7})
			res.After.Samples = append(res.After.Samples, Sample{Counter: c, Value: 7 + n})
		}
		for _, tg := range m.Targets {
			for _, nic := range tg.Server.RNICs {
				add(Counter{tg.Server.Addr, nic.Name, 3, tally.TxBytes}, 2000)
			}
		}
		for _, i := range m.Initiators {
			for _, nic := range i.Server.RNICs {
				add(Counter{"switch." + nic.Plane.Name, i.Server.Name, 3, tally.TxBytes}, 2000)
			}
		}
		r := &run{in: Input{Model: m}}
		return r.classified(res, all)
	}
	verdictsOf := func(js []Judgement) map[string]int {
		out := map[string]int{}
		for _, j := range js {
			out[j.Metric+" "+string(j.Verdict)]++
		}
		return out
	}
	if got := verdictsOf(judged(true, nil)); got["marked pass"] != 8 || got["classified pass"] != 8 {
		t.Errorf("%v", got)
	}
	js := judged(false, func(c *Counter, n *uint64) {
		if c.Device == "switch.b" {
			c.Priority = 0
		}
	})
	if got := verdictsOf(js); got["classified pass"] != 4 || got["classified inconclusive"] != 4 {
		t.Errorf("a queue that nobody counts: %v", got)
	}
	for ready, want := range map[string]int{"": 4, "switch.b": 0} { // what a rollout has not come to is left out
		r := &run{in: Input{Ready: func(device, _ string) bool { return device != ready }}}
		var gate []Judgement
		for _, j := range js {
			j.early = !r.reached(all[slices.IndexFunc(all, func(l leg) bool { return l.label == j.Pair })])
			gate = append(gate, j)
		}
		if got := verdictsOf(r.atGate(gate)); got["classified inconclusive"] != want || got["classified pass"] != 4 {
			t.Errorf("at a gate before %q: %v", ready, got)
		}
	}
	// Without a rollout, as at a tick of watch, what is inconclusive stays.
	if got := verdictsOf((&run{}).atGate(slices.Clone(js))); got["classified inconclusive"] != 4 || got["classified pass"] != 4 {
		t.Errorf("without a rollout: %v", got)
	}
	js = judged(false, func(c *Counter, n *uint64) {
		if c.Device == "switch.b" {
			*n = 1
		}
	})
	i := slices.IndexFunc(js, func(j Judgement) bool { return j.Verdict == Fail })
	if got := verdictsOf(js); got["classified fail"] != 4 || js[i].Where != "at switch.b" {
		t.Errorf("another queue: %v %+v", got, js[i])
	}
	unmarked := func(c *Counter, n *uint64) {
		if c.Device == "server.t1" {
			*n = 0
		}
	}
	if got := verdictsOf(judged(false, unmarked)); got["marked fail"] != 4 || got["marked pass"] != 4 {
		t.Errorf("not marked: %v", got)
	}
	if got := verdictsOf(judged(true, unmarked)); got["marked inconclusive"] != 4 {
		t.Errorf("over TCP: %v", got)
	}

	// NICs that do not count by priority: the switch tells.
	silent := func(c *Counter, _ *uint64) {
		if strings.HasPrefix(c.Device, "server.") {
			c.Name = "something else"
		}
	}
	if got := verdictsOf(judged(false, silent)); got["marked pass"] != 8 || got["classified pass"] != 8 {
		t.Errorf("only the switches count: %v", got)
	}
	lost := func(c *Counter, n *uint64) {
		if silent(c, n); c.Device == "switch.b" {
			*n = 1
		}
	}
	js = judged(false, lost)
	i = slices.IndexFunc(js, func(j Judgement) bool { return j.Verdict == Fail })
	if got := verdictsOf(js); got["classified fail"] != 4 || got["marked inconclusive"] != 4 || js[i].Where != "undecided between server.t1 p1 and switch.b" {
		t.Errorf("not marked, or not classified: %v %+v", got, js[i])
	}
	if got := verdictsOf(judged(true, lost)); got["classified inconclusive"] != 4 || got["classified fail"] != 0 {
		t.Errorf("not known whether it was marked: %v", got)
	}
}
