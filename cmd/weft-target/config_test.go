package main

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/nvme/wire"
)

// The example has every key, and is valid.
func TestExample(t *testing.T) {
	conf, err := agent.ParseTarget([]byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if err := conf.Validate(); err != nil {
		t.Error(err)
	}
	for _, part := range []any{agent.Target{}, agent.Portal{}, agent.Access{}, agent.Subsystem{}, agent.Auth{}, agent.TLS{}, agent.Namespace{}} {
		for f := range reflect.TypeOf(part).Fields() {
			key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			if !regexp.MustCompile(`\b` + key + `\b`).MatchString(example) {
				t.Errorf("the example does not have %q", key)
			}
		}
	}
}

func TestMetrics(t *testing.T) {
	status := agent.TargetStatus{
		Started: time.Unix(1700000000, 0), Reloads: 3, ReloadError: "no", Generation: 9, UserTime: 2500 * time.Millisecond,
		Refused:     agent.RefusedStatus{Connects: 1, Authentications: 2, KeepAlives: 3},
		Controllers: []agent.ControllerStatus{{Subsystem: "nqn.a", IOQueues: 4}, {Subsystem: "nqn.a", IOQueues: 2}},
		Subsystems: []agent.SubsystemStatus{{NQN: "nqn.a", Controllers: 2, Namespaces: []agent.NamespaceStatus{
			{ID: 1, Size: 4096, Reads: 5, Writes: 6, Others: 7, BytesRead: 8, BytesWritten: 9, Errors: 10, Throttled: 11, ThrottleTime: 1500 * time.Millisecond,
				Mirror: &agent.MirrorStatus{Behind: 12}},
		}}, {NQN: `nqn."b\`}},
	}
	m, err := serveMetrics(agent.Places{}, "127.0.0.1:0", func(w io.Writer) error { return writeMetrics(w, status) }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	text := get(t, "http://"+m.address()+"/metrics")
	for _, want := range []string{
		"start_time_seconds 1700000000", "reloads_total 3", "reload_failed 1", `cpu_seconds_total{mode="user"} 2.500000`, `cpu_seconds_total{mode="system"} 0.000000`, "discovery_generation 9",
		"connects_refused_total 1", "authentications_failed_total 2", "keep_alive_timeouts_total 3",
		`controllers{subsystem="nqn.a"} 2`, `io_queues{subsystem="nqn.a"} 6`, `controllers{subsystem="nqn.\"b\\"} 0`,
		`commands_total{subsystem="nqn.a",nsid="1",op="read"} 5`, `commands_total{subsystem="nqn.a",nsid="1",op="write"} 6`,
		`commands_total{subsystem="nqn.a",nsid="1",op="other"} 7`, `bytes_total{subsystem="nqn.a",nsid="1",op="read"} 8`,
		`bytes_total{subsystem="nqn.a",nsid="1",op="write"} 9`, `backend_errors_total{subsystem="nqn.a",nsid="1"} 10`,
		`throttled_total{subsystem="nqn.a",nsid="1"} 11`, `throttled_seconds_total{subsystem="nqn.a",nsid="1"} 1.5`,
		`size_bytes{subsystem="nqn.a",nsid="1"} 4096`, `mirror_behind_bytes{subsystem="nqn.a",nsid="1"} 12`,
	} {
		if !strings.Contains(text, "\nweft_target_"+want+"\n") {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	// The dashboard for Grafana asks for nothing else.
	dashboard, err := os.ReadFile("../../examples/grafana/target.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`\bweft_target_\w+`).FindAllString(string(dashboard), -1) {
		if !strings.Contains(text, "# TYPE "+name+" ") {
			t.Errorf("the dashboard asks for %s", name)
		}
	}
	// Each family is described once, and every line has the form of the format.
	form := regexp.MustCompile(`^(# (HELP|TYPE) weft_target_[a-z_]+ .+|weft_target_[a-z_]+(\{[a-z]+="([^"\\]|\\.)*"(,[a-z]+="([^"\\]|\\.)*")*\})? [0-9.e+]+)$`)
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !form.MatchString(line) {
			t.Errorf("not in the text format: %s", line)
		}
		if strings.HasPrefix(line, "#") && seen[line] {
			t.Errorf("twice: %s", line)
		}
		seen[line] = true
	}
	if body := get(t, "http://"+m.address()+"/"); !strings.Contains(body, "404") {
		t.Errorf("beside /metrics: %s", body)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"ports":[{"portid":1,"addr":{"trtype":"tcp","traddr":"10.0.0.1","trsvcid":"4420"},"subsystems":["nqn.2026-11.net.example:a"]}],
"subsystems":[{"nqn":"nqn.2026-11.net.example:a","allowed_hosts":["nqn.2026-11.net.example:h"],"namespaces":[{"nsid":1,"enable":1,"device":{"path":"/dev/x"}}]}]}`))
	f.Add([]byte(`{"hosts":[{}],"ports":[{}],"subsystems":[{"attr":{"allow_any_host":"1"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		im := &importer{places: &agent.Places{Root: t.TempDir()}, owner: "x"}
		out, _, err := im.convert(text)
		if err != nil {
			return
		}
		conf, err := agent.ParseTarget(out)
		if err != nil || conf.Validate() != nil {
			t.Errorf("%v: an import that is not valid:\n%s", err, out)
		}
	})
}

// TestStates: every state that a configuration can name is one of the wire's.
func TestStates(t *testing.T) {
	seen := map[wire.ANAState]bool{}
	for _, name := range agent.AccessStates() {
		if s := state(name); s.String() != name || seen[s] {
			t.Errorf("%s is %v", name, s)
		} else {
			seen[s] = true
		}
	}
	if s := wire.ANAState(9).String(); s != "state 9" {
		t.Error(s)
	}
}
