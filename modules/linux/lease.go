package linux

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/modules/host"
	"weft/modules/linux/put"
)

// A lease is a folder with one file, which holds who has it and is called
// UNTIL.NONCE: when it ends, and a word that no two leases share. Each step is one
// rename or removal of a name, so that whoever is late does nothing:
//
//   - it is taken by renaming a folder to put.RunDir/lease, which works where there is
//     none, or an empty one;
//   - it is renewed by renaming the file, which is not there any more where the lease
//     was lost;
//   - it ends with the file of that word; a dead one that an operator takes over, with
//     the file of the very name that was seen, so not if it was renewed since.
//
// A script that is killed on the way leaves no lease, or one with holder and end.

// leaseSteps are functions of scripts: to end the lease of the word $1, and to show
// the one that there is, as "held UPTIME NAME" and its holder.
const leaseSteps = `l=` + put.RunDir + `/lease
away() { rm -f -- "$l"/*."$1"; rmdir -- "$l" 2>/dev/null || :; }
show() { for f in "$l"/*; do if [ -e "$f" ]; then echo held "$up" "${f##*/}"; cat "$f" 2>/dev/null; echo; return; fi; done; return 1; }
`

// tokenSteps are functions of scripts about the token that stands: "EPOCH REVISION" in
// a file. stands sets e and r to it, and reports whether there is one; barred reports
// whether it is above te and tr, or cannot be read.
const tokenSteps = `token=` + tokenPath + `
stands() { e=0; r=0; [ -e "$token" ] || return 1; read -r e r <"$token" || :; case "$e-$r" in *[!0-9-]*|-*|*-) e=; r=;; esac; }
barred() { stands && [ -z "$hand" ] || return 1; if [ -z "$e" ]; then return 0; fi; [ "$e" -gt "${te:-0}" ] || { [ "$e" -eq "${te:-0}" ] && [ "$r" -gt "${tr:-0}" ]; }; }
`

// claimScript begins scripts: it takes the lease for the holder $1 for $2 seconds
// with the word $3, where $4 is not empty in place of the dead lease of that name,
// or says who holds it and ends. Under it the token te and tr is kept in place of a
// lesser one; where a higher one stands it is let go of again, and that is said. What scripts that were killed have left is moved
// before it is removed: nobody makes a lease of it meanwhile.
const claimScript = leaseSteps + tokenSteps + `mkdir -p "${l%/*}" || exit 1
read -r up rest </proc/uptime || exit 1; up=${up%%.*}
if [ -n "$4" ]; then rm -f -- "$l/$4"; fi
if show; then exit 0; fi
rmdir -- "$l" 2>/dev/null
if t=$(mktemp -d "$l.XXXXXXXX") && chmod 755 "$t" && printf '%s\n' "$1" >"$t/$((up+$2)).$3" && mv -fT -- "$t" "$l"
then for f in "$l".*; do if [ -e "$f" ] && mv -fT -- "$f" "$f.$3" 2>/dev/null; then rm -rf -- "$f.$3"; fi; done
else if [ -n "$t" ]; then rm -rf -- "$t"; fi; if show; then exit 0; fi; [ -d "$l" ] || exit 1; echo held "$up" none; exit 0; fi
if barred; then away "$3"; echo past "$e" "$r"; exit 0; fi
if [ "${te:-0}.${tr:-0}" != 0.0 ] && [ "$te $tr" != "$e $r" ]
then if mkdir -p "${token%/*}" && (umask 077; echo "$te $tr" >"$token.new") && { sync "$token.new" 2>/dev/null || sync; } && mv -f -- "$token.new" "$token"; then :; else away "$3"; exit 1; fi; fi
`

// renewScript gives the lease of the word $1 another $2 seconds.
const renewScript = leaseSteps + `read -r up rest </proc/uptime; up=${up%%.*}
for f in "$l"/*."$1"; do n="$l/$((up+$2)).$1"; if [ "$f" != "$n" ]; then mv -f -- "$f" "$n" || echo lost; fi; done`

const releaseScript = leaseSteps + `away "$1"`

