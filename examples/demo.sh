#!/bin/sh
# The main job, end to end, on weft's embedded lab: SIMULATED switches and
# servers over real SSH, real agents that move real NVMe-oF I/O. Unprivileged,
# on loopback only. It stops everything it started.
set -eu
weft=$(cd "$(dirname "${1:-bin/weft}")" && pwd)/$(basename "${1:-bin/weft}")
src=$(cd "$(dirname "$0")/pilot" && pwd)
report=$(dirname "$weft")/demo.html
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-demo.XXXXXX")
trap '"$weft" -C "$dir" lab down >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
trap 'exit 130' INT TERM
cp "$src"/*.hcl "$src"/*.weftvars "$dir"
cd "$dir"

# run shows a command as one would type it in the example's directory, and runs
# it.
run() {
	printf '\n$ weft'
	for word; do
		case $word in *' '*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
	done
	echo
	"$weft" "$@"
}
lab() { run --lab --var-file lab.weftvars "$@"; }

# expect runs weft and wants that exit code.
expect() {
	want=$1
	shift
	code=0
	lab "$@" || code=$?
	[ "$code" = "$want" ] || { echo "demo: weft $1 exited $code, expected $want" >&2; exit 1; }
}

run validate
run lab up --detach
expect 2 plan --detailed-exitcode --out p.weftplan
run --lab apply p.weftplan
expect 0 plan --detailed-exitcode --concise
lab verify

echo
echo "# An operator changes the priority of DSCP 26 on the Comware leaf by hand:"
run lab edit leaf-b.mgmt.example.net "qos map-table dscp-dot1p" "import 26 export 0"
expect 2 drift
expect 3 verify
lab apply --auto-approve --concise
lab verify
expect 0 plan --detailed-exitcode --concise
run --lab report --out report.html
cp report.html "$report"
run lab down

echo
echo "The report of all this: $report"
