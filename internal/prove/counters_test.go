package prove

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux"
)

// A plant is a fabric of counters: two leaves with a port each, and a server
// with two NICs.
type plant struct {
	ports map[string]uint64 // drops by switch, priority 3
	gaps  map[string]string // by switch
	off   map[string]string // of watchdogs
	in    map[string]uint64 // ingress drops by switch
	nics  func(reading int) string
	down  string // a device that does not answer
	reads int

	mu    sync.Mutex
	asked map[string]int // by switch
	after func(*plant)   // between the readings
}

func (p *plant) counted(_ context.Context, sw *inventory.Switch, ports []string) (*tally.Ports, error) {
	if sw.Addr == p.down {
		return nil, errors.New("connection refused")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[sw.Name]++; p.asked[sw.Name] == 2 && p.after != nil {
		p.after(p)
		p.after = nil
	}
	out := &tally.Ports{}
	for _, port := range ports {
		for name, n := range map[string]uint64{tally.Drops: p.ports[sw.Name], tally.PFCTx: 9} {
			out.Counts = append(out.Counts, tally.Count{Port: port, Priority: 3, Name: name, Value: n, Line: "show it"})
		}
		out.Counts = append(out.Counts, tally.Count{Port: port, Priority: tally.AllPriorities, Name: tally.IngressDrops, Value: p.in[sw.Name]})
		if why := p.gaps[sw.Name]; why != "" {
			out.Gaps = append(out.Gaps, tally.Gap{Port: port, Name: tally.WatchdogEvents, Why: why})
		} else {
			out.Counts = append(out.Counts, tally.Count{Port: port, Priority: tally.AllPriorities, Name: tally.WatchdogEvents, Off: p.off[sw.Name]})
		}
	}
	return out, nil
}

func (p *plant) Run(context.Context, remote.Cmd) (remote.Output, error) {
	p.reads++
	text := p.nics(p.reads)
	return remote.Output{Stdout: []byte(text)}, nil
}
func (p *plant) Name() string                                     { return "n1" }
func (p *plant) ReadFile(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }
func (p *plant) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("a proof writes nothing")
}

func healthy() *plant {
	return &plant{ports: map[string]uint64{"a": 4, "b": 7}, in: map[string]uint64{}, asked: map[string]int{}, gaps: map[string]string{}, off: map[string]string{},
		nics: func(int) string {
			out := ""
			for _, pci := range []string{"0000:41:00.0", "0000:41:00.1"} {
				out += "nic " + pci + "\ndriver mlx5_core\nNIC statistics:\n     rx_prio3_pause_duration: 120\n     rx_discards_phy: 0\nhw out_of_sequence 3\nhw packet_seq_err 1\nhw local_ack_timeout_err 2\n"
			}
			return out
		}}
}

func plantModel(metrics ...*inventory.Metric) *inventory.Model {
	rdma := &inventory.TrafficClass{Name: "rdma", Priority: 3, PFC: true}
	f := &inventory.Fabric{Name: "roce", Classes: []*inventory.TrafficClass{rdma}}
	s := &inventory.Server{Block: inventory.Block{Addr: "server.n1"}, Name: "n1", OS: "linux"}
	m := &inventory.Model{Servers: []*inventory.Server{s}}
	for i, name := range []string{"a", "b"} {
		sw := &inventory.Switch{Block: inventory.Block{Addr: "switch." + name}, Name: name, Fabric: f}
		nic := &inventory.RNIC{Name: fmt.Sprint("p", i), PCI: fmt.Sprint("0000:41:00.", i), Server: s, Fabric: f}
		s.RNICs = append(s.RNICs, nic)
		m.Switches = append(m.Switches, sw)
		m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{RNIC: nic}, To: inventory.LinkEnd{Switch: sw, Port: "Ethernet1/1"}})
	}
	m.Validations = []*inventory.Validation{{Block: inventory.Block{Addr: "validation.healthy"}, Name: "healthy", Metrics: metrics}}
	return m
}

