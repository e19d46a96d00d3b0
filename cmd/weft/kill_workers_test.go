//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const killedSites = `weft { name = "pair" }
connection "default" {
  user   = "weft"
  become = "sudo"
}
server "node" {
  count  = 2
  host   = "n${count.index}.example.net"
  labels = { dc = count.index + 1 }
  file "/etc/motd" { content = "${var.content}\n" }
  file "/etc/issue" { content = "${var.content}${var.large}\n" }
}
site "dc1" { select = "@dc=1" }
site "dc2" { select = "@dc=2" }
rollout "all" {
  phase "one" { select = [server.node[0]] }
  phase "two" { select = "remaining" }
}
`

// A crewPod is a hub, a worker of each of two sites, and the files of a leader.
type crewPod struct {
	pod
	root  string
	url   string
	alive map[string]*exec.Cmd // hub, dc1 and dc2
}

// TestKilledWorkers kills the leader, a worker and the hub in turn during a rollout in two
// phases: each time what is left goes on to what was declared.
func TestKilledWorkers(t *testing.T) {
	kills := fromEnv(t, "WEFT_KILLS", 0)
	if kills == 0 {
		t.Skip("minutes: make kills")
	}
	seed := fromEnv(t, "WEFT_SEED", int(rand.Uint32()))
	t.Logf("WEFT_KILLS=%d WEFT_SEED=%d", kills, seed)
	root := t.TempDir()
	p := &crewPod{pod: pod{T: t, home: t.TempDir(), weft: weftBinary(t), dir: filepath.Join(root, "lead"), random: rand.New(rand.NewPCG(uint64(seed), 0)), took: map[string]time.Duration{}},
		root: root, alive: map[string]*exec.Cmd{}}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("main.weft.hcl", killedSites)
	p.change()
	p.bare("hub", "init", "--dir", p.at("hub"))
	for _, who := range [][]string{{"team"}, {"dc1", "--site", "dc1"}, {"dc2", "--site", "dc2"}} {
		p.bare(append([]string{"hub", "credential", "add", who[0], "--dir", p.at("hub"), "--owner", "pair", "--out", p.at(who[0] + ".creds")}, who[1:]...)...)
	}
	p.must("lab", "up", "--detach")
	t.Cleanup(func() { stopLabs(p.dir) })
	p.start("hub")
	for _, site := range []string{"dc1", "dc2"} {
		if err := os.Mkdir(p.at(site), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(p.at(site), ".weft"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(p.dir, ".weft", "lab"), filepath.Join(p.at(site), ".weft", "lab")); err != nil {
			t.Fatal(err)
		}
		p.start(site)
	}
	p.converge()
	for n := range kills {
		p.change()
		who := []string{"lead", "dc1", "hub", "lead", "dc2", "hub"}[n%6]
		after := time.Duration(p.random.Int64N(int64(p.took["apply"]) + 1))
		t.Logf("%d: %s is killed after %s", n, who, after.Round(time.Millisecond))
		if who == "lead" {
			p.run(&after, p.orders()...)
		} else {
			gone := make(chan struct{})
			stop := time.AfterFunc(after, func() {
				defer close(gone)
				p.kill(who)
				if who != "hub" { // which stays away until the leader has given up
					p.start(who)
				}
			})
			code, said := p.run(nil, p.orders()...)
			if quicker := stop.Stop(); !quicker {
				<-gone
			} else {
				p.kill(who)
			}
			if allowed := []int{exitDone, exitHeld, exitWaiting, exitRolledBack, exitChanged, exitUnreachable}; !slices.Contains(allowed, code) {
				t.Fatalf("the leader exits %d:\n%s", code, said)
			}
			if p.alive[who] == nil {
				p.start(who)
			}
		}
		p.converge()
	}
}

func (p *crewPod) at(name string) string { return filepath.Join(p.root, name) }

func (p *crewPod) orders() []string {
	return []string{"--store", p.at("team.here") + "?lease=8s", "apply", "--auto-approve", "--workers"}
}

// bare runs a command that needs no devices.
func (p *crewPod) bare(args ...string) {
	p.Helper()
	cmd := exec.Command(p.weft, args...)
	cmd.Env = append(os.Environ(), "HOME="+p.home)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("weft %v: %v\n%s", args, err, out)
	}
}

// kill kills the hub or a worker.
func (p *crewPod) kill(who string) {
	_ = p.alive[who].Process.Kill() // it runs
	_ = p.alive[who].Wait()         // it was killed
	p.alive[who] = nil
}

// start starts the hub, at the port where it was before, or the worker of a site.
func (p *crewPod) start(who string) {
	p.Helper()
	args := []string{"--lab", "-C", p.at(who), "--store", p.at(who+".here") + "?lease=8s", "worker", "--site", who}
	if who == "hub" {
		listen := "127.0.0.1:0"
		if p.url != "" {
			_, listen, _ = strings.Cut(p.url, "://")
		}
		args = []string{"hub", "serve", "--dir", p.at("hub"), "--listen", listen}
		_ = os.Remove(filepath.Join(p.at("hub"), "serving.json")) // of the one that was killed
	}
	cmd := exec.Command(p.weft, args...)
	cmd.Env = append(os.Environ(), "HOME="+p.home)
	log, err := os.OpenFile(p.at(who+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	log.Close()
	p.alive[who] = cmd
	p.Cleanup(func() { _ = cmd.Process.Kill() })
	if who != "hub" {
		return
	}
	var serving struct{ URL string }
	for range 6000 {
		text, err := os.ReadFile(filepath.Join(p.at("hub"), "serving.json"))
		if err == nil && json.Unmarshal(text, &serving) == nil && serving.URL != "" {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	p.url = serving.URL
	for _, name := range []string{"team", "dc1", "dc2"} {
		text, err := os.ReadFile(p.at(name + ".creds"))
		if err == nil {
			text = regexp.MustCompile(`(?m)^Hub: .*`).ReplaceAll(text, []byte("Hub: "+p.url))
			err = os.WriteFile(p.at(name+".here"), text, 0o600)
		}
		if err != nil {
			p.Fatal(err)
		}
	}
}

// converge goes on until all is as declared, and nothing is left of runs.
func (p *crewPod) converge() {
	p.Helper()
	all := ""
	for range 60 {
		begun := time.Now()
		code, said := p.run(nil, p.orders()...)
		all += said
		switch code {
		case exitDone:
			p.took["apply"] = max(p.took["apply"], time.Since(begun))
			if code, said := p.run(nil, "--store", p.at("team.here"), "plan", "--detailed-exitcode"); code == exitDone {
				p.left(all)
				return
			} else {
				all += said
			}
		case exitHeld, exitWaiting: // until the lease of the one that was killed has ended
			if _, said := p.run(nil, "--store", p.at("team.here"), "rollout", "status"); strings.Contains(said, "paused") {
				_, said = p.run(nil, "--store", p.at("team.here")+"?lease=8s", "rollout", "resume")
				all += said
			}
			time.Sleep(time.Second)
		case exitRolledBack, exitChanged, exitUnreachable:
		default:
			p.Fatalf("going on exits %d:\n%s", code, all)
		}
	}
	p.Fatalf("it does not converge:\n%s", all)
}

// left looks for what runs have left on devices.
func (p *crewPod) left(said string) {
	p.Helper()
	_, text := p.run(nil, "--store", p.at("team.here"), "unlock")
	if strings.Contains(text, "held by") || strings.Contains(text, "belongs") {
		p.Fatalf("unlock: %s\n%s", text, said)
	}
	for _, name := range []string{"n0", "n1"} {
		place := filepath.Join(p.dir, ".weft/lab/servers", name+".example.net")
		if text, err := os.ReadFile(filepath.Join(place, "etc/motd")); err != nil || string(text) != fmt.Sprintf("c%d\n", p.content) {
			p.Fatalf("%s: %q, %v\n%s", name, text, err, said)
		}
		if _, err := os.Stat(filepath.Join(place, "var/lib/weft/run.json")); err == nil {
			p.Fatalf("%s carries a mark\n%s", name, said)
		}
	}
}
