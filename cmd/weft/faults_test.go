package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/require"
)

// A faultCell is one fault at one place of the fabric of testdata/faults, which
// every command has to name.
type faultCell struct {
	fault, at, system string // pfc, policy, ecn, mtu; nic, leaf, between; nxos, comware
	device, part      string // as in the files
	host, name        string // as devices call themselves
	inject, repair    []string
}

// faultCommands are what verify, drift, doctor with and without files, and a gate must name.
var faultCommands = [...]string{"verify", "drift", "doctor", "doctor without files", "gate"}

// TestFaults plants faults in a fabric of the lab: PFC, policy, ECN and MTU at a NIC, a leaf port
// and a port between switches, on NX-OS and Comware. Device and port are drawn with a seed, which
// is logged; WEFT_SEED repeats it. make faults tries all cells, make test three of them.
func TestFaults(t *testing.T) {
	require.Long(t, "60 s")
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the lab does not run on Windows")
	}
	needAgents(t)
	seed := rand.Uint64N(1 << 31)
	if text := os.Getenv("WEFT_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("WEFT_SEED=%d repeats this", seed)
	cells := matrix(rand.New(rand.NewPCG(seed, 0)), os.Getenv("WEFT_FAULTS") == "all")
	script := filepath.Join(t.TempDir(), "faults.txtar")
	if err := os.WriteFile(script, []byte(faultScript(cells)), 0o600); err != nil {
		t.Fatal(err)
	}
	table := &faultTable{found: map[string]map[string]string{}}
	t.Cleanup(func() { table.report(t, cells) })
	files, err := filepath.Abs(filepath.Join("testdata", "faults"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{script},
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("WEFT_SWITCH_PASSWORD", "lab")
			e.Defer(func() { stopLabs(e.WorkDir) })
			return copyFiles(files, filepath.Join(e.WorkDir, "fabric"))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "names": table.names},
	})
}

// matrix draws the cells: all of them, or one of each place with a fault of its own.
func matrix(draw *rand.Rand, all bool) (out []faultCell) {
	faults, systems := []string{"pfc", "policy", "ecn", "mtu"}, []string{"nxos", "comware"}
	if !all {
		draw.Shuffle(len(faults), func(i, j int) { faults[i], faults[j] = faults[j], faults[i] })
		draw.Shuffle(len(systems), func(i, j int) { systems[i], systems[j] = systems[j], systems[i] })
	}
	for n, at := range []string{"nic", "leaf", "between"} {
		for i, fault := range faults {
			for j, system := range systems {
				if all || i == n && j == n%2 {
					out = append(out, draught(draw, fault, at, system))
				}
			}
		}
	}
	return out
}

// draught draws where a fault is planted.
func draught(draw *rand.Rand, fault, at, system string) faultCell {
	c := faultCell{fault: fault, at: at, system: system}
	leaf, server := 1+draw.IntN(2), []string{"st", "cn"}[draw.IntN(2)]
	node := map[string]int{"st": 10, "cn": 20}[server] + leaf
	plane, nic, port, netdev := "a", "p0", "Ethernet1/", "ens1f0np0"
	if system == "comware" {
		plane, nic, port, netdev = "b", "p1", "HundredGigE1/0/", "ens1f1np1"
	}
	if at == "nic" {
		name := server + strconv.Itoa(leaf)
		c.device, c.part, c.host, c.name = fmt.Sprintf("server.node[%q]", name), nic, name+".mgmt.example.net", netdev
		c.inject, c.repair = onNIC(c, fault)
		return c
	}
	if at == "between" {
		node = 31
	}
	c.device, c.part = fmt.Sprintf("switch.%s[%q]", plane, strconv.Itoa(leaf)), port+strconv.Itoa(node)
	c.host, c.name = fmt.Sprintf("%s%d.mgmt.example.net", plane, leaf), c.part
	c.inject, c.repair = onPort(c, fault)
	return c
}

// onNIC are the commands that plant a fault on a NIC, and that end it.
func onNIC(c faultCell, fault string) (inject, repair []string) {
	run := func(line string) []string {
		return []string{fmt.Sprintf("weft --lab exec '%s' -- sudo sh -c '%s'", c.device, line)}
	}
	lines := map[string][2]string{
		"pfc":    {"dcb pfc set dev %s prio-pfc 3:off", "dcb pfc set dev %s prio-pfc 3:on"},
		"policy": {"dcb app del dev %s dscp-prio 26:3", "dcb app add dev %s dscp-prio 26:3"},
		"ecn":    {"echo 0 >/sys/class/net/%s/ecn/roce_np/enable/3", "echo 1 >/sys/class/net/%s/ecn/roce_np/enable/3"},
		"mtu":    {"ip link set dev %s mtu 1500", "ip link set dev %s mtu 9000"},
	}[fault]
	return run(fmt.Sprintf(lines[0], c.name)), run(fmt.Sprintf(lines[1], c.name))
}

