package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// hostileRuns are the runs of each command that show what devices say, while all
// of them answer with what terminals obey. A command that is not here has no test.
var hostileRuns = map[string][][]string{
	"validate":         {{}},
	"plan":             {{"--show-config"}},
	"apply":            {{"--auto-approve"}, {"p.weftplan"}},
	"show":             {{"p.weftplan"}},
	"rollout status":   {{}},
	"rollout promote":  {{}},
	"rollout step":     {{}},
	"rollout pause":    {{}},
	"rollout resume":   {{}},
	"rollout abort":    {{}},
	"rollout rollback": {{}},
	"rollout view":     nil, // it serves until it is interrupted, and asks no device
	"worker":           nil, // it serves until it is interrupted; what it carries out is as apply

	"drift":          {{}},
	"facts":          {{}},
	"doctor":         {{}, {"--format", "markdown"}},
	"discover":       {{"--seed", "leaf-a.mgmt.example.net,leaf-b.mgmt.example.net", "--hosts", "st1.mgmt.example.net,cn1.mgmt.example.net", "--out", "discovered"}},
	"verify cabling": {{}},
	"record":         {{"switch.leaf-a"}, {"switch.leaf-b"}},
	"exec":           {{"switch.leaf-a", "--", "show", "version"}, {"switch.leaf-b", "--", "display", "version"}, {"server", "--", "id"}},
	"unlock":         {{}, {"--force"}},
	"verify":         {{}},
	"verify reboot":  {{"server.node[\"st1\"]", "--auto-approve"}},
	"watch":          {{"--count", "1"}},
	"report":         {{}},
	"report check":   {{"p.weftplan"}, {"\x1b[5m"}},
	"lab status":     {{}},
	"lab fault":      {{"leaf-a.mgmt.example.net", "hostile=("}},
	"lab edit":       {{"leaf-a.mgmt.example.net", "hostname \x1b[5m"}},
	"version":        {{}},
	"fmt":            {{"--diff"}},
	"graph":          {{}, {"--format", "dot"}, {"--format", "mermaid"}},
	"catalogue":      {{}},
	"completion":     {{"bash"}, {"zsh"}, {"fish"}, {"powershell"}},
	"console":        {{"--eval", `"a\u001b[5m\u009b5m\u202e"`}},
	"schema":         {{}, {"\x1b[5m"}},
	"explain":        {{}, {"\x1b[5m"}},
	"lab grammar":    {{}},
	"init":           {{}},
	"approve":        {{}, {"\x1b[5m"}},
	"audit verify":   {{}, {"\x1b[5m"}},
	"audit export":   {{}},
	"runs":           {{}, {"--all"}},
	"store check":    {{"\x1b[5m"}},

	"store lease list":      {{"\x1b[5m"}},
	"store lease break":     {{"\x1b[5m"}},
	"hub backup":            {{"\x1b[5m"}},
	"hub credential add":    {{"\x1b[5m"}},
	"hub credential revoke": {{"\x1b[5m"}},
	"hub import":            {{"\x1b[5m"}},
	"hub init":              {{"\x1b[5m"}},
	"hub status":            {{}},
	"hub serve":             {{"--listen", "\x1b[5m"}},

	"verify failover": {{}},
	"rehearse":        nil, // a lab of its own, which is not hostile
	"lab up":          nil, // as lab status
	"lab ssh":         nil, // a login of an operator's: the terminal is the machine's
	"lab down":        nil, // comes last
}

