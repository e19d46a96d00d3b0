package prove

import (
	"encoding/json"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/inventory"
)

// TestKeyedProbeThatSaysNothing: whoever was given a key has to say that it was used,
// whatever was asked for.
func TestKeyedProbeThatSaysNothing(t *testing.T) {
	keyed, clear := agent.Way{TLSKeyFile: "/etc/weft/x/tls/h.key"}, agent.Way{}
	const suite = "TLS_AES_128_GCM_SHA256"
	for name, c := range map[string]struct {
		over  agent.Way
		reply agent.Reply
		fails bool
	}{
		"reads in clear":           {clear, agent.Reply{Probe: &agent.ProbeResult{Samples: 1}}, false},
		"reads with TLS":           {keyed, agent.Reply{Probe: &agent.ProbeResult{Samples: 1, TLS: suite}}, false},
		"reads that say nothing":   {keyed, agent.Reply{Probe: &agent.ProbeResult{Samples: 1}}, true},
		"reads that were refused":  {keyed, agent.Reply{Probe: &agent.ProbeResult{Errors: 1}}, false},
		"a load with TLS":          {keyed, agent.Reply{Load: &agent.LoadResult{Reads: 1, TLS: suite}}, false},
		"a load that says nothing": {keyed, agent.Reply{Load: &agent.LoadResult{Reads: 1}}, true},
		"writes that say nothing":  {keyed, agent.Reply{Load: &agent.LoadResult{Worked: new(agent.Worked)}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			q := agent.Request{Read: &agent.ReadRequest{Over: c.over}}
			if c.reply.Load != nil {
				q = agent.Request{Load: &agent.LoadRequest{Over: c.over}}
			}
			c.reply.Format, c.reply.Version = agent.RequestFormat, "v1.2.3"
			text, err := json.Marshal(c.reply)
			if err != nil {
				t.Fatal(err)
			}
			reply, err := ask(t.Context(), &elder{out: string(text)}, q)
			switch {
			case !c.fails && (err != nil || reply == nil):
				t.Errorf("%+v, %v", reply, err)
			case c.fails && (err == nil || !strings.Contains(err.Error(), "v1.2.3") || !strings.Contains(err.Error(), "weft apply")):
				t.Errorf("%v", err)
			}
		})
	}
}

// TestEncrypted: a pair of a target with tls = true passes only where TLS was spoken.
func TestEncrypted(t *testing.T) {
	tls, other := flow{target: &inventory.Target{TLS: true}}, flow{target: new(inventory.Target)}
	read := func(suite string) agent.ProbeResult { return agent.ProbeResult{Samples: 1, TLS: suite} }
	load := &Load{Reads: Operations{Done: 1}, TLS: "suite", flow: tls}
	untried := &Load{Untried: true, Why: "nobody allows it", flow: tls}
	for name, c := range map[string]struct {
		row  *Row
		want Verdict // "": it is not judged
	}{
		"with TLS":      {&Row{ProbeResult: read("suite"), flow: tls}, Pass},
		"in clear":      {&Row{ProbeResult: read(""), flow: tls}, Fail},
		"not measured":  {&Row{Why: "no answer", flow: tls}, Inconclusive},
		"nothing read":  {&Row{flow: tls}, Inconclusive},
		"no probe":      {&Row{Why: unprobed, Unprobed: true, flow: tls}, NotMeasured},
		"declared none": {&Row{ProbeResult: read(""), flow: other}, ""},
		"no NVMe":       {&Row{Probe: socketProbe, ProbeResult: read(""), flow: tls}, ""},
		"a load":        {asRows([]*Load{load})[0], Pass},
		"no load":       {asRows([]*Load{untried})[0], NotMeasured},
	} {
		t.Run(name, func(t *testing.T) {
			switch got := encrypted([]*Row{c.row}); {
			case c.want == "" && len(got) > 0, c.want != "" && (len(got) != 1 || got[0].Verdict != c.want):
				t.Errorf("%+v", got)
			}
		})
	}
}