// onPort are the commands that plant a fault on a port of a switch, and that end it.
func onPort(c faultCell, fault string) (inject, repair []string) {
	edit := func(lines ...string) []string {
		return []string{"weft lab edit " + c.host + " '" + strings.Join(lines, "' '") + "'"}
	}
	at := "interface " + c.part
	switch c.system + " " + fault {
	case "nxos pfc":
		return edit(at, "no priority-flow-control mode"), edit(at, "priority-flow-control mode on")
	case "nxos policy":
		return edit(at, "no service-policy type qos input WEFT-matrix-roce-in"), edit(at, "service-policy type qos input WEFT-matrix-roce-in")
	case "nxos ecn": // queues are those of the system: a policy of the port replaces them
		return edit("policy-map type queuing THEIRS", "class type queuing c-out-8q-q3", "bandwidth remaining percent 50", at, "service-policy type queuing output THEIRS"),
			edit(at, "no service-policy type queuing output THEIRS", "no policy-map type queuing THEIRS")
	case "nxos mtu":
		return edit(at, "no mtu"), edit(at, "mtu 9216")
	case "comware pfc":
		return edit(at, "undo priority-flow-control"), edit(at, "priority-flow-control enable", "priority-flow-control no-drop dot1p 3")
	case "comware policy":
		return edit(at, "undo qos trust"), edit(at, "qos trust dscp")
	case "comware ecn":
		return edit(at, "undo qos wred apply"), edit(at, "qos wred apply WEFT-matrix-roce")
	}
	return edit(at, "jumboframe enable 1600"), edit(at, "jumboframe enable 9216")
}

// simulated are the checks of doctor about what simulated devices do not have.
var simulated = [...]string{"WD-LNK-15", "WD-QOS-14", "WD-QOS-15", "WD-RDM-03", "WD-RDM-06", "WD-SW-02", "WD-CPU-02", "WD-CPU-03", "WD-CPU-05", "WD-MEM-01", "WD-NVM-10", "WD-NVM-11", "WD-NVM-27", "WD-OS-01", "WD-OS-05", "WD-OS-06", "WD-PCI-04", "WD-PCI-12"}

// faultScript applies the fabric, has every command find it good, and then plants each fault in turn.
func faultScript(cells []faultCell) string {
	ignore := " --ignore " + strings.Join(simulated[:], "=lab --ignore ") + "=lab"
	doctor := "weft --lab doctor" + ignore
	bare := doctor + " --hosts st1.mgmt.example.net,st2.mgmt.example.net,cn1.mgmt.example.net,cn2.mgmt.example.net" +
		" --switches nxos:a1.mgmt.example.net,nxos:a2.mgmt.example.net,comware:b1.mgmt.example.net,comware:b2.mgmt.example.net"
	lines := []string{"cd fabric", "weft lab up --detach", "weft --lab apply --auto-approve",
		"exits 0 weft --lab verify", "exits 0 weft --lab drift", "exits 0 " + doctor, "exits 0 " + bare}
	for n, c := range cells {
		lines = append(lines, "# "+c.String(), fmt.Sprintf("exits 10 weft --lab --var round=%d --var approve=manual apply --auto-approve", n+1))
		lines = append(lines, c.inject...)
		for i, command := range []string{"3 weft --lab verify hops", "2 weft --lab drift", "3 " + doctor, "3 " + bare, "5 weft --lab rollout promote"} {
			lines = append(lines, fmt.Sprintf("names '%s' '%s' '%s' %s", c, faultCommands[i], c.named(faultCommands[i]), command))
		}
		lines = append(append(lines, c.repair...), "exits 0 weft --lab drift")
	}
	lines = append(lines, "# The fabric is good again.", "exits 0 weft --lab verify", "exits 0 "+doctor, "exits 0 "+bare, "weft lab down")
	return strings.Join(lines, "\n") + "\n"
}

func (c faultCell) String() string {
	return strings.Join([]string{c.fault, c.at, c.system, c.device, c.part}, " ")
}

// named is what the output of a command holds that names the place.
func (c faultCell) named(command string) string {
	device, part := regexp.QuoteMeta(c.device), regexp.QuoteMeta(c.part)
	switch command {
	case "verify":
		return "fail: " + device + " " + part + ", "
	case "drift":
		return device + `(/port\.| )` + part + `(\s|$)`
	case "doctor":
		return `(?s)^[^?]*\n +` + device + " " + part + `\s` // before what is not known
	case "doctor without files":
		return `(?s)^[^?]*\n +` + regexp.QuoteMeta(c.host) + " " + regexp.QuoteMeta(c.name) + `\s`
	}
	return "its gate fails: path.lossless of " + device + " " + part + ": "
}

// A faultTable is which command has named which fault.
type faultTable struct {
	sync.Mutex
	found map[string]map[string]string
}

// names runs a command, and notes whether it ended with a code and named a place:
// names CELL COMMAND REGEXP CODE PROGRAM ARG…
func (f *faultTable) names(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 5 {
		ts.Fatalf("usage: names CELL COMMAND REGEXP CODE PROGRAM ARG…")
	}
	err := ts.Exec(args[4], args[5:]...)
	code := "0"
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = strings.TrimSpace(strings.TrimPrefix(exit.Error(), "exit status"))
	}
	result := "named"
	switch {
	case !regexp.MustCompile(args[2]).MatchString(ts.ReadFile("stdout")):
		result = "NOT named, exit code " + code
	case code != args[3]:
		result = "exit code " + code
	}
	f.Lock()
	defer f.Unlock()
	if f.found[args[0]] == nil {
		f.found[args[0]] = map[string]string{}
	}
	f.found[args[0]][args[1]] = result
}

// report logs the table, and fails where a command has not named a fault.
func (f *faultTable) report(t *testing.T, cells []faultCell) {
	f.Lock()
	defer f.Unlock()
	lines := []string{"| fault | at | system | place | " + strings.Join(faultCommands[:], " | ") + " |", strings.Repeat("|---", 4+len(faultCommands)) + "|"}
	for _, c := range cells {
		row := []string{c.fault, c.at, c.system, c.device + " " + c.part}
		for _, command := range faultCommands {
			row = append(row, f.found[c.String()][command])
		}
		if slices.ContainsFunc(row[4:], func(s string) bool { return s != "named" }) {
			t.Errorf("%s: %s", c, strings.Join(row[4:], ", "))
		}
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
	}
	t.Log("\n" + strings.Join(lines, "\n"))
}
