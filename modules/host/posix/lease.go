package posix

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
// when it ends, and a word that no two leases share. Each step is one making, renaming or
// removal of a name, so that whoever is late does nothing:
//
//   - it is taken by the folder, as Enter does it;
//   - it is renewed by renaming the file, which is not there any more where the lease
//     was lost;
//   - it ends with the file of that word; a dead one that an operator takes over, with
//     the file of the very name that was seen, so not if it was renewed since.
//
// A script that is killed on the way leaves no lease, or one with holder and end.

// leaseSteps are functions of scripts: to end the lease of the word $1, and to show
// the one that there is, as "held NOW NAME" and its holder.
func (m Memory) leaseSteps() string {
	return `l=` + m.Place(host.KeptLease, "") + `
` + string(m.Clock) + `
away() { rm -f -- "$l"/*."$1"; rmdir -- "$l" 2>/dev/null || :; }
show() { for f in "$l"/*; do if [ -e "$f" ]; then echo held "$now" "${f##*/}"; cat "$f" 2>/dev/null; echo; return; fi; done; return 1; }
`
}

// claimScript begins scripts: it takes the lease for the holder $1 for $2 seconds
// with the word $3, where $4 is not empty in place of the dead lease of that name,
// or says who holds it and ends. Under it the token te and tr is kept in place of a
// lesser one; where a higher one stands it is let go of again, and that is said.
func (m Memory) claimScript() string {
	return m.leaseSteps() + m.tokenSteps() + string(m.Enter) + `
umask ` + m.Mask + `; mkdir -p "${l%/*}" || exit 1
clock || exit 1
if [ -n "$4" ]; then rm -f -- "$l/$4"; fi
if show; then exit 0; fi
rmdir -- "$l" 2>/dev/null
enter "$1" "$((now+$2)).$3"; why=$?
if [ $why != 0 ]; then if show; then exit 0; fi; [ $why = 2 ] || [ -d "$l" ] || exit 1; echo held "$now" none; exit 0; fi
if barred; then away "$3"; echo past "$e" "$r"; exit 0; fi
if [ "${te:-0}.${tr:-0}" != 0.0 ] && [ "$te $tr" != "$e $r" ]
then if mkdir -p "${token%/*}" && (umask 077; echo "$te $tr" >"$token.new") && keep "$token"; then :; else away "$3"; exit 1; fi; fi
`
}

// renewScript gives the lease of the word $1 another $2 seconds.
func (m Memory) renewScript() string {
	return m.leaseSteps() + `clock || exit 1
for f in "$l"/*."$1"; do n="$l/$((now+$2)).$1"; if [ "$f" != "$n" ]; then mv -f -- "$f" "$n" || echo lost; fi; done`
}

func (m Memory) releaseScript() string { return m.leaseSteps() + `away "$1"` }

// breakScript ends the lease of the word $1. One that an older weft has left is two
// files, which are called otherwise.
func (m Memory) breakScript() string {
	return m.leaseSteps() + `for f in "$l"/*."$1" "$l/$1"; do if [ -e "$f" ]; then away "$1"; rm -f -- "$l/holder" "$l/until"; rmdir -- "$l" 2>/dev/null || :; exit 0; fi; done; echo moved`
}

// word is what the lease that says text is called by.
func word(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:20] }

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// ask runs a script that begins by taking the lease, and returns the first line of
// its answer and the rest.
func (m Memory) ask(ctx context.Context, t host.Transport, c host.Claim, text string, args ...string) (answer string, rest []byte, who *host.Held, err error) {
	dead := ""
	if c.Over != nil {
		dead = c.Over.Name
	}
	out, err := t.Run(ctx, script(tokenOf(c)+m.claimScript()+text, append([]string{c.Text, seconds(c.Time), word(c.Text), dead}, args...)...))
	if err != nil {
		return "", nil, nil, err
	}
	first, rest, _ := bytes.Cut(out.Stdout, []byte("\n"))
	if stands, past := strings.CutPrefix(string(first), "past "); past {
		return "", nil, &host.Held{Past: m.tokenText(stands)}, nil
	}
	if answer = string(first); !strings.HasPrefix(answer, "held ") {
		return answer, rest, nil, nil
	}
	who, err = heldBy(answer, string(rest))
	return "", nil, who, err
}

// heldBy reads "held NOW NAME" and the line about the holder.
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
	now, err1 := strconv.Atoi(f[1])
	until, err2 := strconv.Atoi(end)
	if l.Known = err1 == nil && err2 == nil; l.Known {
		l.Left = time.Duration(until-now) * time.Second
	}
	return l, nil
}

// Take implements host.Memory.
func (m Memory) Take(ctx context.Context, t host.Transport, c host.Claim, n host.Note, owner string) (mark string, ledger []byte, who *host.Held, err error) {
	answer, rest, who, err := m.ask(ctx, t, c, m.readMarked(), m.Place(host.KeptLedger, owner), n.Text, n.Needle)
	if err != nil || who != nil {
		return "", nil, who, err
	}
	size, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(answer, "taken ")))
	if err != nil || size < 0 || size > len(rest) {
		return "", nil, nil, fmt.Errorf("the server answers %q", answer)
	}
	return string(rest[:size]), rest[size:], nil, nil
}

// Renew implements host.Memory.
func (m Memory) Renew(ctx context.Context, t host.Transport, c host.Claim) error {
	_, err := t.Run(ctx, script(m.renewScript(), word(c.Text), seconds(c.Time)))
	return err
}

// Release implements host.Memory.
func (m Memory) Release(ctx context.Context, t host.Transport, text string) error {
	_, err := t.Run(ctx, script(m.releaseScript(), word(text)))
	return err
}

// Lease implements host.Memory.
func (m Memory) Lease(ctx context.Context, t host.Transport) (*host.Held, error) {
	out, err := t.Run(ctx, script(m.leaseSteps()+`clock || :; show || :`))
	if err != nil || len(out.Stdout) == 0 {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(out.Stdout), "\n")
	return heldBy(first, rest)
}

// Break implements host.Memory.
func (m Memory) Break(ctx context.Context, t host.Transport, h *host.Held) (broken bool, err error) {
	_, word, named := strings.Cut(h.Name, ".")
	if !named { // of an older weft
		word = h.Name
	}
	out, err := t.Run(ctx, script(m.breakScript(), word))
	return len(out.Stdout) == 0, err
}
