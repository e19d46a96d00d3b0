package main

import (
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/examples"
	"weft/inventory/language"
	"weft/modules"
	"weft/plan"
)

// discovered are the attributes that discover writes, by block, but for blocks that kinds
// write themselves: of those all are. Each word of them has to
// be one that its code writes; everything else of the language stands in the table of
// discover.md, with the reason.
func discovered() map[string]string {
	return map[string]string{
		"weft": "name", "connection": "user port become connect_timeout command_timeout", "credential": "user password",
		"fabric": "transport mode partition mtu host_mtu", "fabric.plane": "subnet", "fabric.pfc_watchdog": "action",
		"fabric.traffic_class": "dscp priority bandwidth strict pfc", "fabric.traffic_class.ecn": "min max probability", "fabric.traffic_class.headroom": "xoff xon size",
		"switch": "os host serial credential fabric plane unmanaged", "switch.safety": "commit_confirm",
		"server": "os host labels credential", "server.rnic": "match address fabric software vlan", "server.smb": "direct_port", "server.rnic.vmk": "id vswitch portgroup netstack services",
		"server.advanced_option": "value", "server.firewall_ruleset": "enabled", "server.module_parameters": "set", "server.pause_parameters": "rx tx", "link": "from to speed",
		"vcenter": "host port tls_sha256 credential", "vcenter.cluster": "vsan_rdma",
		"dvswitch": "vcenter path uplinks", "dvswitch.portgroup": "vlan", "vm": "path", "vm.pvrdma": "portgroup protocol allow_degraded",
		"pool": "server drives", "volume": "pool size mirror",
		"target": "server engine transport portals port dhchap_ctrl_key dhchap_hash dhchap_dhgroup demand_auth tls", "target.subsystem": "nqn serial allow_hosts", "target.subsystem.namespace": "from uuid", "target.subsystem.namespace.limits": "iops bandwidth",
		"initiator": "server engine hostnqn hostid dhchap_key tls_key", "initiator.connect": "to iopolicy io_queues ctrl_loss_tmo fast_io_fail_tmo reconnect_delay keep_alive_tmo",
	}
}

// TestDiscoverWords: each block and attribute of the language is discovered, or stands in
// the table of what is not, which says why.
func TestDiscoverWords(t *testing.T) {
	writes := wordsWritten(t)
	unwritten := rowsOfUnwritten(t)
	used := map[string]bool{}
	known := map[string]bool{}
	own := map[string]bool{}
	for _, os := range append(otherHosts(), modules.HostOS("")) {
		for _, kind := range os.Kinds() {
			_, _, writes, _ := kind.Written(plan.Entry{})
			own["server."+kind.KindName()] = own["server."+kind.KindName()] || writes
		}
	}
	var walk func(at string, b *language.BlockType)
	walk = func(at string, b *language.BlockType) {
		written := strings.Fields(discovered()[at])
		if own[at] {
			written = slices.Collect(maps.Keys(b.Attributes))
		}
		for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
			if a := b.Attributes[name]; a.ReadOnly || a.Observed || name == "for_each" || name == "count" { // those two are how blocks are written
				continue
			}
			path := at + "." + name
			known[path] = true
			row := rowOf(unwritten, path)
			used[row] = true
			switch is := slices.Contains(written, name); {
			case is && row != "":
				t.Errorf("%s is written, and discover.md says why it is not: %s", path, unwritten[row])
			case !is && row == "":
				t.Errorf("%s is in no list: write it in internal/discover, or say in discover.md why not", path)
			case is && !writes[name]:
				t.Errorf("%s is said to be written, and no code writes %q", path, name)
			}
		}
		for name, in := range b.Blocks {
			walk(at+"."+name, in)
		}
	}
	for name, b := range language.Describe(modules.Blocks()).Blocks {
		walk(name, b)
	}
	for block, names := range discovered() {
		for _, name := range strings.Fields(names) {
			if !known[block+"."+name] {
				t.Errorf("%s.%s is said to be written, and is none of the language", block, name)
			}
		}
	}
	for row := range unwritten {
		if !used[row] {
			t.Errorf("discover.md: %s is none of the language", row)
		}
	}
}

// TestDiscoverExamples: each example is discovered by a script, or discover.md says why not.
func TestDiscoverExamples(t *testing.T) {
	var tried string
	for _, name := range []string{"testdata/script/discover.txtar", "testdata/script/discover_examples.txtar", "testdata/script/discover_windows.txtar", "testdata/script/discover_vsphere.txtar", "../../internal/discover/discover.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tried += string(text)
	}
	for _, name := range examples.Names() {
		if !strings.Contains(tried, "$EXAMPLES/"+name+" ") && !strings.Contains(tried, "\ncd "+name+"\n") && !strings.Contains(tried, "the example `"+name+"`") {
			t.Errorf("no script discovers the example %s, and discover.md does not say why", name)
		}
	}
}

// wordsWritten are the names of attributes that the code of discover writes, and of kinds:
// they call host.Set.
func wordsWritten(t *testing.T) map[string]bool {
	files, err := filepath.Glob("../../internal/discover/*.go")
	kinds, err2 := filepath.Glob("../../modules/linux/*/*.go")
	for _, dir := range []string{"windows", "esxi"} {
		more, err := filepath.Glob("../../modules/" + dir + "/*.go")
		kinds, err2 = append(kinds, more...), errors.Join(err2, err)
	}
	if err != nil || err2 != nil || len(files) == 0 || len(kinds) == 0 {
		t.Fatalf("%v %v %v %v", files, kinds, err, err2)
	}
	words := map[string]bool{}
	for _, name := range append(files, kinds...) {
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			if s, ok := call.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "set" || s.Sel.Name == "setNoted" || s.Sel.Name == "Set") {
				if l, ok := call.Args[0].(*ast.BasicLit); ok {
					word, err := strconv.Unquote(l.Value)
					words[word] = err == nil
				}
			}
			return true
		})
	}
	return words
}

var unwrittenRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+) \\|$")

// rowsOfUnwritten are the rows of the table in discover.md: a path, and why.
func rowsOfUnwritten(t *testing.T) map[string]string {
	text, err := os.ReadFile("../../internal/discover/discover.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| attribute or block | reason |\n")
	if !ok {
		t.Fatal("discover.md has no table of what is not written")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	rows := map[string]string{}
	for _, m := range unwrittenRow.FindAllStringSubmatch(table+"\n", -1) {
		for _, path := range strings.Split(m[1], ", ") {
			rows[strings.Trim(path, "`")] = m[2]
		}
	}
	return rows
}

// rowOf is the row that is about a path: its own, one above it, or one of every block.
func rowOf(rows map[string]string, path string) string {
	for at := path; at != "."; at = strings.TrimSuffix(at, filepath.Ext(at)) {
		if rows[at] != "" {
			return at
		}
		if filepath.Ext(at) == "" {
			break
		}
	}
	if every := "*" + filepath.Ext(path); rows[every] != "" && strings.Count(path, ".") == 1 {
		return every
	}
	return ""
}
