package nvme

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/nvme/names"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/modules/linux/storage"
)

// nvmetMark is the model of every subsystem that weft makes: all that a
// subsystem has to bear a name.
const nvmetMark = "weft"

// nvmetScript prints what the kernel's target is made of, without making
// anything: a directory as "PATH/", a link as "PATH@", an attribute as "PATH
// VALUE". Where the target is not loaded there is nothing to print.
const nvmetScript = `cd ` + storage.NVMeT + ` 2>/dev/null || exit 0; ` +
	`for d in hosts/* subsystems/* subsystems/*/namespaces/* ports/* ports/*/ana_groups/*; do if [ -d "$d" ]; then echo "$d/"; fi; done; ` +
	`for l in subsystems/*/allowed_hosts/* ports/*/subsystems/*; do if [ -L "$l" ]; then echo "$l@"; fi; done; ` +
	`for a in subsystems/*/attr_serial subsystems/*/attr_model subsystems/*/attr_allow_any_host ` +
	`subsystems/*/namespaces/*/device_path subsystems/*/namespaces/*/device_uuid subsystems/*/namespaces/*/device_nguid ` +
	`subsystems/*/namespaces/*/ana_grpid subsystems/*/namespaces/*/enable ` +
	`ports/*/addr_trtype ports/*/addr_adrfam ports/*/addr_traddr ports/*/addr_trsvcid ports/*/ana_groups/*/ana_state; do ` +
	`if [ -e "$a" ]; then read -r v <"$a"; echo "$a $v"; fi; done`

func nvmetLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", nvmetScript}, Root: true, Own: true}
}

// nvmetTree is what there is of the kernel's target, by path: the value of an
// attribute, "/" of a directory and "@" of a link.
type nvmetTree map[string]string

// parseNVMeT reads what nvmetScript printed.
func parseNVMeT(s remote.Seen) (nvmetTree, error) {
	out, err := see.Output(s, nvmetLook())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", storage.NVMeT, err)
	}
	t := nvmetTree{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if path, value, attribute := strings.Cut(line, " "); attribute {
			t[path] = strings.TrimSpace(value)
			continue
		}
		switch {
		case strings.HasSuffix(line, "/"):
			t[strings.TrimSuffix(line, "/")] = "/"
		case strings.HasSuffix(line, "@"):
			t[strings.TrimSuffix(line, "@")] = "@"
		default:
			return nil, fmt.Errorf("read %s: %.80q is not understood", storage.NVMeT, line)
		}
	}
	return t, nil
}

// in lists the names of what stands in a directory, in order.
func (t nvmetTree) in(dir string) []string {
	var names []string
	for path, what := range t {
		name, ok := strings.CutPrefix(path, dir+"/")
		if ok && !strings.Contains(name, "/") && (what == "/" || what == "@") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// An attr is an attribute and what it is to read.
type attr struct{ name, text string }

// Attributes of the kernel's are written by tee: the shell's own commands hide
// what the kernel says to a value that it does not take. One write is one
// value, without a line feed.
const (
	writeScript = `cd "$1" && shift && while [ $# -gt 0 ]; do printf %s "$2" | tee "$1" >/dev/null || exit 1; shift 2; done`
	makeScript  = `mkdir "$1" && cd "$1" && d=$1 && shift && while [ $# -gt 0 ]; do ` +
		`printf %s "$2" | tee "$1" >/dev/null || { cd / && rmdir "$d"; exit 1; }; shift 2; done`
)

// write gives attributes of a directory values, in order.
func write(dir string, values ...attr) remote.Step {
	return host.Run(append([]string{"sh", "-c", writeScript, "sh", dir}, words(values)...)...)
}

// makeWith makes a directory whose attributes have values from the start, or
// none.
func makeWith(dir string, values ...attr) remote.Step {
	if len(values) == 0 {
		return host.Run("mkdir", dir)
	}
	return host.Run(append([]string{"sh", "-c", makeScript, "sh", dir}, words(values)...)...)
}

func words(values []attr) []string {
	var list []string
	for _, v := range values {
		list = append(list, v.name, v.text)
	}
	return list
}

// bootNVMeT are functions for boot scripts: each does nothing where it finds
// what it is to make.
const bootNVMeT = `# set_ gives attributes of a directory the values that they do not have yet.
set_() {
	dir=$1; shift
	while [ $# -gt 0 ]; do
		read -r is 2>/dev/null <"$dir/$1"
		if [ "$is" != "$2" ]; then
			printf %s "$2" | tee "$dir/$1" >/dev/null || { echo "failed: $dir/$1 is not $2" >&2; status=1; }
		fi
		shift 2
	done
}

# dir_ makes a directory that is not there.
dir_() { [ -d "$1" ] || do_ mkdir "$1"; }

# link_ makes a link that is not there.
link_() { [ -L "$2" ] || do_ ln -s "$1" "$2"; }

# key_ gives the attribute $2 of a host the key in the file $1. A host that is
# to have a key is not let in without it: it is not known then.
key_() {
	read -r key 2>/dev/null <"$1" && printf %s "$key" | tee "$2" >/dev/null && return
	echo "failed: $2 has no key from $1" >&2; status=1
	rmdir "${2%/*}" 2>/dev/null
}

# block_ waits for a block device.
block_() {
	left=60
	while ! [ -b "$1" ] && [ $left -gt 0 ]; do left=$((left - 1)); sleep 1; done
	[ -b "$1" ] || { echo "failed: $1 is no block device" >&2; status=1; return 1; }
}

`

// bootSet is a line of a boot script that gives attributes values.
func bootSet(dir string, values ...attr) string {
	return "set_ " + remote.Quote(append([]string{dir}, words(values)...)...)
}

func bootDir(dir string) string           { return "dir_ " + remote.Quote(dir) }
func bootLink(target, link string) string { return "link_ " + remote.Quote(target, link) }

// nvmetDiscovery is a subsystem that newer kernels have from the start.
const nvmetDiscovery = names.Discovery

// nvmetObjects is everything of the kernel's target.
func nvmetObjects(s remote.Seen) (list []host.Object) {
	t, err := parseNVMeT(s)
	if err != nil {
		return nil
	}
	for _, nqn := range t.in("subsystems") {
		if nqn != nvmetDiscovery {
			list = append(list, host.Object{Kind: "nvmet_subsystem", Name: nqn})
		}
	}
	for _, nqn := range t.in("hosts") {
		list = append(list, host.Object{Kind: "nvmet_host", Name: nqn})
	}
	for _, port := range t.in("ports") {
		list = append(list, host.Object{Kind: "nvmet_port", Name: port})
	}
	return list
}

// targetsAtBoot are what makes directories of the kernel's target at boot.
func TargetsAtBoot() put.BootFunctions {
	return put.BootFunctions{Called: func(line string) bool { return strings.Contains(line, "dir_ ") }, Text: bootNVMeT}
}
