package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/require"
)

// doer runs requests in processes of weft-initiator.
type doer struct {
	bin  string
	args []string // before "do"
}

func (d doer) text(t *testing.T, request string) (*agent.Reply, int) {
	t.Helper()
	cmd := exec.Command(d.bin, append(d.args, "do")...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(request), &out, &said
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	reply, err := agent.ParseReply(out.Bytes())
	if err != nil {
		t.Fatalf("%v: %s %s", err, out.String(), said.String())
	}
	return reply, cmd.ProcessState.ExitCode()
}

func (d doer) do(t *testing.T, r agent.Request) (*agent.Reply, int) {
	t.Helper()
	r.Format = agent.RequestFormat
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return d.text(t, string(text))
}

// TestDo has the real programs do each kind of request.
func TestDo(t *testing.T) {
	require.Long(t, "3 s")
	const portal, nqn, host = "10.40.1.11:4420", "nqn.2026-11.net.example:pilot:st1", "nqn.2026-11.net.example:pilot:h1"
	bin := buildAgent(t, "weft-initiator")
	target := newTargetProcess(t, buildAgent(t, "weft-target"), restartConfig)
	if err := target.start(); err != nil {
		t.Fatal(err)
	}
	defer target.kill()
	d := doer{bin, []string{"--map", portal + "=" + target.port}}
	way := agent.Way{Transports: []string{"tcp"}, Connect: time.Minute, HostNQN: host, From: "10.40.1.1"}
	read := agent.ReadRequest{Over: way, Portal: portal, NQN: nqn, NSID: 1, Size: 4096, Depth: 2, Samples: 100, Warmup: 10, Timeout: time.Minute}

	t.Run("read", func(t *testing.T) {
		r, status := d.do(t, agent.Request{Read: &read})
		hist := latency.New()
		if p := r.Probe; status != 0 || r.Error != "" || r.Version == "" || p == nil || p.Samples != 100 || p.Bytes != 110*4096 || p.Local != "10.40.1.1" ||
			p.Op != "read" || p.Transport != "tcp" || hist.UnmarshalText([]byte(p.Histogram)) != nil || hist.Count() != 100 {
			t.Errorf("%d: %+v %+v", status, r, r.Probe)
		}
	})
	t.Run("refused", func(t *testing.T) {
		stranger := read
		stranger.Over.HostNQN += "-not"
		r, status := d.do(t, agent.Request{Read: &stranger})
		if status != agent.ExitFailed || r.Error == "" || r.Probe == nil || r.Probe.Errors != 1 || r.Probe.FirstErr == "" {
			t.Errorf("%d: %+v %+v", status, r, r.Probe)
		}
	})
	t.Run("local", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "volume")
		if err := os.WriteFile(file, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		r, status := d.do(t, agent.Request{Read: &agent.ReadRequest{Path: file, Size: 4096, Depth: 1, Samples: 10}})
		if status != 0 || r.Probe == nil || r.Probe.Transport != "local" || r.Probe.Samples != 10 {
			t.Errorf("%d: %+v %+v", status, r, r.Probe)
		}
	})
	t.Run("load", func(t *testing.T) {
		asked := &agent.LoadRequest{Over: way, Portals: []string{portal}, NQN: nqn, NSID: 1, Pattern: "randread", Size: 4096, Depth: 4,
			Runtime: 200 * time.Millisecond, Timeout: time.Minute}
		r, status := d.do(t, agent.Request{Load: asked})
		for ; status == 0 && r.Load != nil && r.Load.Reads == 0 && asked.Runtime < time.Minute; asked.Runtime *= 2 { // a machine that slept meanwhile
			r, status = d.do(t, agent.Request{Load: asked})
		}
		if l := r.Load; status != 0 || r.Error != "" || l == nil || l.Reads == 0 || l.Failed != 0 || l.Longest == 0 || l.IOPS == 0 || l.Mode != "event" || l.Transport != "tcp" {
			t.Errorf("%d: %+v %+v", status, r, r.Load)
		}
	})
	t.Run("unheard of", func(t *testing.T) {
		for text, want := range map[string]string{
			`{"format":1,"destroy":{}}`: `unknown field "destroy"`,
			`{"format":2}`:              "format 2",
			"":                          "unexpected end",
			`{"format":1,"load":{"pattern":"randwrite"}}`: "nothing is overwritten",
		} {
			if r, status := d.text(t, text); status != agent.ExitError || !strings.Contains(r.Error, want) || r.Probe != nil || r.Load != nil {
				t.Errorf("%s: %d, %+v", text, status, r)
			}
		}
	})
}

// TestDoMessages: one program answers, another one asks.
func TestDoMessages(t *testing.T) {
	const at = "10.40.1.11:18515"
	bin := buildAgent(t, "weft-initiator")
	over := agent.Way{Transports: []string{"tcp"}, Connect: time.Minute}
	text, err := json.Marshal(agent.Request{Format: agent.RequestFormat, Answer: &agent.AnswerRequest{Over: over, Listen: at}})
	if err != nil {
		t.Fatal(err)
	}
	answering := exec.Command(bin, "--map", at+"=127.0.0.1:0", "do")
	var out bytes.Buffer
	answering.Stdin, answering.Stdout = bytes.NewReader(text), &out
	said, err := answering.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := answering.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answering.Process.Kill() }()
	line, err := bufio.NewReader(said).ReadString('\n')
	real, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !ok {
		t.Fatalf("%q, %v", line, err)
	}
	r, status := doer{bin, []string{"--map", at + "=" + real}}.do(t, agent.Request{Probe: &agent.ProbeRequest{Over: over, Portal: at, Size: 64, Samples: 50, Runtime: time.Minute}})
	if p := r.Probe; status != 0 || p == nil || p.Samples != 50 || p.Op != agent.OpSocket || p.Size != 64 {
		t.Errorf("%d: %+v %+v", status, r, r.Probe)
	}
	if err := answering.Wait(); err != nil {
		t.Fatal(err)
	}
	if reply, err := agent.ParseReply(out.Bytes()); err != nil || reply.Error != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}