const showScript = leaseSteps + `read -r up rest </proc/uptime; up=${up%%.*}; show || :`

// breakScript ends the lease of the word $1. One that an older weft has left is two
// files, which are called otherwise.
const breakScript = leaseSteps + `for f in "$l"/*."$1" "$l/$1"; do if [ -e "$f" ]; then away "$1"; rm -f -- "$l/holder" "$l/until"; rmdir -- "$l" 2>/dev/null || :; exit 0; fi; done; echo moved`

// word is what the lease that says text is called by.
func word(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:20] }

// leaseSeconds is the time of a lease, as scripts take it: it is that since the
// server's start, whose clock may jump.
func leaseSeconds(c host.Claim) string { return strconv.Itoa(int(c.Time.Seconds())) }

// ask runs a script that begins by taking the lease, and returns the first line of
// its answer and the rest.
func (files) ask(ctx context.Context, t host.Transport, c host.Claim, text string, args ...string) (answer string, rest []byte, who *host.Held, err error) {
	dead := ""
	if c.Over != nil {
		dead = c.Over.Name
	}
	out, err := t.Run(ctx, script(tokenOf(c)+claimScript+text, append([]string{c.Text, leaseSeconds(c), word(c.Text), dead}, args...)...))
	if err != nil {
		return "", nil, nil, err
	}
	first, rest, _ := bytes.Cut(out.Stdout, []byte("\n"))
	if stands, past := strings.CutPrefix(string(first), "past "); past {
		return "", nil, &host.Held{Past: readToken(stands)}, nil
	}
	if answer = string(first); !strings.HasPrefix(answer, "held ") {
		return answer, rest, nil, nil
	}
	who, err = heldBy(answer, string(rest))
	return "", nil, who, err
}

// heldBy reads "held UPTIME NAME" and the line about the holder.
func heldBy(line, holder string) (*host.Held, error) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != "held" || strings.Contains(f[2], "/") {
		return nil, fmt.Errorf("the server answers %q", line)
	}
	if f[2] == "none" { // it was let go of meanwhile
		return &host.Held{Known: true}, nil
	}
	l := &host.Held{Text: strings.TrimSpace(holder), Name: f[2]}
	end, _, _ := strings.Cut(l.Name, ".")
	up, err1 := strconv.Atoi(f[1])
	until, err2 := strconv.Atoi(end)
	if l.Known = err1 == nil && err2 == nil; l.Known {
		l.Left = time.Duration(until-up) * time.Second
	}
	return l, nil
}

func (f files) Take(ctx context.Context, t host.Transport, c host.Claim, m host.Note, owner string) (mark string, ledger []byte, who *host.Held, err error) {
	answer, rest, who, err := f.ask(ctx, t, c, readMarked, f.Place(host.KeptLedger, owner), m.Text, m.Needle)
	if err != nil || who != nil {
		return "", nil, who, err
	}
	size, err := strconv.Atoi(strings.TrimPrefix(answer, "taken "))
	if err != nil || size > len(rest) {
		return "", nil, nil, fmt.Errorf("the server answers %q", answer)
	}
	return string(rest[:size]), rest[size:], nil, nil
}

func (files) Renew(ctx context.Context, t host.Transport, c host.Claim) error {
	_, err := t.Run(ctx, script(renewScript, word(c.Text), leaseSeconds(c)))
	return err
}

func (files) Release(ctx context.Context, t host.Transport, text string) error {
	_, err := t.Run(ctx, script(releaseScript, word(text)))
	return err
}

func (files) Lease(ctx context.Context, t host.Transport) (*host.Held, error) {
	out, err := t.Run(ctx, script(showScript))
	if err != nil || len(out.Stdout) == 0 {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(out.Stdout), "\n")
	return heldBy(first, rest)
}

func (files) Break(ctx context.Context, t host.Transport, h *host.Held) (broken bool, err error) {
	_, word, named := strings.Cut(h.Name, ".")
	if !named { // of an older weft
		word = h.Name
	}
	out, err := t.Run(ctx, script(breakScript, word))
	return len(out.Stdout) == 0, err
}
