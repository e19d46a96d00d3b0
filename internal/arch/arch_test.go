package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// The house. A package may import the packages of weft that stand beside it,
// and the leaves. A name that ends in /... stands for itself and everything below.
// One that ends in /* is any other package in that folder.
// Tests of a package may import what the package may, and what mayTest adds.
var may = map[string][]string{
	// Leaves: anybody may import them.
	"internal/findings":   {},
	"internal/hint":       {},
	"internal/latency":    {},
	"internal/metric":     {},
	"internal/outfile":    {},
	"internal/owned":      {},
	"internal/pattern":    {},
	"internal/refusal":    {},
	"internal/selector":   {},
	"internal/slice":      {},
	"internal/traffic":    {},
	"internal/tally":      {},
	"internal/text":       {},
	"internal/wait":       {},
	"internal/nvme/names": {},

	// The engine and the language know nothing of devices.
	"plan":                {},
	"plan/rollout":        {"plan"},
	"inventory/catalogue": {},

	// What files describe, what is wrong with it, and what it must be: the language
	// reads files into the model and has it checked by the rules.
	"inventory":          {},
	"inventory/problem":  {},
	"inventory/rules":    {"inventory", "inventory/problem", "inventory/catalogue"},
	"inventory/language": {"inventory", "inventory/problem", "inventory/rules", "inventory/catalogue"},

	// Machines.
	"internal/remote":            {},
	"internal/remote/ssh":        {"internal/remote"},
	"internal/remote/remotetest": {"internal/remote"},
	"switches":                   {},
	"switches/*":                 {"switches"},     // each system
	"switches/systems":           {"switches/..."}, // the one list
	"internal/agent":             {},
	"internal/bundle":            {},

	// Where wishes meet machines.
	"modules/claim":      {"plan"},
	"modules/host":       {"modules/claim", "plan", "inventory", "inventory/catalogue", "internal/remote", "internal/bundle"},
	"modules/leaf":       {"modules/claim", "plan", "inventory", "inventory/catalogue", "switches", "switches/systems"},
	"modules/host/posix": {"modules/host", "internal/remote"}, // a memory, of those systems that have a shell
	// One host system. Its kinds stand apart by what they are about.
	"modules/linux/see":     {"internal/remote"},
	"modules/linux/put":     {"plan", "internal/remote", "internal/agent"},
	"modules/linux/nic":     {"modules/host", "modules/linux/see", "modules/linux/put", "plan", "inventory", "internal/remote"},
	"modules/linux/storage": {"modules/host", "modules/linux/see", "modules/linux/put", "plan", "inventory", "internal/remote"},
	"modules/linux/system":  {"modules/host", "modules/linux/see", "modules/linux/put", "plan", "inventory", "internal/remote", "internal/agent"},
	"modules/linux/nvme": {"modules/host", "modules/linux/see", "modules/linux/put", "modules/linux/storage", "plan", "inventory", "internal/remote", "internal/agent", "internal/bundle",
		"internal/nvme/dhchap", "internal/nvme/psk"}, // what a key is
	"modules/linux":              {"modules/host/...", "modules/linux/...", "plan", "inventory", "inventory/catalogue", "internal/remote", "internal/agent"},
	"modules/esxi":               {"modules/host/...", "plan", "inventory", "inventory/catalogue", "internal/remote"},
	"modules/windows/powershell": {},
	"modules/windows":            {"modules/host", "modules/windows/powershell", "plan", "inventory", "internal/remote", "internal/agent", "internal/bundle"},
	"modules":                    {"modules/claim", "modules/host", "modules/leaf", "modules/linux/...", "modules/esxi", "modules/vcenter", "modules/windows", "plan", "inventory", "inventory/problem", "inventory/catalogue", "switches", "switches/systems", "internal/remote", "internal/agent", "internal/bundle"},

	// Who vouches for a plan file, and for a phase.
	"internal/sshsig":  {},
	"internal/approve": {"internal/sshsig", "plan"},

	// vCenter, and what stands in for it in tests.
	"modules/vcenter":         {"modules/claim", "plan"},
	"internal/lab/simvcenter": {},

	// What tests may not skip.
	"internal/require": {},

	// What people and pipelines see.
	"internal/prove":  {"plan", "inventory", "inventory/language", "switches", "internal/remote", "internal/agent", "internal/topology", "internal/lossless", "modules/host"},
	"internal/view":   {"plan", "plan/rollout", "internal/prove", "inventory/problem"},
	"internal/report": {"plan", "plan/rollout", "internal/prove", "internal/view"},
	"internal/graph":  {"inventory"},
	// The network model of the files, and what readings say of each place in it.
	"internal/topology": {"inventory"},
	"internal/lossless": {"internal/topology", "inventory", "modules/host", "modules/leaf", "switches"},
	"internal/doctor":   {"inventory", "inventory/catalogue", "modules/host", "modules/leaf", "switches", "internal/review", "internal/lossless", "internal/topology"},
	"internal/review":   {"plan", "inventory/problem", "internal/view"},

	// What weft and its lab exchange.
	"internal/labctl": {"inventory", "internal/agent"},

	// The lab shares no code with the drivers it stands in for.
	"internal/lab":            {"inventory", "internal/remote/...", "internal/lab/...", "internal/labctl"},
	"internal/lab/sshd":       {},
	"internal/lab/guest":      {},
	"internal/lab/simswitch":  {"internal/lab/sshd"},
	"internal/lab/simserver":  {"internal/lab/sshd"},
	"internal/lab/simesxi":    {"internal/lab/sshd"},
	"internal/lab/simwindows": {"internal/lab/sshd"},

	// The data path.
	"internal/nvme/wire":      {},
	"internal/nvme/backend":   {"internal/nvme/rawsock"}, // for Yield
	"internal/nvme/fabric":    {"internal/nvme/wire"},
	"internal/nvme/rawsock":   {},
	"internal/nvme/crc32c":    {},
	"internal/nvme/pingpong":  {"internal/nvme/rawsock"},
	"internal/nvme/tcp":       {"internal/nvme/fabric", "internal/nvme/wire", "internal/nvme/rawsock", "internal/nvme/crc32c", "internal/nvme/tls13"},
	"internal/nvme/dhchap":    {"internal/nvme/wire"},
	"internal/nvme/tls13":     {},
	"internal/nvme/psk":       {"internal/nvme/tls13"},
	"internal/nvme/target":    {"internal/nvme/fabric", "internal/nvme/backend", "internal/nvme/dhchap", "internal/nvme/psk", "internal/nvme/wire"},
	"internal/nvme/initiator": {"internal/nvme/fabric", "internal/nvme/dhchap", "internal/nvme/wire"},
	"internal/nvme/load":      {"internal/nvme/initiator", "internal/nvme/fabric", "internal/nvme/wire", "internal/nvme/rawsock", "internal/nvme/crc32c"},
	"internal/nvme/nvmetest":  {"internal/nvme/fabric", "internal/nvme/backend", "internal/nvme/wire"},

	// Its libraries are loaded at run time, and only here.
	"internal/nvme/rdma/verbs":           {},
	"internal/nvme/rdma/verbs/verbstest": {"internal/nvme/rdma/verbs"},
	"internal/nvme/rdma/perf":            {"internal/nvme/rdma/verbs", "internal/nvme/rawsock"},
	"internal/nvme/rdma":                 {"internal/nvme/rdma/verbs", "internal/nvme/fabric", "internal/nvme/wire", "internal/nvme/rawsock"},

	// What people start from.
	"examples": {},

	// A plan carried out, for people's commands and for workers.
	"internal/run": {"internal/flock", "internal/store", "internal/store/dir", "plan", "plan/rollout", "inventory", "inventory/problem", "modules/...", "switches", "internal/remote", "internal/remote/ssh",
		"internal/bundle", "internal/prove", "internal/approve", "internal/view"}, // what a judgement says

	// Runs, live, in a browser.
	"internal/page": {"internal/run", "internal/prove", "internal/report", "internal/view", "internal/graph", "plan", "plan/rollout", "inventory"},

	// Where runs are kept.
	"internal/store":           {},
	"internal/store/storetest": {"internal/store", "internal/require"},
	"internal/store/dir":       {"internal/store", "internal/flock"},
	"internal/store/nats":      {"internal/store"},
	"internal/store/check":     {"internal/store"},
	"internal/flock":           {},
	"internal/hub":             {"internal/store", "internal/store/dir", "internal/store/nats", "internal/flock"},

	// What stands in a rack, as files.
	"internal/discover": {"plan", "inventory", "modules/host", "modules/linux/...", "modules/vcenter", "switches", "internal/agent"},

	// Programs.
	"cmd/weft-target":    {"internal/nvme/...", "internal/agent"},
	"cmd/weft-initiator": {"internal/nvme/...", "internal/agent"},
	"cmd/weft-lab":       {"internal/lab", "internal/lab/simvcenter", "internal/labctl"},
	"cmd/weft": {"plan", "plan/rollout", "inventory/...", "modules/...", "switches", "switches/systems", "internal/remote/...", "internal/agent", "internal/bundle",
		"internal/run", "internal/discover", "internal/store/...", "internal/hub", "internal/page", "internal/prove", "internal/view", "internal/report", "internal/review", "internal/doctor", "internal/graph", "internal/labctl", "internal/sshsig", "internal/approve", "internal/flock", "examples"},

	"internal/arch": {},
}

