package put

import (
	"weft/internal/remote"
)

// Directories in configfs show what the kernel keeps only once another process has
// made them, which a plan does not. What apply then finds, it writes down
// before it changes it; a restart forgets both.

// keepValues writes the values of attributes in a directory down in a file,
// unless that is there.
func KeepValues(dir, file string, attributes ...string) remote.Step {
	const script = `umask 077; d=$1; f=$2; shift 2; if ! [ -e "$f" ]; then mkdir -p "${f%/*}"; ` +
		`for a; do v=$(cat "$d/$a") || exit 1; echo "$a $v"; done >"$f.new" && mv -f "$f.new" "$f"; fi`
	return remote.Step{Args: append([]string{"sh", "-c", script, "sh", dir, file}, attributes...)}
}

// restoreValues gives attributes in a directory the values that keepValues
// wrote down, which are then done with.
func RestoreValues(dir, file string) remote.Step {
	const script = `if [ -r "$2" ]; then while read -r a v; do echo "$v" >"$1/$a" || exit 1; done <"$2"; rm -f -- "$2"; fi`
	return remote.Step{Args: []string{"sh", "-c", script, "sh", dir, file}}
}

// set is the step that gives an attribute of the kernel's a value. Such files
// are written in place: none can take their place.
func Set(file, value string) remote.Step {
	return remote.Step{Args: []string{"sh", "-c", `echo "$1" >"$2"`, "sh", value, file}}
}

// keptFile is where values of an RDMA device are written down.
func KeptFile(kind, device string) string { return RunDir + "/" + kind + "-" + device }

// leaseDir is on a file system that a restart empties.
const RunDir = "/run/weft"
