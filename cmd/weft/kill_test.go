//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// killedLeaf is the switch that all pods have, and its cables.
const killedLeaf = `weft { name = "pod" }
credential "switch" {
  user     = "netops"
  password = env("WEFT_SWITCH_PASSWORD")
}
switch "leaf" {
  os         = "comware"
  host       = "leaf.mgmt.example.net"
  serial     = "210200A00000000011"
  credential = credential.switch
  fabric     = fabric.storage
  plane      = "a"
  safety { commit_confirm = "5m" }
}
locals { nodes = { n0 = 11, n1 = 12 } }
link "a" {
  for_each = local.nodes
  from     = server.node[each.key].rnic.p0
  to       = switch.leaf.port["Ten-GigabitEthernet1/0/${each.value}"]
  speed    = "10G"
}
`

const killedText = `connection "default" {
  user   = "weft"
  become = "sudo"
}
fabric "storage" {
  transport = "tcp"
  mode      = "lossy"
  plane "a" { subnet = "10.70.1.0/24" }
}
server "node" {
  for_each = local.nodes
  host     = "${each.key}.mgmt.example.net"
  rnic "p0" {
    match   = { pci = "0000:18:00.0" }
    address = "${cidrhost("10.70.1.0/24", each.value)}/24"
    fabric  = fabric.storage
  }
  file "/etc/motd" { content = "${var.content}\n" }
  file "/etc/large" { content = "${var.content}${var.large}" }
}
`

// killedESXi has the same devices with another system: what they keep is in RAM until it
// is saved, and their guard is a process that sleeps.
const killedESXi = `connection "default" { user = "root" }
fabric "storage" {
  transport = "rocev2"
  mode      = "lossy"
  plane "a" { subnet = "10.70.1.0/24" }
}
server "node" {
  for_each   = local.nodes
  os         = "esxi"
  host       = "${each.key}.mgmt.example.net"
  machine_id = "5ffefdd70a5137000b16001e679230${each.value}"
  advanced_option "/Net/PVRDMAVmknic" { value = var.content }
  rnic "p0" {
    match   = { pci = "0000:18:00.0" }
    address = "${cidrhost("10.70.1.0/24", each.value)}/24"
    fabric  = fabric.storage
    vmk {
      id       = "vmk2"
      vswitch  = "weft-a"
      services = ["nvme-rdma"]
    }
  }
}
target "array" {
  engine  = "external"
  portals = ["10.70.1.1:4420"]
  subsystem "data" { nqn = "nqn.2010-06.com.example:array1" }
}
initiator "esx" {
  for_each = local.nodes
  server   = server.node[each.key]
  hostnqn  = "nqn.2014-08.org.nvmexpress:uuid:5ffefdd7-0a51-3700-0b16-001e679230${each.value}"
  connect { to = target.array }
}
`

// killedWindows has two hosts whose changes are scripts, whose guard is a task of the
// scheduler and whose NICs start again with each of their settings. weft's probe is put on
// them, to one of them by SFTP and to the other in pieces that scripts carry.
const killedWindows = `connection "default" { user = "Administrator" }
fabric "storage" {
  transport = "rocev2"
  mode      = "lossless"
  mtu       = 9216
  host_mtu  = 9000
  plane "a" { subnet = "10.70.1.0/24" }
  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 50
    pfc       = true
    ecn {
      min         = "150KB"
      max         = "1500KB"
      probability = 5
    }
  }
  traffic_class "default" { bandwidth = 50 }
}
server "node" {
  for_each   = local.nodes
  os         = "windows"
  host       = "${each.key}.mgmt.example.net"
  machine_id = "0123456789abcdef0123456789abcd${each.value}"
  smb { direct_port = 5445 + tonumber(trimprefix(var.content, "c")) % 2 }
  rnic "p0" {
    match   = { pci = "0000:18:00.0" }
    address = "${cidrhost("10.70.1.0/24", each.value)}/24"
    fabric  = fabric.storage
    vlan    = 711
  }
}
target "array" {
  engine    = "external"
  transport = ["tcp"]
  portals   = ["10.70.1.1:4420"]
  subsystem "data" { nqn = "nqn.2010-06.com.example:array1" }
}
initiator "probe" {
  for_each = local.nodes
  server   = server.node[each.key]
  engine   = "none"
  hostnqn  = "nqn.2014-08.org.nvmexpress:uuid:5ffefdd7-0a51-3700-0b16-001e679230${each.value}"
  connect { to = target.array }
}
`

