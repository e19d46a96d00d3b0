package esxi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/modules/host"
)

// A lease is a folder with one file, which holds who has it and is called UNTIL.WORD:
// when it ends, by the clock of the host, and a word that no two leases share. What
// the shell of ESXi does in one go is to make a folder, which fails where it is there,
// and to rename or remove a file:
//
//   - it is taken by making the folder, then the file. Two that find an empty folder,
//     which a script that was killed has left, may both come to make a file: each then
//     looks for others, and lets go where there is one;
//   - it is renewed by renaming the file, which is not there any more where the lease
//     was lost;
//   - it ends with the file of that word; a dead one that an operator takes over, with
//     the file of the very name that was seen, so not if it was renewed since.

// leaseSteps are functions of scripts: to end the lease of the word $1, and to show the
// one that there is, as "held NOW NAME" and its holder.
const leaseSteps = `l=` + runDir + `/lease
away() { rm -f -- "$l"/*."$1"; rmdir -- "$l" 2>/dev/null || :; }
show() { for f in "$l"/*; do if [ -e "$f" ]; then echo held "$now" "${f##*/}"; cat "$f" 2>/dev/null; echo; return; fi; done; return 1; }
`

// claimScript begins scripts: it takes the lease for the holder $1 for $2 seconds with
// the word $3, where $4 is not empty in place of the dead lease of that name, or says
// who holds it and ends.
const claimScript = leaseSteps + `umask 077; mkdir -p "${l%/*}" || exit 1
now=$(date +%s) || exit 1
if [ -n "$4" ]; then rm -f -- "$l/$4"; fi
if show; then exit 0; fi
rmdir -- "$l" 2>/dev/null
if mkdir -- "$l" 2>/dev/null; then :; else if show; then exit 0; fi; [ -d "$l" ] || exit 1; echo held "$now" none; exit 0; fi
n=$l/$((now+$2)).$3
if printf '%s\n' "$1" >"$n"; then :; else echo held "$now" none; exit 0; fi
for f in "$l"/*; do if [ "$f" != "$n" ]; then rm -f -- "$n"; if show; then exit 0; fi; echo held "$now" none; exit 0; fi; done
`

// renewScript gives the lease of the word $1 another $2 seconds.
const renewScript = leaseSteps + `now=$(date +%s) || exit 1
for f in "$l"/*."$1"; do n=$l/$((now+$2)).$1; if [ "$f" != "$n" ]; then mv -f -- "$f" "$n" || echo lost; fi; done`

const releaseScript = leaseSteps + `away "$1"`

const showScript = leaseSteps + `now=$(date +%s); show || :`

// breakScript ends the lease of the word $1.
const breakScript = leaseSteps + `for f in "$l"/*."$1"; do if [ -e "$f" ]; then away "$1"; exit 0; fi; done; echo moved`

// word is what the lease that says text is called by.
func word(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:20] }

func leaseSeconds(c host.Claim) string { return strconv.Itoa(int(c.Time.Seconds())) }

// ask runs a script that begins by taking the lease, and returns the first line of its
// answer and the rest.
func (scratch) ask(ctx context.Context, t host.Transport, c host.Claim, text string, args ...string) (answer string, rest []byte, who *host.Held, err error) {
	dead := ""
	if c.Over != nil {
		dead = c.Over.Name
	}
	out, err := t.Run(ctx, script(claimScript+text, append([]string{c.Text, leaseSeconds(c), word(c.Text), dead}, args...)...))
	if err != nil {
		return "", nil, nil, err
	}
	line, rest, _ := bytes.Cut(out.Stdout, []byte("\n"))
	if answer = string(line); !strings.HasPrefix(answer, "held ") {
		return answer, rest, nil, nil
	}
	who, err = heldBy(answer, string(rest))
	return "", nil, who, err
}

// heldBy reads "held NOW NAME" and the line about the holder.
func heldBy(line, holder string) (*host.Held, error) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != "held" || strings.Contains(f[2], "/") {
		return nil, fmt.Errorf("the host answers %q", line)
	}
	if f[2] == "none" { // it was let go of meanwhile
		return &host.Held{Known: true}, nil
	}
	l := &host.Held{Text: strings.TrimSpace(holder), Name: f[2]}
	end, _, _ := strings.Cut(l.Name, ".")
	now, err1 := strconv.Atoi(f[1])
	until, err2 := strconv.Atoi(end)
	if l.Known = err1 == nil && err2 == nil; l.Known {
		l.Left = time.Duration(until-now) * time.Second
	}
	return l, nil
}

func (scratch) Renew(ctx context.Context, t host.Transport, c host.Claim) error {
	_, err := t.Run(ctx, script(renewScript, word(c.Text), leaseSeconds(c)))
	return err
}

func (scratch) Release(ctx context.Context, t host.Transport, text string) error {
	_, err := t.Run(ctx, script(releaseScript, word(text)))
	return err
}

func (scratch) Lease(ctx context.Context, t host.Transport) (*host.Held, error) {
	out, err := t.Run(ctx, script(showScript))
	if err != nil || len(out.Stdout) == 0 {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(out.Stdout), "\n")
	return heldBy(first, rest)
}

func (scratch) Break(ctx context.Context, t host.Transport, h *host.Held) (broken bool, err error) {
	_, word, _ := strings.Cut(h.Name, ".")
	out, err := t.Run(ctx, script(breakScript, word))
	return len(out.Stdout) == 0, err
}
