package modules

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// leaseDir is on a file system that a restart empties. The time of a lease is that
// since the server's start: its clock may jump.
const leaseDir = "/run/weft"

// putAway is a function of scripts: the lease is gone at once, and not file by
// file. What is left of that by a script that was killed is removed by whoever
// takes the lease next.
const putAway = `l=` + leaseDir + `/lease
away() { if o=$(mktemp -d "$l.XXXXXXXX"); then mv -f -- "$l" "$o"; rm -rf -- "$o"; else rm -rf -- "$l"; fi; }
`

// claimScript begins scripts: it takes the lease $1 for $2 seconds, where $4 is
// "over" in place of the one that says $3, or says who holds it and ends. A lease
// comes into being with its holder and its end: a script that was killed on the
// way leaves none. One without an end, which an older weft may have left, gets one.
const claimScript = putAway + `mkdir -p "${l%/*}" || exit 1
read -r up rest </proc/uptime || exit 1; up=${up%%.*}
if [ "$4" = over ] && [ "$(cat "$l/holder" 2>/dev/null)" = "$3" ]; then away; fi
if t=$(mktemp -d "$l.XXXXXXXX") && chmod 755 "$t" && printf '%s\n' "$1" >"$t/holder" && echo $((up+$2)) >"$t/until" && [ ! -d "$l" ] && mv -fT -- "$t" "$l"; then rm -rf -- "$l".*
else rm -rf -- "$t"; if [ ! -d "$l" ]; then exit 1; fi
if [ ! -s "$l/until" ]; then echo $((up+$2)) >"$l/until"; fi
until=$(cat "$l/until" 2>/dev/null); echo held "$up" "${until:-never}"; cat "$l/holder" 2>/dev/null; echo; exit 0; fi
`

const renewScript = `l=` + leaseDir + `/lease; read -r up rest </proc/uptime; up=${up%%.*}
if [ "$(cat "$l/holder" 2>/dev/null)" = "$1" ]; then echo $((up+$2)) >"$l/until"; else echo lost; fi`

const releaseScript = putAway + `if [ "$(cat "$l/holder" 2>/dev/null)" = "$1" ]; then away; fi`

const showScript = `l=` + leaseDir + `/lease; [ -d "$l" ] || exit 0
read -r up rest </proc/uptime; echo held "${up%%.*}" "$(cat "$l/until" 2>/dev/null || echo never)"; cat "$l/holder" 2>/dev/null; echo`

const breakScript = putAway + `if [ "$(cat "$l/holder" 2>/dev/null)" = "$1" ]; then away; else echo moved; fi`

// leaseSeconds is the time of a lease, as scripts take it.
func leaseSeconds(c Claim) string { return strconv.Itoa(int(c.Time.Seconds())) }

// ask runs a script that begins by taking the lease, and returns the first line of
// its answer and the rest.
func (files) ask(ctx context.Context, t Transport, c Claim, text string, args ...string) (answer string, rest []byte, who *Held, err error) {
	over, dead := "", ""
	if c.Over != nil {
		over, dead = "over", c.Over.Text
	}
	out, err := t.Run(ctx, script(claimScript+text, append([]string{c.Text, leaseSeconds(c), dead, over}, args...)...))
	if err != nil {
		return "", nil, nil, err
	}
	first, rest, _ := bytes.Cut(out.Stdout, []byte("\n"))
	if answer = string(first); !strings.HasPrefix(answer, "held ") {
		return answer, rest, nil, nil
	}
	who, err = heldBy(answer, strings.TrimSpace(string(rest)))
	return "", nil, who, err
}

// heldBy reads "held UP UNTIL" of the lease of a holder.
func heldBy(line, holder string) (*Held, error) {
	f := strings.Fields(line)
	if len(f) != 3 || f[0] != "held" {
		return nil, fmt.Errorf("the server answers %q", line)
	}
	l := held(f[1], f[2], holder)
	return &l, nil
}

func held(up, until, holder string) Held {
	since, err1 := strconv.Atoi(up)
	end, err2 := strconv.Atoi(until)
	if err1 != nil || err2 != nil {
		return Held{Text: holder}
	}
	return Held{Text: holder, Left: time.Duration(end-since) * time.Second, Known: true}
}

func (f files) Take(ctx context.Context, t Transport, c Claim, m Note, owner string) (mark string, ledger []byte, who *Held, err error) {
	answer, rest, who, err := f.ask(ctx, t, c, readMarked, f.Place(KeptLedger, owner), m.Text, m.Needle)
	if err != nil || who != nil {
		return "", nil, who, err
	}
	size, err := strconv.Atoi(strings.TrimPrefix(answer, "taken "))
	if err != nil || size > len(rest) {
		return "", nil, nil, fmt.Errorf("the server answers %q", answer)
	}
	return string(rest[:size]), rest[size:], nil, nil
}

func (files) Renew(ctx context.Context, t Transport, c Claim) error {
	_, err := t.Run(ctx, script(renewScript, c.Text, leaseSeconds(c)))
	return err
}

func (files) Release(ctx context.Context, t Transport, text string) error {
	_, err := t.Run(ctx, script(releaseScript, text))
	return err
}

func (files) Lease(ctx context.Context, t Transport) (*Held, error) {
	out, err := t.Run(ctx, script(showScript))
	if err != nil || len(out.Stdout) == 0 {
		return nil, err
	}
	first, rest, _ := strings.Cut(string(out.Stdout), "\n")
	return heldBy(strings.Replace(first, "never", "-", 1), strings.TrimSpace(rest))
}

func (files) Break(ctx context.Context, t Transport, text string) (broken bool, err error) {
	out, err := t.Run(ctx, script(breakScript, text))
	return len(out.Stdout) == 0, err
}
