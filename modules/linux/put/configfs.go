package put

import (
	"weft/internal/remote"
)

// Directories in configfs show what the kernel keeps only once another process has
// made them, which a plan does not. What apply then finds, it writes down
// before it changes it; a restart forgets both.

// KeepValues writes the values of attributes in a directory down in a file,
// unless that is there.
func KeepValues(dir, file string, attributes ...string) remote.Step {
	const script = `umask 077; d=$1; f=$2; shift 2; if ! [ -e "$f" ]; then mkdir -p "${f%/*}"; ` +
		`for a; do v=$(cat "$d/$a") || exit 1; echo "$a $v"; done >"$f.new" && mv -f "$f.new" "$f"; fi`
	return remote.Step{Args: append([]string{"sh", "-c", script, "sh", dir, file}, attributes...)}
}

// RestoreValues gives attributes in a directory the values that KeepValues wrote down,
// then others theirs, in pairs of attribute and value, and takes away made, the directory
// that was made for them. It is one step: half of it would look as if somebody else had
// changed the values.
func RestoreValues(dir, file, made string, then ...string) remote.Step {
	const script = `d=$1; f=$2; m=$3; shift 3; if [ -r "$f" ]; then while read -r a v; do echo "$v" >"$d/$a" || exit 1; done <"$f"; fi; ` +
		`while [ $# -gt 1 ]; do echo "$2" >"$d/$1" || exit 1; shift 2; done; rmdir "$m" && rm -f -- "$f"`
	return remote.Step{Args: append([]string{"sh", "-c", script, "sh", dir, file, made}, then...)}
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
