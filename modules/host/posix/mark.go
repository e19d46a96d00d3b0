package posix

import (
	"bytes"
	"context"
	"fmt"

	"weft/modules/host"
)

// markSteps are functions of scripts about the mark: to put $1 there, whole, which needs
// keep, whether it holds $1, and to tell the log $1.
func (m Memory) markSteps() string {
	return `m=` + m.Place(host.KeptMark, "") + `
put() { umask ` + m.Mask + `; mkdir -p "${m%/*}" || return 1; umask 077; printf '%s' "$1" | cat >"$m.new" && keep "$m" && return; rm -f -- "$m.new"; return 1; }
has() { [ -n "$1" ] || return 1; case $(cat "$m" 2>/dev/null) in *"$1"*) return 0;; esac; return 1; }
say() { ` + m.logs() + `; }
`
}

// logs is what tells $1 the system's log, where there is one.
func (m Memory) logs() string {
	if m.Logger == "" {
		return ":"
	}
	return m.Logger + ` "$1" >/dev/null 2>&1 || :`
}

// readMarked is the end of the script that takes the lease for a transaction. It
// has a mark of the same run, which holds $7, say $6, and prints the mark and
// the file $5.
func (m Memory) readMarked() string {
	return m.markSteps() + `if has "$7" && ! has "$6"; then put "$6" || exit 1; fi
n=0; if [ -s "$m" ]; then n=$(wc -c <"$m"); fi; echo taken $n; if [ -s "$m" ]; then cat "$m"; fi
if [ -f "$5" ]; then cat "$5"; fi`
}

// makeMark is the end of the script that takes the lease to mark a machine with
// $5 in place of a mark that holds $6, and lets go of it again; the log is told $7. Where
// it cannot be written it says why.
func (m Memory) makeMark() string {
	return m.markSteps() + `if [ -s "$m" ] && ! has "$6" && ! has "$5"; then echo marked; cat "$m"; elif e=$(put "$5" 2>&1); then echo made; say "$7"; else echo unwritten; echo "$e"; fi
away "$3"`
}

// Mark implements host.Memory.
func (m Memory) Mark(ctx context.Context, t host.Transport, c host.Claim, text, old, say string) (other string, who *host.Held, err error) {
	answer, rest, who, err := m.ask(ctx, t, c, m.makeMark(), text, old, say)
	said := string(bytes.TrimSpace(rest))
	switch {
	case err != nil || who != nil:
		return "", who, err
	case answer == "marked":
		return said, nil, nil
	case answer == "unwritten":
		return "", nil, &host.UnwrittenError{Said: said}
	case answer != "made":
		return "", nil, &host.UnwrittenError{Said: fmt.Sprintf("the server answers %q", answer)}
	}
	return "", nil, nil
}

// Unmark implements host.Memory. What else weft keeps on the machine may have gone
// already.
func (m Memory) Unmark(ctx context.Context, t host.Transport, needle, say string) error {
	_, err := t.Run(ctx, script(m.markSteps()+`if has "$1"; then rm -f -- "$m.new" "$m" || exit 1; say "$2"; fi; rmdir -- "${m%/*}" 2>/dev/null || :`, needle, say))
	return err
}