// mayTest adds what only tests may import.
var mayTest = map[string][]string{
	"internal/remote/ssh":    {"internal/remote/remotetest"},
	"inventory/language":     {"modules"}, // the words of kinds
	"internal/run":           {"internal/lab/simswitch", "internal/store/nats", "inventory/language", "switches/systems"},
	"internal/lab":           {"internal/remote/ssh", "inventory/language", "modules"}, // the models of examples
	"internal/lab/simserver": {"internal/labctl"},
	"modules/host/posix":     {"modules/claim"},
	"modules/esxi":           {"modules/claim"},
	"modules/windows":        {"modules/claim", "internal/lab/simwindows"},
	"modules/host": {"modules/linux", "modules/esxi", "modules/windows", "internal/remote/remotetest",
		"modules", "inventory/language", "internal/run", "internal/prove", "plan/rollout"}, // a fake host system goes through all of it
	"switches":                {"switches/..."},
	"modules/leaf":            {"modules", "inventory/language", "internal/bundle", "internal/remote/ssh", "internal/lab/..."},
	"modules":                 {"switches/...", "inventory/language", "internal/remote/remotetest", "internal/remote/ssh", "internal/lab/..."},
	"internal/prove":          {"internal/remote/remotetest", "modules/host", "modules/linux"},
	"internal/graph":          {"inventory/language"},
	"internal/discover":       {"inventory/language", "switches/systems"},
	"internal/nvme/tcp":       {"internal/nvme/nvmetest"},
	"internal/nvme/rdma/perf": {"internal/nvme/rdma/verbs/verbstest"},
	"internal/nvme/rdma":      {"internal/nvme/nvmetest", "internal/nvme/rdma/verbs/verbstest"},
	"internal/nvme/target":    {"internal/nvme/nvmetest", "internal/nvme/tcp", "internal/nvme/tls13", "internal/nvme/rdma", "internal/nvme/rdma/verbs/verbstest", "internal/nvme/initiator"},
	"internal/nvme/initiator": {"internal/nvme/nvmetest", "internal/nvme/tcp"},
	"internal/nvme/nvmetest":  {"internal/nvme/tcp"},
	"internal/nvme/load":      {"internal/nvme/nvmetest", "internal/nvme/target", "internal/nvme/backend", "internal/nvme/tcp"},
	"internal/page":           {"internal/store/dir"},
	"internal/store":          {"internal/store/dir"},
	"internal/store/dir":      {"internal/store/storetest"},
	"internal/store/nats":     {"internal/store/storetest"},
	"internal/store/check":    {"internal/store/dir"},
	"modules/vcenter":         {"internal/lab/simvcenter"},
	"internal/lossless":       {"switches/systems"},
	"internal/doctor":         {"inventory/problem", "inventory/rules", "internal/lossless", "switches/systems"},
	"cmd/weft":                {"internal/lab/..."},
}

