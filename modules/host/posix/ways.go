package posix

// A Clock is a function of scripts that sets now to a time in seconds, or fails.
type Clock string

// The clocks that leases end by.
const (
	// Uptime counts from the machine's start, whatever becomes of its date.
	Uptime Clock = `clock() { read -r now rest </proc/uptime && now=${now%%.*}; }`
	// Date is the machine's own: one that jumps forward ends a lease early.
	Date Clock = `clock() { now=$(date +%s); }`
)

// An Enter is a function of scripts that takes the folder $l where nobody has it: with one
// file that is called $2 and says $1. It fails where somebody else was quicker, with 2
// where that one may have let go again. What was there of it is then gone.
type Enter string

// The ways to take a folder.
const (
	// ByRename renames a whole one to its place, which works where there is none or an
	// empty one. What scripts that were killed have left is moved before it is removed:
	// nobody makes a lease of it meanwhile.
	ByRename Enter = `enter() {
t=$(mktemp -d "$l.XXXXXXXX") && chmod 755 "$t" && printf '%s\n' "$1" >"$t/$2" && mv -fT -- "$t" "$l" || { if [ -n "$t" ]; then rm -rf -- "$t"; fi; return 1; }
for f in "$l".*; do if [ -e "$f" ] && mv -fT -- "$f" "$f.$2" 2>/dev/null; then rm -rf -- "$f.$2"; fi; done; return 0; }`
	// ByMkdir makes it, which fails where it is, then the file: for shells without mktemp
	// and mv -T. Two that find an empty folder, which a script that was killed has left,
	// may both come to make a file: each then looks for others, and lets go where there
	// is one.
	ByMkdir Enter = `enter() {
mkdir -- "$l" 2>/dev/null || return 1
printf '%s\n' "$1" >"$l/$2" || return 2
for f in "$l"/*; do if [ "$f" != "$l/$2" ]; then rm -f -- "$l/$2"; return 2; fi; done; return 0; }`
)

// A Keep is a function of scripts that has $1.new be $1, also after a power cut.
type Keep string

// The ways to keep a file.
const (
	// SyncThenMove fails where the file cannot be written out.
	SyncThenMove Keep = `keep() { { sync "$1.new" 2>/dev/null || sync; } && mv -f -- "$1.new" "$1"; }`
	// MoveThenSync is for machines whose sync takes no file, or is missing.
	MoveThenSync Keep = `keep() { mv -f -- "$1.new" "$1" && { sync 2>/dev/null || :; }; }`
)
