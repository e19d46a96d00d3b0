package prove

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weft/internal/agent"
	"weft/inventory"
	"weft/inventory/language"
)

// What a load says is judged by its own limit, and proves nothing where it has
// not noticed the cut.
func TestJudgeStall(t *testing.T) {
	nic := &inventory.RNIC{Server: &inventory.Server{Block: inventory.Block{Addr: "server.cn"}}, Name: "p0", Plane: &inventory.Plane{Name: "a"}}
	c := Cut{
		Initiator: &inventory.Initiator{Server: nic.Server},
		Connect:   &inventory.Connect{KeepAliveTMO: 5 * time.Second, ReconnectDelay: 2 * time.Second},
		Target:    &inventory.Target{Block: inventory.Block{Addr: "target.t"}}, NIC: nic,
	}
	load := func(reads int64, failed, lost int, most time.Duration) *agent.Reply {
		return &agent.Reply{Load: &agent.LoadResult{Reads: reads, Failed: failed, Lost: lost, Reconnected: 1, Longest: most}}
	}
	for _, test := range []struct {
		name    string
		reply   *agent.Reply
		err     error
		verdict Verdict
		why     string
	}{
		{"within", load(900, 0, 1, 6*time.Second), nil, Pass, ""},
		{"at the limit", load(900, 0, 1, 7*time.Second), nil, Pass, ""},
		{"too long", load(900, 0, 1, 8*time.Second), nil, Fail, ""},
		{"reads failed", load(900, 2, 1, time.Second), nil, Fail, "2 reads failed"},
		{"not noticed", load(900, 0, 0, time.Second), nil, Inconclusive, "lost no path"},
		{"nothing read", load(0, 0, 1, 0), nil, Inconclusive, "not a single read ended"},
		{"no result", &agent.Reply{}, nil, Inconclusive, "has no result"},
		{"it did not run", &agent.Reply{Error: "the first of 2 reads"}, nil, Inconclusive, "the first of 2 reads"},
		{"its server is gone", nil, errors.New("connection lost"), Inconclusive, "connection lost"},
	} {
		t.Run(test.name, func(t *testing.T) {
			j := readStalled(test.reply, test.err).judge(c)
			if j.Verdict != test.verdict || !strings.Contains(j.Why, test.why) || j.Limit != float64(7*time.Second) {
				t.Errorf("%+v", j)
			}
		})
	}
}

// Only what leaves another plane can be cut.
func TestCuts(t *testing.T) {
	two := strings.NewReplacer(
		`plane "a" { subnet = "10.0.1.0/24" }`, "plane \"a\" { subnet = \"10.0.1.0/24\" }\n  plane \"b\" { subnet = \"10.0.2.0/24\" }",
		"    fabric  = fabric.f\n  }\n}\nserver \"cn\"", "    fabric  = fabric.f\n  }\n  rnic \"p1\" {\n    match   = { pci = \"0000:41:00.1\" }\n    address = \"10.0.2.1/24\"\n    fabric  = fabric.f\n  }\n}\nserver \"cn\"",
		"portals   = [server.st.rnic.p0]", "portals   = [server.st.rnic.p0, server.st.rnic.p1]",
	).Replace(attachedFiles)
	both := strings.Replace(two, "    fabric  = fabric.f\n  }\n}\npool", "    fabric  = fabric.f\n  }\n  rnic \"p1\" {\n    match   = { pci = \"0000:41:00.1\" }\n    address = \"10.0.2.${each.value}/24\"\n    fabric  = fabric.f\n  }\n}\npool", 1)
	for _, test := range []struct {
		name, files string
		want        string
	}{
		{"one plane", attachedFiles, ""},
		{"both have two", both, `server.cn["a"] p0, server.cn["a"] p1, server.cn["b"] p0, server.cn["b"] p1`},
	} {
		m, diags := language.Load(fstest.MapFS{"main.weft.hcl": {Data: []byte(test.files)}}, hush)
		if diags.HasErrors() {
			t.Fatalf("%s: %v", test.name, diags)
		}
		var got []string
		for _, c := range Cuts(m) {
			got = append(got, c.String())
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
