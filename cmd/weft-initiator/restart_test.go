package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/require"
)

const restartConfig = `owner = 'pilot'
[[portal]]
transport = 'tcp'
address = '10.40.1.11:4420'
[[subsystem]]
nqn = 'nqn.2026-11.net.example:pilot:st1'
serial = 'WEFT01'
allow_hosts = ['nqn.2026-11.net.example:pilot:h1']
[[subsystem.namespace]]
id = 1
uuid = '6ba7b811-9dad-11d1-80b4-00c04fd430c8'
backend = 'file'
path = '/var/lib/weft/pilot/volumes/fast'
size = 16777216
block_size = 4096
`

// A transcript is what a process says, which may be read while it runs.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// A targetProcess is a weft-target that can be killed and started again on the
// same port.
type targetProcess struct {
	under []string // what starts it, if not itself
	bin   string
	root  string
	port  string
	args  []string
	cmd   *exec.Cmd
	said  transcript
}

// buildAgent builds an agent as it is bundled, once for all tests, and returns where it
// is.
func buildAgent(t testing.TB, name string) string {
	t.Helper()
	bin := filepath.Join(os.Getenv(agentsEnv), name, name) // each in a folder of its own, for PATH
	if _, err := os.Stat(bin); err == nil {
		return bin
	}
	fresh := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", fresh, "weft/cmd/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(bin), 0o755), os.Rename(fresh, bin)); err != nil {
		t.Fatal(err)
	}
	return bin
}

// apart is an address of this machine that nobody else listens at, where there are
// many: a port of it that was let go is free again later.
func apart() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1"
	}
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

func newTargetProcess(t testing.TB, bin, config string, args ...string) *targetProcess {
	t.Helper()
	p := &targetProcess{bin: bin, root: t.TempDir(), args: args}
	conf := filepath.Join(p.root, "etc/weft")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "target.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", apart()+":0") // a port that is free now
	if err != nil {
		t.Fatal(err)
	}
	p.port = l.Addr().String()
	_ = l.Close()
	return p
}

// start starts it and waits until it serves.
func (p *targetProcess) start() error {
	line := slices.Concat(p.under, []string{p.bin, "--root", p.root, "--map", "10.40.1.11:4420=" + p.port, "serve"}, p.args)
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Stderr = &p.said
	if err := p.cmd.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if exec.Command(p.bin, "--root", p.root, "status").Run() == nil {
			return nil
		}
	}
	p.kill()
	return fmt.Errorf("weft-target does not serve: %s", p.said.String())
}

// serves waits until it has taken or given data since it was started, or until the load
// on it is over.
func (p *targetProcess) serves(t testing.TB, over func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !over(); time.Sleep(10 * time.Millisecond) {
		out, err := exec.Command(p.bin, "--root", p.root, "status", "--json").Output()
		if err != nil {
			t.Fatal(err)
		}
		var s agent.TargetStatus
		if err := json.Unmarshal(out, &s); err != nil {
			t.Fatal(err)
		}
		if sub := s.Subsystems[0]; sub.BytesRead+sub.BytesWritten > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nothing is read or written: %s", p.said.String())
		}
	}
}

// kill ends it without a chance to finish anything.
func (p *targetProcess) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// TestVerifyOverRestarts is the proof that nothing acknowledged is lost or torn
// when the target is killed in the middle, again and again.
func TestVerifyOverRestarts(t *testing.T) {
	require.Long(t, "4 s")
	const restarts = 3
	bin := buildAgent(t, "weft-target")
	for name, c := range map[string]struct{ target, initiator []string }{
		"event": {nil, nil},
		"poll":  {[]string{"--poll", "1"}, []string{"--poll", "--hdr-digest", "--data-digest"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "poll" && !canPoll() {
				t.Skip("polling needs Linux and two processors")
			}
			p := newTargetProcess(t, bin, restartConfig, c.target...)
			if err := p.start(); err != nil {
				t.Fatal(err)
			}
			defer func() { p.kill() }()
			args := append([]string{
				"--map", "10.40.1.11:4420=" + p.port, "verify", "--json", "--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:pilot:h1",
				"--nqn", "nqn.2026-11.net.example:pilot:st1", "--bs", "8k", "--iodepth", "32", "--runtime", "3s", "--fsync", "100",
				"--i-will-overwrite", "nqn.2026-11.net.example:pilot:st1/1",
			}, c.initiator...)
			var out, errs bytes.Buffer
			status := make(chan int, 1)
			var wg sync.WaitGroup
			wg.Go(func() { status <- run(args, &out, &errs) })
			for i := range restarts {
				p.serves(t, func() bool { return len(status) > 0 })
				p.kill()
				if err := p.start(); err != nil {
					t.Fatalf("restart %d: %v", i, err)
				}
			}
			wg.Wait()
			if s := <-status; s != 0 {
				t.Fatalf("exit status %d\n%s\n%s", s, errs.String(), out.String())
			}
			var r report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			v := r.Weft.Verified
			if v == nil || v.Bad != 0 || v.Blocks < 4096 || r.Jobs[0].Error != 0 {
				t.Errorf("%+v", v)
			}
			if r.Weft.Lost == 0 || r.Weft.Reconnected == 0 || r.Jobs[0].Write.Total == 0 {
				t.Errorf("the target was not lost: %+v", r.Weft)
			}
			t.Logf("%d reads, %d writes, %d blocks; lost %d times, connected again %d times, %d commands sent again",
				r.Jobs[0].Read.Total, r.Jobs[0].Write.Total, v.Blocks, r.Weft.Lost, r.Weft.Reconnected, r.Weft.Retried)
		})
	}
}

func canPoll() bool {
	return runtime.GOOS == "linux" && runtime.GOMAXPROCS(0) > 1
}
