package modules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// The dead-man: before a transaction touches what could cut a server off, or
// stop its traffic, a timer on the server is armed that takes it back. It is
// disarmed when a fresh login has proven the result. A weft that dies, or loses
// the server, leaves it to the timer.

// revertAfter is how long the timer waits. A transaction that takes longer
// finds its changes taken back, and fails.
const revertAfter = 10 * time.Minute

func revertUnit(owner string) string   { return "weft-revert-" + owner }
func revertScript(owner string) string { return leaseDir + "/revert-" + owner + ".sh" }

// armedLook names the owners whose dead-man is armed on the server.
func armedLook() remote.Look {
	return remote.Look{Root: true, Own: true, Args: []string{"sh", "-c",
		`[ -d /run/systemd/system ] || echo ` + noTimer + `; for f in ` + leaseDir + `/revert-*.sh; do if [ -f "$f" ]; then f=${f##*/revert-}; echo "${f%.sh}"; fi; done`}}
}

// noTimer stands among the owners where systemd does not run; see sd_booted(3).
const noTimer = "-"

// parseArmed tells ours from others', and whether the server has timers at all.
func parseArmed(owner string, text []byte) (ours, timers bool, others []string) {
	names := strings.Fields(string(text))
	return slices.Contains(names, owner), !slices.Contains(names, noTimer),
		slices.DeleteFunc(names, func(n string) bool { return n == owner || n == noTimer })
}

// tame refuses risky changes that no timer could take back.
func (d *server) tame(rs []plan.Resource, states []plan.State) {
	for i := range states {
		r, ok := rs[i].(thing)
		if !ok || d.timers || d.owner == "" || !r.risky() || r.Diff(states[i]).Empty() {
			continue
		}
		states[i] = refused{firm: true, err: hint.Wrap(errors.New("no timer could revert it: systemd does not run on the server, there is no /run/systemd/system"),
			"addresses and the settings of NICs are changed only where systemd-run can revert them")}
	}
}

// revertLines is a script that takes the risky ones of the steps back, the last
// first; nil: there are none.
func revertLines(steps []plan.Step) []string {
	var lines []string
	for _, s := range slices.Backward(steps) {
		r, ok := s.Resource.(thing)
		if !ok || !r.risky() {
			continue
		}
		for _, undo := range r.undo(s.Have) {
			if len(undo.Args) > 0 {
				lines = append(lines, remote.Quote(undo.Args...))
			}
		}
	}
	return lines
}

// armScript puts the text $4, and after it what is armed already, into the
// script $1, and starts the timer $2 that runs it in $3 seconds. The text is no
// standard input: that of a lost connection would be half of it, or nothing.
const armScript = `set -e; umask 077; mkdir -p "${1%/*}"; printf '%s' "$4" >"$1.new"
if [ -f "$1" ]; then cat "$1" >>"$1.new"; fi
if systemctl is-active "$2.timer" >/dev/null; then systemctl stop "$2.timer" || ! systemctl is-active "$2.timer" >/dev/null; fi
mv -f "$1.new" "$1"
systemd-run --quiet --collect --unit="$2" --on-active="$3" /bin/sh "$1"`

// disarmScript stops the timer $2 of the script $1. One that fires at that very
// moment cannot be stopped any more, and need not be.
const disarmScript = `if systemctl is-active "$2.timer" >/dev/null; then systemctl stop "$2.timer" || ! systemctl is-active "$2.timer" >/dev/null || exit 1; fi; rm -f -- "$1"`

// arm starts the dead-man of the steps, last before the first of them.
func (d *server) arm(ctx context.Context, steps []plan.Step) error {
	lines := revertLines(steps)
	if lines == nil {
		return nil
	}
	if len(d.othersArmed) > 0 {
		return hint.Wrap(fmt.Errorf("the owner %s has a revert armed on the server", strings.Join(d.othersArmed, ", ")),
			"wait until that apply has ended, or its timer has fired (%s at most)", revertAfter)
	}
	path := revertScript(d.owner)
	text := "#!/bin/sh\n# weft reverts what was not proven, for " + d.owner + "\n" +
		strings.Join(lines, "\n") + "\nrm -f -- " + remote.Quote(path) + "\n"
	cmd := script(armScript, path, revertUnit(d.owner), strconv.Itoa(int(revertAfter.Seconds())), text)
	if _, err := d.host.Run(ctx, cmd); err != nil {
		return hint.Wrap(fmt.Errorf("arm the timer that reverts changes: %w", err),
			"addresses and the settings of NICs are changed only where systemd-run can revert them")
	}
	d.armedHere = !d.armed // else what another run did is in the script as well
	d.armed = true
	return nil
}

// disarm stops the dead-man: what it would take back is proven, or is back.
func (d *server) disarm(ctx context.Context, host remote.Host) error {
	if !d.armed {
		return nil
	}
	if _, err := host.Run(ctx, script(disarmScript, revertScript(d.owner), revertUnit(d.owner))); err != nil {
		return fmt.Errorf("disarm the timer that reverts changes: %w", err)
	}
	d.armed = false
	return nil
}

// unproven is what a weft that died left armed: to prove it is to disarm it. With
// that goes what else it left.
type unproven struct {
	belongs
}

// Diff implements plan.Resource.
func (u *unproven) Diff(plan.State) plan.Diff {
	d := u.dev.left.changes()
	if u.dev.armed {
		d.Changes = append(d.Changes, plan.Change{Path: "revert", Before: "armed by an apply that did not end", After: "disarmed"})
		d.Send = append(d.Send, "disarm "+revertUnit(u.dev.owner))
		d.Undo = append(d.Undo, "left to "+revertUnit(u.dev.owner))
	}
	return d
}

// Pending implements plan.Keeper.
func (d *server) Pending() plan.Resource { return &unproven{belongs{dev: d}} }
