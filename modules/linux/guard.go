package linux

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
)

// timer is the guard of Linux: a transient unit of systemd that runs a script. A
// restart forgets both, and with them what the risky kinds have set.
type timer struct{}

func (timer) Name(owner string) string { return "weft-revert-" + owner }
func (timer) Restarts() bool           { return false }

func revertScript(owner string) string { return put.RunDir + "/revert-" + owner + ".sh" }

// Look names the owners whose dead-man is armed on the server.
func (timer) Look() remote.Look {
	return remote.Look{Root: true, Own: true, Args: []string{"sh", "-c",
		`[ -d /run/systemd/system ] || echo ` + noTimer + `; for f in ` + put.RunDir + `/revert-*.sh; do if [ -f "$f" ]; then f=${f##*/revert-}; echo "${f%.sh}"; fi; done`}}
}

// noTimer stands among the owners where systemd does not run; see sd_booted(3).
const noTimer = "-"

func (g timer) Armed(s remote.Seen) (host.Armed, error) {
	text, err := see.Output(s, g.Look())
	if err != nil {
		return host.Armed{}, fmt.Errorf("look for armed reverts in %s: %w", put.RunDir, err)
	}
	names := strings.Fields(string(text))
	a := host.Armed{Owners: slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == noTimer })}
	if slices.Contains(names, noTimer) {
		a.Unable = hint.Wrap(errors.New("no timer could revert it: systemd does not run on the server, there is no /run/systemd/system"), timersOnly)
	}
	return a, nil
}

const timersOnly = "addresses and the settings of NICs are changed only where systemd-run can revert them"

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

func (g timer) Arm(ctx context.Context, t host.Transport, owner string, after time.Duration, back []remote.Step) error {
	path := revertScript(owner)
	lines := slice.Map(back, revertLine)
	text := "#!/bin/sh\n# weft reverts what was not proven, for " + owner + "\n" +
		strings.Join(lines, "\n") + "\nrm -f -- " + remote.Quote(path) + "\n"
	_, err := t.Run(ctx, script(armScript, path, g.Name(owner), strconv.Itoa(int(after.Seconds())), text))
	if err != nil {
		return hint.Wrap(err, timersOnly)
	}
	return nil
}

// revertLine is a step as a line of a script. A file is made anew beside the one that it
// takes the place of, for root alone until it has all of it: a link that stands there is
// not followed, nor what somebody puts there meanwhile (noclobber), nor by chmod.
func revertLine(s remote.Step) string {
	switch {
	case s.Put != nil:
		n := remote.Quote(s.Put.Path + ".new")
		content, err := s.Put.Bytes()
		if err != nil {
			return "exit 1 # " + strings.ReplaceAll(err.Error(), "\n", " ") // rather than a file that is empty
		}
		return fmt.Sprintf("rm -f -- %s && (umask 077; set -C; { printf %%s %s | base64 -d && chmod %04o /proc/self/fd/1; } >%s) && mv -fT -- %s %s",
			n, base64.StdEncoding.EncodeToString(content), s.Put.Mode.Perm(), n, n, remote.Quote(s.Put.Path))
	case s.Del != "":
		return remote.Quote("rm", "-f", "--", s.Del)
	}
	return remote.Quote(s.Args...)
}

func (g timer) Disarm(ctx context.Context, t host.Transport, owner string) error {
	_, err := t.Run(ctx, script(disarmScript, revertScript(owner), g.Name(owner)))
	return err
}
