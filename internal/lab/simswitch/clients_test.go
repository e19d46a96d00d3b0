package simswitch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
)

// Clients that other people wrote, and that run real switches every day, must
// find nothing odd about a simulated one.

// needClient skips where a client is missing, which names what would bring it;
// where WEFT_REQUIRE holds clients that is a failure. A plain go test leaves clients to
// make test.
func needClient(t *testing.T, probe []string, pkg string) {
	t.Helper()
	require.Long(t, "half a minute")
	cmd := exec.Command(probe[0], probe[1:]...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	require.Missing(t, require.Clients, "%s: %v: install %s (make deps)\n%s", strings.Join(probe, " "), err, pkg, out)
}

// longestRun is far more than a client needs, even on a busy machine.
const longestRun = 10 * time.Minute

// drive runs a client to its end and returns what it printed.
func drive(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(longestRun, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

// python is Debian's, which has what Debian packages; another may come first in
// PATH.
const python = "/usr/bin/python3"

// netmikoAsk is what testdata/clients/netmiko_drive.py is told to do.
type netmikoAsk struct {
	Device map[string]any `json:"device"`
	Shows  []string       `json:"shows"`
	Config []string       `json:"config"`
	Wrong  string         `json:"wrong"` // a line that is refused
	Short  string         `json:"short"` // makes it print screen by screen
	Long   string         `json:"long"`  // prints more than one of them
	More   string         `json:"more"`  // stands below all but the last
}

// netmikoSaw is what it says it saw.
type netmikoSaw struct {
	WrongPassword     string            `json:"wrong_password"`
	Prompt            string            `json:"prompt"`
	Shows             map[string]string `json:"shows"`
	Config            string            `json:"config"`
	InConfigMode      bool              `json:"in_config_mode"`
	InConfigModeAfter bool              `json:"in_config_mode_after"`
	Refusal           string            `json:"refusal"`
	Saved             string            `json:"saved"`
	Paged             struct {
		Screens int    `json:"screens"`
		Text    string `json:"text"`
	} `json:"paged"`
}

func netmiko(t *testing.T, sw *Switch, kind string, ask netmikoAsk) netmikoSaw {
	t.Helper()
	needClient(t, []string{python, "-c", "import netmiko"}, "python3-netmiko")
	host, port := endpoint(t, start(t, sw))
	ask.Device = map[string]any{
		"device_type": kind, "host": host, "port": port, "username": "admin", "password": "secret",
		"timeout": 60, "auth_timeout": 60, "banner_timeout": 60,
	}
	in, err := json.Marshal(ask)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-W", "ignore", "testdata/clients/netmiko_drive.py")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stdin = bytes.NewReader(in)
	var saw netmikoSaw
	if err := json.Unmarshal(drive(t, cmd), &saw); err != nil {
		t.Fatal(err)
	}
	if saw.WrongPassword != "refused" {
		t.Errorf("a wrong password was %s", saw.WrongPassword)
	}
	if saw.InConfigModeAfter || !saw.InConfigMode {
		t.Errorf("configuration mode: after lines %v, when entered %v", saw.InConfigModeAfter, saw.InConfigMode)
	}
	if saw.Paged.Screens < 3 || strings.Contains(saw.Paged.Text, ask.More) {
		t.Errorf("%d screens of:\n%s", saw.Paged.Screens, saw.Paged.Text)
	}
	return saw
}

func endpoint(t *testing.T, addr string) (host string, port int) {
	t.Helper()
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	if port, err = strconv.Atoi(text); err != nil {
		t.Fatal(err)
	}
	return host, port
}

func TestNetmikoNexus(t *testing.T) {
	t.Parallel()
	sw := leaf()
	saw := netmiko(t, sw, "cisco_nxos", netmikoAsk{
		Shows:  []string{"show version", "show running-config", "show interface status", "show lldp neighbors"},
		Config: append(slices.Clone(lossless), "interface Ethernet1/3", "service-policy type qos input WEFT-in"),
		Wrong:  "mtu much",
		Short:  "terminal length 30", Long: "show running-config", More: "--More--",
	})
	if saw.Prompt != "leaf-a#" {
		t.Errorf("prompt %q", saw.Prompt)
	}
	has(t, saw.Shows["show version"], "NXOS: version 10.3(4a)", "Processor Board ID FDO00000001")
	has(t, saw.Shows["show running-config"], "hostname leaf-a\n", "interface Ethernet1/4\n  description server port 4\n")
	has(t, saw.Shows["show interface status"], "Eth1/4 ")
	has(t, saw.Shows["show lldp neighbors"], "st4 ", "Total entries displayed: 4")
	hasNot(t, saw.Config, "marker", "ERROR")
	has(t, saw.Refusal, "% Invalid command at '^' marker.")
	has(t, saw.Saved, "Copy complete.")
	has(t, sw.RunningConfig(), "  class WEFT-rdma\n    set qos-group 3\n", "  service-policy type qos input WEFT-in\n")
	if sw.StartupConfig() != sw.RunningConfig() {
		t.Error("what was saved is not what runs")
	}
	wholeConfig(t, saw.Paged.Text, sw)
}

func TestNetmikoComware(t *testing.T) {
	t.Parallel()
	sw := h3c()
	saw := netmiko(t, sw, "hp_comware", netmikoAsk{
		Shows: []string{"display version", "display current-configuration", "display interface brief", "display lldp neighbor-information list"},
		Config: []string{
			"qos map-table dscp-dot1p", "import 27 export 5", "quit",
			"qos wred queue table WEFT-rdma", "queue 3 low-limit 6000 high-limit 12000 discard-probability 5", "quit",
			"interface HundredGigE1/0/1", "priority-flow-control enable", "qos wred apply WEFT-rdma",
		},
		Wrong: "qos map-table dscp",
		Short: "undo screen-length disable", Long: "display current-configuration", More: "---- More ----",
	})
	if saw.Prompt != "<leaf-b>" {
		t.Errorf("prompt %q", saw.Prompt)
	}
	has(t, saw.Shows["display version"], "Comware Software, Version 7.1.070, Release 2612P06")
	has(t, saw.Shows["display current-configuration"], " sysname leaf-b\n", "interface HundredGigE1/0/4\n port link-mode bridge\n")
	has(t, saw.Shows["display interface brief"], "HGE1/0/4")
	has(t, saw.Shows["display lldp neighbor-information list"], "st4")
	hasNot(t, saw.Config, "found at", "ERROR")
	has(t, saw.Refusal, "found at '^' position.")
	has(t, saw.Saved, "saved to device successfully")
	has(t, sw.RunningConfig(), " import 27 export 5\n", "qos wred queue table WEFT-rdma\n")
	if sw.StartupConfig() != sw.RunningConfig() {
		t.Error("what was saved is not what runs")
	}
	wholeConfig(t, saw.Paged.Text, sw)
}

// wholeConfig wants every line of the configuration, once and in order, in what
// was read screen by screen.
func wholeConfig(t *testing.T, paged string, sw *Switch) {
	t.Helper()
	rest := paged
	for line := range strings.Lines(sw.RunningConfig()) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Fatalf("screen by screen, %q is missing or out of place in:\n%s", line, paged)
		}
		rest = after
	}
}

func TestAnsibleNexus(t *testing.T) {
	t.Parallel()
	needClient(t, []string{python, "-c", "import ansible_collections.cisco.nxos, paramiko"}, "ansible and python3-paramiko")
	playbook := require.Tool(t, require.Clients, "ansible-playbook")
	sw := leaf()
	host, port := endpoint(t, start(t, sw))
	home, err := os.MkdirTemp("", "weft") // its sockets' names must stay short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	list := fmt.Sprintf(`leaf ansible_host=%s ansible_port=%d ansible_user=admin ansible_password=secret `+
		`ansible_connection=ansible.netcommon.network_cli ansible_network_os=cisco.nxos.nxos ansible_network_cli_ssh_type=paramiko ansible_python_interpreter=%s`+"\n", host, port, python)
	hosts := filepath.Join(home, "hosts")
	if err := os.WriteFile(hosts, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "ansible.cfg") // instead of this machine's
	if err := os.WriteFile(config, []byte("[defaults]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(playbook, "-v", "-i", hosts, "testdata/clients/nxos.yml")
	cmd.Env = append(os.Environ(), "HOME="+home, "ANSIBLE_HOME="+home, "ANSIBLE_CONFIG="+config,
		"ANSIBLE_PERSISTENT_CONTROL_PATH_DIR="+home, "ANSIBLE_LOCAL_TEMP="+home+"/tmp", "ANSIBLE_HOST_KEY_CHECKING=false",
		"ANSIBLE_PERSISTENT_COMMAND_TIMEOUT=120", "ANSIBLE_PERSISTENT_CONNECT_TIMEOUT=120", "ANSIBLE_NOCOLOR=1",
		"PYTHONDONTWRITEBYTECODE=1", "LC_ALL=C.UTF-8")
	out := string(drive(t, cmd))
	has(t, out, "failed=0", "unreachable=0", "ignored=1")
	has(t, sw.RunningConfig(), "class-map type qos match-any ANSIBLE-rdma\n  match dscp 26\n",
		"  class ANSIBLE-rdma\n    set qos-group 3\n", "  mtu 9216\n", "  service-policy type qos input ANSIBLE-in\n")
	if sw.StartupConfig() != sw.RunningConfig() {
		t.Error("what was saved is not what runs")
	}
}