const killedRollout = `rollout "pod" {
  on_failure = "rollback-all"
  phase "switch" { select = [switch.leaf, link.a, server.node["n0"]] }
  phase "rest" {
    select  = "remaining"
    approve = "manual"
  }
}
`

// A pod is a lab in which weft is killed.
type pod struct {
	*testing.T
	weft, dir, home string
	random          *rand.Rand
	took            map[string]time.Duration // the longest that a command has taken
	tasks           bool                     // the guard of its hosts is a task, and what they keep is in the lab's memory
	content         int
}

// Wherever a weft is killed, in an apply, a destroy, a promotion or a rollback:
// whoever has the record goes on, and in the end everything is as declared and no
// mark, no lease and no upload is left. WEFT_KILLS says how many are killed, and
// WEFT_SEED which moments are tried first.
func TestKilled(t *testing.T) {
	t.Parallel()
	t.Run("linux", func(t *testing.T) { killed(t, killedText) })
	if os.Getenv("WEFT_KILLS") != "" { // make kills; TestScript/vsphere kills a few each time
		t.Run("esxi", func(t *testing.T) { killed(t, killedESXi) })
		t.Run("windows", func(t *testing.T) { killed(t, killedWindows) })
	}
}

func killed(t *testing.T, files string) {
	t.Parallel()
	kills, seed := fromEnv(t, "WEFT_KILLS", 6), fromEnv(t, "WEFT_SEED", int(rand.Uint32()))
	t.Logf("WEFT_KILLS=%d WEFT_SEED=%d", kills, seed)
	p := &pod{T: t, home: t.TempDir(), weft: weftBinary(t), dir: t.TempDir(), random: rand.New(rand.NewPCG(uint64(seed), 0)), took: map[string]time.Duration{}}
	p.tasks = files == killedWindows
	p.write("main.weft.hcl", files)
	p.write("leaf.weft.hcl", killedLeaf)
	p.change()
	p.must("lab", "up", "--detach")
	t.Cleanup(func() { stopLabs(p.dir) })
	for _, host := range []string{"n0", "n1"} { // so that there are more moments
		p.must("lab", "fault", host+".mgmt.example.net", "slow=5ms")
	}
	if p.tasks {
		p.must("lab", "fault", "n1.mgmt.example.net", "no-sftp")
	}
	p.settle()
	for n := range kills {
		p.round(n)
	}
	p.settle()
}