var leaves = []string{"internal/findings", "internal/hint", "internal/latency", "internal/metric", "internal/outfile", "internal/owned", "internal/pattern", "internal/refusal", "internal/selector", "internal/slice", "internal/traffic", "internal/tally", "internal/text", "internal/wait", "internal/nvme/names"}

type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestHouse(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "weft/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	seen := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(p.ImportPath, "weft/")
		seen[name] = true
		allowed, listed := may[name]
		if all := path.Dir(name) + "/*"; !listed {
			allowed, listed = may[all]
			seen[all] = seen[all] || listed
		}
		if !listed {
			t.Errorf("%s is not in the house: add it to the map with what it may import", name)
			continue
		}
		check(t, name, "imports", p.Imports, allowed)
		allowed = append(slices.Clone(allowed), mayTest[name]...)
		allowed = append(allowed, "internal/require")
		check(t, name, "tests import", p.TestImports, allowed)
		check(t, name, "tests import", p.XTestImports, allowed)
	}
	for name := range may {
		if !seen[name] {
			t.Errorf("%s is in the map but not in the house", name)
		}
	}
}

// TestDynamic: what loads libraries at run time makes a program dynamic; that
// is for the agents only, and for one package.
func TestDynamic(t *testing.T) {
	const loader, place = "github.com/ebitengine/purego", "weft/internal/nvme/rdma/verbs"
	deps := func(of string) []string {
		cmd := exec.Command("go", "list", "-deps", of)
		cmd.Env = append(cmd.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list -deps %s: %v", of, err)
		}
		return strings.Fields(string(out))
	}
	if slices.Contains(deps("weft/cmd/weft"), loader) {
		t.Errorf("cmd/weft links %s", loader)
	}
	for _, agent := range []string{"weft/cmd/weft-target", "weft/cmd/weft-initiator"} {
		if all := deps(agent); !slices.Contains(all, loader) || !slices.Contains(all, place) {
			t.Errorf("%s cannot load libraries", agent)
		}
	}
	out, err := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "weft/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if slices.Contains(f[1:], loader) && f[0] != place {
			t.Errorf("%s imports %s", f[0], loader)
		}
	}
}

func check(t *testing.T, name, verb string, imports, allowed []string) {
	t.Helper()
	for _, path := range imports {
		imp, ours := strings.CutPrefix(path, "weft/")
		if !ours || imp == name || slices.Contains(leaves, imp) {
			continue
		}
		if !slices.ContainsFunc(allowed, func(a string) bool {
			top, all := strings.CutSuffix(a, "/...")
			return imp == top || all && strings.HasPrefix(imp, top+"/")
		}) {
			t.Errorf("%s %s %s", name, verb, imp)
		}
	}
}
