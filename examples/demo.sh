#!/bin/sh
# The main job, end to end, on weft's embedded lab: SIMULATED switches and
# servers over real SSH, real agents that move real NVMe-oF I/O. Unprivileged,
# on loopback only. It stops everything it started.
set -eu
weft=$(cd "$(dirname "${1:-bin/weft}")" && pwd)/$(basename "${1:-bin/weft}")
src=$(cd "$(dirname "$0")/pilot" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-demo.XXXXXX")
trap '"$weft" -C "$dir" lab down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cp "$src"/*.hcl "$src"/*.weftvars "$dir"

# say shows a command as one would type it in the example's directory.
say() {
	printf '\n$ weft'
	for word; do
		case $word in *' '*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
	done
	echo
}
run() { say "$@"; "$weft" -C "$dir" "$@"; }
lab() { run --lab --var-file lab.weftvars "$@"; }

# Exits 2 when there are changes, as it should both times it is asked to.
changes() {
	code=0
	lab plan --detailed-exitcode || code=$?
	[ "$code" = "$1" ] || { echo "demo: plan exited $code, expected $1" >&2; exit 1; }
}

run validate
run lab up --detach
changes 2
lab apply --auto-approve
changes 0
lab verify

echo
echo "# Somebody takes PFC off a port of the Comware leaf by hand:"
run lab edit leaf-b.mgmt.example.net "interface HundredGigE1/0/11" "undo priority-flow-control"
changes 2
run lab down