func fromEnv(t *testing.T, name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if os.Getenv(name) == "" {
		return otherwise
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// round kills one weft. What was killed before is gone on with now and then only
// by one that is killed itself.
func (p *pod) round(n int) {
	if p.random.IntN(3) > 0 {
		p.settle()
		_ = os.Remove(filepath.Join(p.dir, "rollout.weft.hcl")) // it may not be there
		if p.random.IntN(3) > 0 {
			p.write("rollout.weft.hcl", killedRollout)
		}
	}
	p.change()
	way := []string{"apply", "promote", "rollback", "destroy"}[n%4]
	args := map[string][]string{
		"apply": {"apply", "--auto-approve"}, "destroy": {"apply", "--destroy", "--auto-approve"},
		"promote": {"rollout", "promote"}, "rollback": {"rollout", "rollback"},
	}[way]
	if way == "promote" || way == "rollback" {
		p.run(nil, "apply", "--auto-approve") // there may be none to approve or revert
	}
	after := p.took[way]
	if after == 0 {
		after = p.took["apply"]
	}
	after = time.Duration(p.random.Int64N(int64(after) + int64(after)/4))
	begun := time.Now()
	code, said := p.run(&after, args...)
	if code >= 0 {
		p.took[way] = max(p.took[way], time.Since(begun))
	}
	p.Logf("%d: %s is killed after %s, %d", n, way, after.Round(time.Millisecond), code)
	// A timed revert of the switch may have to fire first; there may be no run to
	// promote or revert.
	if allowed := []int{-1, exitDone, exitError, exitRolledBack, exitWaiting}; !slices.Contains(allowed, code) {
		p.Fatalf("%v exits %d:\n%s", args, code, said)
	}
	p.must("lab", "fault", "leaf.mgmt.example.net", "pass=40m") // timers and leases of the switch run out
	if p.tasks {
		p.must("lab", "fault", "n0.mgmt.example.net", "timers") // what was armed there fires
	}
}

// settle goes on with what there is until everything is as declared.
func (p *pod) settle() {
	p.Helper()
	const most = 6
	var all string
	for range most {
		begun := time.Now()
		code, said := p.run(nil, "apply", "--auto-approve")
		p.took["apply"] = max(p.took["apply"], time.Since(begun))
		all += said
		if code == exitWaiting {
			code, said = p.run(nil, "rollout", "promote")
			all += said
		}
		if !slices.Contains([]int{exitDone, exitRolledBack}, code) {
			p.Fatalf("going on exits %d:\n%s", code, all)
		}
		if code, _ := p.run(nil, "plan", "--detailed-exitcode"); code == exitDone {
			p.clean(all)
			return
		}
	}
	p.Fatalf("it does not converge:\n%s", all)
}

// clean looks for what wefts have left behind.
func (p *pod) clean(said string) {
	p.Helper()
	_, text := p.run(nil, "unlock")
	for line := range strings.Lines(text) {
		// A switch has no ledger to note it in: whoever changes it next takes a lease that has ended.
		ended := strings.HasPrefix(line, "switch.leaf was held by") && strings.HasSuffix(line, "the lease has ended\n")
		if strings.Contains(line, "held by") && !ended || strings.Contains(line, "belongs") {
			p.Errorf("unlock: %s", line)
		}
	}
	marks, _ := filepath.Glob(filepath.Join(p.dir, ".weft/store/keys/data/+mark/*"))
	for _, m := range marks {
		text, err := os.ReadFile(m)
		// A weft that is killed while it deletes a key leaves a file that says it is gone.
		if head, _, _ := strings.Cut(string(text), "\n"); err != nil || !strings.Contains(head, " delete ") {
			p.Errorf("left: %s: %s %v", m, head, err)
		}
	}
	servers := filepath.Join(p.dir, ".weft/lab/servers")
	if p.tasks {
		servers = p.dir // which has nothing of theirs
	}
	err := filepath.WalkDir(servers, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if strings.HasPrefix(name, ".weft-") || strings.HasPrefix(name, "run.json") || name == "lease" || strings.HasPrefix(name, "lease.") {
			p.Errorf("left: %s", path)
		}
		return err
	})
	if err != nil {
		p.Error(err)
	}
	if p.Failed() {
		p.Fatal(said)
	}
}

// change declares something else.
func (p *pod) change() {
	p.content++
	p.write("content.weft.hcl", fmt.Sprintf("variable \"content\" { default = \"c%d\" }\nvariable \"large\" { default = \"%0300000d\" }\n", p.content, 7))
}

func (p *pod) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

func (p *pod) must(args ...string) {
	p.Helper()
	if code, said := p.run(nil, args...); code != exitDone {
		p.Fatalf("weft %v exits %d:\n%s", args, code, said)
	}
}

// run runs weft, and kills it after a time where there is one; -1: it was killed.
func (p *pod) run(after *time.Duration, args ...string) (code int, said string) {
	p.Helper()
	if args[0] != "lab" {
		args = append([]string{"--lab"}, args...)
	}
	cmd := exec.Command(p.weft, append([]string{"-C", p.dir}, args...)...)
	cmd.Env = append(os.Environ(), "WEFT_SWITCH_PASSWORD=weft", "HOME="+p.home)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	if after != nil {
		defer time.AfterFunc(*after, func() { _ = cmd.Process.Kill() }).Stop() // it may have ended
	}
	_ = cmd.Wait() // its exit code says it
	return cmd.ProcessState.ExitCode(), fmt.Sprintf("weft %s: %d\n%s", strings.Join(args, " "), cmd.ProcessState.ExitCode(), out.String())
}