// What devices, peers and files say reaches no terminal as what it would obey,
// whatever the command, in colour or as JSON: neither control characters nor
// what turns the direction of text. It is shown instead.
func TestHostile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the lab does not run on Windows")
	}
	needAgents(t)
	weft, err := exec.LookPath("weft") // this test, by that name
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	if err := copyFiles(filepath.Join("..", "..", "examples", "pilot"), dir); err != nil {
		t.Fatal(err)
	}
	defer stopLabs(dir)
	run := func(args ...string) (stdout, stderr []byte) {
		var out, said bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, weft, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &said
		cmd.Env = append(os.Environ(), "HOME="+home)
		_ = cmd.Run() // most fail
		return out.Bytes(), said.Bytes()
	}
	run("lab", "up", "--detach")
	run("--lab", "--var-file", "lab.weftvars", "plan", "--out", "p.weftplan")
	run("--lab", "--var-file", "lab.weftvars", "exec", "--sudo", "server", "--", "sh", "-c", `printf 'PRETTY_NAME="hostile \033[5mLinux\302\2335m"\n' >/etc/os-release`)
	const patient, hasty = time.Minute, time.Second
	timeout := patient // what is to be carried out has time
	check := func(args ...string) (shown string) {
		t.Helper()
		modes := []string{"--color=always"}
		if slices.Contains([]string{"plan", "apply", "exec", "facts"}, args[0]) {
			modes = append(modes, "--json")
		}
		for _, mode := range modes {
			stdout, stderr := run(append([]string{"--lab", "--var-file", "lab.weftvars", "--var", "command_timeout=" + timeout.String(), mode}, args...)...)
			for name, out := range map[string][]byte{"stdout": stdout, "stderr": stderr} {
				if what := obeyed(out); what != "" {
					t.Errorf("weft %s %q: %s has %s", mode, args, name, what)
				}
			}
			if mode == "--json" {
				for line := range strings.Lines(string(stdout)) {
					if !json.Valid([]byte(line)) {
						t.Errorf("weft %s %q: this is no JSON: %s", mode, args, line)
					}
				}
			} else {
				shown = string(stdout) + string(stderr)
			}
		}
		return shown
	}
	devices := func(fault string) {
		for _, host := range []string{"leaf-a", "leaf-b", "st1", "st2", "cn1", "cn2"} {
			run("lab", "fault", host+".mgmt.example.net", "hostile="+fault)
		}
	}
	// First they carry hostile names, then they answer steps so, then everything.
	const turned = `\u202eover`
	check("facts")
	devices("modprobe|mkdir|^(class-map|qos) ")
	if shown := check("apply", "--auto-approve"); !strings.Contains(shown, turned) {
		t.Errorf("weft apply does not show what a step was answered:\n%s", shown)
	}
	devices(".")
	timeout = hasty // and who is answered by no prompt does not wait long: only what is shown matters
	commands := runnable(commandTree())
	for name := range hostileRuns {
		if !slices.Contains(commands, name) {
			t.Errorf("hostileRuns has %s, which is no command", name)
		}
	}
	for _, name := range commands {
		runs, known := hostileRuns[name]
		if !known {
			t.Errorf("weft %s is not tried with hostile devices: add it to hostileRuns", name)
		}
		for _, args := range runs {
			told := name == "plan" || name == "drift" || name == "exec" && args[0] == "server"
			shown := check(append(strings.Fields(name), args...)...)
			for told && !strings.Contains(shown, turned) && timeout < patient { // a busy machine answers later
				timeout *= 4
				shown = check(append(strings.Fields(name), args...)...)
			}
			timeout = hasty
			if told && !strings.Contains(shown, turned) {
				t.Errorf("weft %s %q does not show what it was answered:\n%s", name, args, shown)
			}
		}
	}
}

// runnable lists the commands that do something, by their names.
func runnable(root *cobra.Command) (names []string) {
	for _, c := range root.Commands() {
		if c.Runnable() && c.Name() != "help" && !c.HasSubCommands() || slices.Contains([]string{"verify", "facts", "report"}, c.Name()) {
			names = append(names, strings.TrimPrefix(c.CommandPath(), "weft "))
		}
		names = append(names, runnable(c)...)
	}
	return names
}

// weftStyles are the sequences that weft itself sends to a terminal.
var weftStyles = regexp.MustCompile(`\x1b\[(?:0|1|2|31|32|33|36|1;4)m`)

// obeyed is what of a text a terminal would obey, "" nothing.
func obeyed(out []byte) string {
	rest := weftStyles.ReplaceAll(out, nil)
	for i, r := range string(rest) {
		invalid := r == utf8.RuneError && !bytes.HasPrefix(rest[i:], []byte("\uFFFD"))
		if r == '\n' || r == '\t' || !invalid && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			continue
		}
		return fmt.Sprintf("%U in %q", r, rest[max(0, i-60):min(len(rest), i+40)])
	}
	return ""
}
