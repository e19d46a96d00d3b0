package modules

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"weft/internal/remote"
	"weft/modules/claim"
	"weft/plan"
)

// leaseDir is on a file system that a restart empties.
const leaseDir = "/run/weft"

// A lease lasts leaseTime unless it is renewed, which happens every
// leaseRenewal. The time is that since the server's start: its clock may jump.
const (
	leaseTime    = 5 * time.Minute
	leaseRenewal = time.Minute
)

// lease keeps every other weft from changing a server, until it is released
// or not renewed any more.
type lease struct {
	text  string // of the holder file: no two are the same
	end   context.CancelFunc
	ended sync.WaitGroup
}

// leaseFile is what the holder file holds.
type leaseFile struct {
	claim.Holder
	Owner string `json:"owner"`
	Nonce string `json:"nonce"`
}

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

func script(text string, args ...string) remote.Cmd {
	return remote.Cmd{Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

// take takes the lease for a transaction of the run that has left the mark want,
// which is renewed; nil: of none. It returns the ledger as it is now.
func (d *server) take(ctx context.Context, want *plan.Mark) (ledger []byte, err error) {
	args := []string{ledgerPath(d.owner), "", ""}
	if want != nil {
		if args[1], err = markText(*want); err != nil {
			return nil, err
		}
		args[2] = needleOf(*want, args[1])
	}
	answer, rest, err := d.claim(ctx, readMarked, args...)
	if err != nil {
		return nil, err
	}
	size, err := strconv.Atoi(strings.TrimPrefix(answer, "taken "))
	if err != nil || size > len(rest) {
		return nil, fmt.Errorf("take the lease %s/lease: the server answers %q", leaseDir, answer)
	}
	d.keep(d.claimed)
	d.mark = parseMark(string(rest[:size]))
	if err := d.admits(want); err != nil {
		return nil, errors.Join(err, d.release(ctx))
	}
	return rest[size:], nil
}

// claim runs a script that begins by taking the lease, and returns the first
// line of its answer and the rest. A *plan.HeldError says who holds the lease.
func (d *server) claim(ctx context.Context, text string, args ...string) (answer string, rest []byte, err error) {
	me := leaseFile{Holder: d.holder, Owner: d.owner, Nonce: rand.Text()}
	raw, err := json.Marshal(me)
	if err != nil {
		return "", nil, err
	}
	d.claimed = string(raw)
	over, dead := "", ""
	for {
		args := append([]string{d.claimed, strconv.Itoa(int(leaseTime.Seconds())), dead, over}, args...)
		out, err := d.host.Run(ctx, script(claimScript+text, args...))
		if err != nil {
			d.stray = d.claimed
			return "", nil, fmt.Errorf("take the lease %s/lease: %w", leaseDir, err)
		}
		first, rest, _ := bytes.Cut(out.Stdout, []byte("\n"))
		answer := string(first)
		if !strings.HasPrefix(answer, "held ") {
			return answer, rest, nil
		}
		said := strings.TrimSpace(string(rest))
		holder, left, err := d.heldBy(answer, said)
		if err != nil {
			return "", nil, err
		}
		if over != "" || left > 0 && !d.holder.Outlived(holder.Holder) {
			return "", nil, claim.Refused(d.name, holder.describe(), left)
		}
		over, dead = "over", said
	}
}

// keep renews the lease until release.
func (d *server) keep(text string) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &lease{text: text, end: cancel}
	host := d.host
	l.ended.Go(func() {
		tick := time.NewTicker(leaseRenewal)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// A renewal that fails ends the lease early, which the next
				// step will meet as a lost connection.
				_, _ = host.Run(ctx, script(renewScript, text, strconv.Itoa(int(leaseTime.Seconds()))))
			}
		}
	})
	d.lease = l
}

// stop ends renewing.
func (l *lease) stop() {
	l.end()
	l.ended.Wait()
}

// letGo gives back a lease that was taken, or not given back, over a connection
// that was lost at that very moment: others would wait for its end. That end
// comes also where this fails.
func (d *server) letGo(ctx context.Context) {
	if d.stray == "" {
		return
	}
	host, hangUp, err := d.dial(ctx, true)
	if err != nil {
		return
	}
	defer hangUp()
	if _, err := host.Run(ctx, script(releaseScript, d.stray)); err == nil {
		d.stray = ""
	}
}

// release gives the lease back.
func (d *server) release(ctx context.Context) error {
	if d.lease == nil {
		return nil
	}
	d.lease.stop()
	_, err := d.host.Run(ctx, script(releaseScript, d.lease.text))
	text := d.lease.text
	d.lease = nil
	if err != nil {
		d.stray = text
		return fmt.Errorf("release the lease %s/lease: %w", leaseDir, err)
	}
	return nil
}