func losslessModel() *inventory.Metric {
	return &inventory.Metric{Name: "drops", Source: "switch.port.class.rdma.drops", Delta: true, HasMax: true}
}

func (p *plant) prove(t *testing.T, m *inventory.Model, change ...func(*Input)) *Result {
	t.Helper()
	in := Input{Model: m, Names: []string{"healthy"}, Switch: p.counted, Window: time.Nanosecond, NICs: countNICs,
		Host: func(context.Context, *inventory.Server) (remote.Host, error) {
			if p.down == "server.n1" {
				return nil, errors.New("connection refused")
			}
			return p, nil
		}}
	for _, f := range change {
		f(&in)
	}
	res, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// countNICs reads what a plant prints as Linux does.
func countNICs(*inventory.Server) (CountNICs, error) {
	return func(ctx context.Context, h remote.Host, nics []*inventory.RNIC) (*tally.Ports, error) {
		var of []host.NIC
		for _, n := range nics {
			of = append(of, host.NIC{Name: n.Name, PCI: n.PCI})
		}
		return linux.OS().Counters(ctx, h, of)
	}, nil
}

// Whatever a NIC may count can be asked for.
func TestWhatNICsCountIsASource(t *testing.T) {
	p := healthy()
	p.nics = func(int) string {
		return "nic 1\ndriver mlx5_core\nib link_downed 3\nnic 2\ndriver bnxt_en\nnic 3\ndriver ice\n"
	}
	ports, err := linux.OS().Counters(t.Context(), p, []host.NIC{{Name: "a", PCI: "1"}, {Name: "b", PCI: "2"}, {Name: "c", PCI: "3"}})
	if err != nil || len(ports.Gaps) < 20 {
		t.Fatalf("%v %+v", err, ports)
	}
	for _, g := range ports.Gaps {
		_, port := inventory.ParseSource("server.rnic." + g.Name)
		if _, class := inventory.ParseSource("server.rnic.class.rdma." + g.Name); port != nil && class != nil {
			t.Errorf("%v", port)
		}
	}
}

func TestCountersAreJudgedByWhatTheyGrow(t *testing.T) {
	p := healthy()
	if res := p.prove(t, plantModel(losslessModel())); res.Verdict != Pass || len(res.Judgements) != 2 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
	p = healthy()
	p.after = func(p *plant) { p.ports["b"] += 2 }
	res := p.prove(t, plantModel(losslessModel()))
	i := slices.IndexFunc(res.Judgements, func(j Judgement) bool { return j.Verdict == Fail })
	if res.Verdict != Fail || i < 0 || res.Judgements[i].Pair != "switch.b Ethernet1/1 priority 3 (rdma)" || res.Judgements[i].Value != 2 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}

// What cannot be told proves nothing, and says why.
func TestCountersThatDoNotTell(t *testing.T) {
	watchdog := &inventory.Metric{Name: "events", Source: "switch.port.pfc_watchdog.events", Delta: true, HasMax: true}
	ratio := &inventory.Metric{Name: "paused", Source: "server.rnic.class.rdma.rx_pause_duration", Unit: "ratio", HasMax: true, Max: 0.5}
	for name, tt := range map[string]struct {
		metric *inventory.Metric
		spoil  func(*plant)
		why    string
	}{
		"a switch is down":    {losslessModel(), func(p *plant) { p.down = "switch.b" }, "connection refused"},
		"a counter goes back": {losslessModel(), func(p *plant) { p.after = func(p *plant) { p.ports["b"] = 1 } }, "went back from 7 to 1"},
		"a gap":               {watchdog, func(p *plant) { p.gaps["b"] = "not a layout" }, "not a layout"},
		"dropped on arrival":  {losslessModel(), func(p *plant) { p.after = func(p *plant) { p.in["b"] = 5 } }, "5 packets were dropped on the way in"},
		"a server is down":    {ratio, func(p *plant) { p.down = "server.n1" }, "connection refused"},
		"an unknown driver": {ratio, func(p *plant) {
			p.nics = func(int) string { return "nic 0000:41:00.0\ndriver odd\nnic 0000:41:00.1\ndriver odd\n" }
		}, `the driver "odd"`},
		"no such counter": {ratio, func(p *plant) {
			p.nics = func(int) string {
				return "nic 0000:41:00.0\ndriver mlx5_core\nno stats available\nnic 0000:41:00.1\ndriver mlx5_core\n"
			}
		}, "no stats available"},
		"a class nobody has": {&inventory.Metric{Name: "x", Source: "switch.port.class.gold.drops", HasMax: true}, nil, "nothing that is managed counts"},
		"against a baseline": {&inventory.Metric{Name: "x", Source: "switch.port.class.rdma.drops", Regression: 0.1}, nil, "not yet measured"},
	} {
		t.Run(name, func(t *testing.T) {
			p := healthy()
			if tt.spoil != nil {
				tt.spoil(p)
			}
			res := p.prove(t, plantModel(tt.metric))
			if res.Verdict != Inconclusive || !slices.ContainsFunc(res.Judgements, func(j Judgement) bool { return j.Verdict == Inconclusive && strings.Contains(j.Why, tt.why) }) {
				t.Errorf("%s %+v", res.Verdict, res.Judgements)
			}
		})
	}
}

// Shares of time, absolute counts, and what stands beside a count.
func TestCountersOfNICs(t *testing.T) {
	ratio := &inventory.Metric{Name: "paused", Source: "server.rnic.class.rdma.rx_pause_duration", Unit: "ratio", HasMax: true, Max: 0.001}
	p := healthy()
	still := p.nics
	p.nics = func(n int) string {
		text := still(n)
		if n > 1 {
			text = strings.Replace(text, "pause_duration: 120", "pause_duration: 90000120", 1)
		}
		return text
	}
	res := p.prove(t, plantModel(ratio), func(in *Input) { in.Window = 2 * time.Millisecond })
	if res.Verdict != Fail || len(res.Judgements) != 2 || res.Judgements[0].Verdict != Fail || res.Judgements[1].Verdict != Pass || res.Judgements[0].Over <= 0 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
	sent := &inventory.Metric{Name: "again", Source: "server.rnic.rdma.retransmits", HasMax: true, Max: 3}
	dogs := &inventory.Metric{Name: "events", Source: "switch.port.pfc_watchdog.events", Delta: true, HasMax: true}
	res = healthy().prove(t, plantModel(sent, dogs))
	if res.Verdict != Pass || res.Judgements[0].Value != 3 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}

// A port where nothing counts is not one that passes; and where none counts,
// nothing has passed.
func TestNotMeasured(t *testing.T) {
	dogs := &inventory.Metric{Name: "events", Source: "switch.port.pfc_watchdog.events", Delta: true, HasMax: true}
	ever := &inventory.Metric{Name: "ever", Source: dogs.Source, HasMax: true}
	for _, m := range []*inventory.Metric{dogs, ever} {
		for _, test := range []struct {
			off  map[string]string
			want []Verdict
			all  Verdict
		}{
			{map[string]string{"b": "no watchdog"}, []Verdict{Pass, NotMeasured}, Pass},
			{map[string]string{"a": "no watchdog", "b": "no watchdog"}, []Verdict{Inconclusive, Inconclusive}, Inconclusive},
		} {
			p := healthy()
			p.off = test.off
			res := p.prove(t, plantModel(m))
			if len(res.Judgements) != 2 || res.Judgements[0].Verdict != test.want[0] || res.Judgements[1].Verdict != test.want[1] || res.Verdict != test.all ||
				res.Judgements[1].Why != "no watchdog" {
				t.Errorf("%s, off at %v: %s %+v", m.Name, test.off, res.Verdict, res.Judgements)
			}
		}
	}
	p := healthy() // switched on in between: what was counted is not known
	p.off["b"] = "no watchdog"
	p.after = func(p *plant) { p.off["b"] = "" }
	if res := p.prove(t, plantModel(dogs)); res.Verdict != Inconclusive {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}

// What is not rolled out yet is not judged; with nothing left it is no pass. A
// former reading is counted from.
func TestCountersOfARollout(t *testing.T) {
	p := healthy()
	p.after = func(p *plant) { p.ports["b"]++ }
	res := p.prove(t, plantModel(losslessModel()), func(in *Input) { in.Ready = func(device, _ string) bool { return device == "switch.a" } })
	if res.Verdict != Pass || len(res.Judgements) != 1 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
	none := healthy().prove(t, plantModel(losslessModel()), func(in *Input) { in.Ready = func(string, string) bool { return false } })
	if none.Verdict != Inconclusive {
		t.Errorf("%s %+v", none.Verdict, none.Judgements)
	}
	p = healthy()
	former := p.prove(t, plantModel(losslessModel())).After
	p.ports["a"] += 11
	res = p.prove(t, plantModel(losslessModel()), func(in *Input) { in.Since = former })
	if res.Verdict != Fail || res.Judgements[0].Value != 11 {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}

// A gate fails on what no rollout may make, whether its validations ask
// for it or not, and on nothing else that nobody asked for.
func TestAborts(t *testing.T) {
	watchdog := &inventory.Metric{Name: "watchdog", Source: "switch.port.pfc_watchdog.events", Delta: true, HasMax: true}
	few := losslessModel()
	few.Max = 5
	for _, test := range []struct {
		name    string
		metric  *inventory.Metric
		grows   uint64
		outside bool // no gate
		verdict Verdict
		builtIn int
	}{
		{"drops", watchdog, 2, false, Fail, 1},
		{"none", watchdog, 0, false, Pass, 0},
		{"outside of a gate", watchdog, 2, true, Pass, 0},
		{"somebody allows a few", few, 2, false, Pass, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, p := plantModel(test.metric), healthy()
			m.Fabrics = []*inventory.Fabric{m.Switches[0].Fabric}
			p.after = func(p *plant) { p.ports["b"] += test.grows }
			res := p.prove(t, m, func(in *Input) { in.Classes = !test.outside })
			var of []string
			for _, j := range res.Judgements {
				if j.Validation == "built-in" {
					of = append(of, j.Metric+" "+j.Pair)
				}
			}
			if res.Verdict != test.verdict || len(of) != test.builtIn || len(of) > 0 && of[0] != "rdma_drops switch.b Ethernet1/1 priority 3 (rdma)" {
				t.Errorf("%s %v", res.Verdict, of)
			}
		})
	}
	m, card := plantModel(&inventory.Metric{Name: "w", Source: "switch.port.pfc_watchdog.events", Delta: true, HasMax: true}), healthy()
	m.Fabrics = []*inventory.Fabric{m.Switches[0].Fabric}
	card.nics = func(reading int) string {
		return fmt.Sprintf("nic 0000:41:00.0\ndriver mlx5_core\nNIC statistics:\n     rx_prio3_discards: %d\n", reading)
	}
	if res := card.prove(t, m, func(in *Input) { in.Classes = true }); res.Verdict != Fail || !slices.ContainsFunc(res.Judgements, func(j Judgement) bool {
		return j.Metric == "rdma_nic_drops" && j.Pair == "server.n1 p0 priority 3 (rdma)" && j.Value == 1
	}) {
		t.Errorf("drops of a card: %s %+v", res.Verdict, res.Judgements)
	}

	p := healthy() // nothing tells of watchdogs: that is for those who ask
	p.gaps["a"] = "it has none"
	if res := p.prove(t, plantModel(losslessModel()), func(in *Input) { in.Classes = true }); res.Verdict != Pass {
		t.Errorf("%s %+v", res.Verdict, res.Judgements)
	}
}
