package esxi

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
)

// sleeper is the guard of ESXi, which has neither timers nor at(1): a shell in a session
// of its own sleeps, and runs the script of an owner unless that is gone. Both are in
// RAM: a restart forgets them, and then nothing reverts.
type sleeper struct{}

func (sleeper) Name(owner string) string { return "weft-revert-" + owner }
func (sleeper) Restarts() bool           { return false }

// Scripts of an owner are called OWNER.WORD; the process that sleeps for one has its
// path after a word of ours, which ps -c shows: other shells have one or the other.
func reverts(owner string) string { return runDir + "/revert-" + owner + "." }

// Look names the owners who have a script for which a process sleeps.
func (sleeper) Look() remote.Look {
	return shell(`p=$(ps -c); for f in ` + runDir + `/revert-*; do case $f in *.new) continue;; esac; if [ -f "$f" ]; then case $p in *"weft-sleeps-for $f"*) f=${f##*/revert-}; echo "${f%.*}";; esac; fi; done`)
}

func (g sleeper) Armed(s remote.Seen) (a host.Armed, err error) {
	got := s.Of(g.Look())
	if got.Err != nil {
		return a, fmt.Errorf("look for armed reverts in %s: %w", runDir, got.Err)
	}
	names := strings.Fields(string(got.Content))
	slices.Sort(names)
	a.Owners = slices.Compact(names)
	return a, nil
}

// armScript puts the text $2, and after it what is armed already, into the script $1,
// has a process sleep for it $3 seconds, and takes the scripts from before, $4*, away
// once that process is seen: those who sleep for them then find nothing to do. The text
// is no standard input: that of a lost connection would be half of it, or nothing.
const armScript = `umask 077; mkdir -p "${1%/*}" && printf '%s' "$2" >"$1.new" || exit 1
for f in "$4"*; do case $f in *.new) continue;; esac; if [ -f "$f" ]; then cat "$f" >>"$1.new" || exit 1; fi; done
mv -f -- "$1.new" "$1" || exit 1
setsid sh -c 'sleep "$2"; if [ -f "$1" ]; then sh "$1"; rm -f -- "$1"; fi' weft-sleeps-for "$1" "$3" </dev/null >/dev/null 2>&1 &
for try in 1 2 3 4 5; do
case $(ps -c) in *"weft-sleeps-for $1"*) for f in "$4"*; do if [ "$f" != "$1" ]; then rm -f -- "$f"; fi; done; exit 0;; esac
sleep 1
done
rm -f -- "$1"; echo "ps -c shows no process that sleeps for $1" >&2; exit 1`

func (sleeper) Arm(ctx context.Context, t host.Transport, owner string, after time.Duration, back []remote.Step) error {
	var text strings.Builder
	text.WriteString("# weft reverts what was not proven, for " + owner + "\n")
	for _, s := range back {
		if len(s.Args) == 0 || s.Secret != nil {
			return fmt.Errorf("%s: no script of ESXi reverts that", s.Short())
		}
		args, err := transport{t}.resolve(ctx, s.Args) // a script cannot ask what devices are called
		if err != nil {
			return err
		}
		text.WriteString(remote.Quote(args...) + "\n")
	}
	file := reverts(owner) + strings.ToLower(rand.Text()[:12])
	_, err := t.Run(ctx, script(armScript, file, text.String(), strconv.Itoa(int(after.Seconds())), reverts(owner)))
	return hint.Wrap(err, "the network of a host is changed only where a script that sleeps there can revert it: setsid, sleep and ps -c of its shell")
}

func (sleeper) Disarm(ctx context.Context, t host.Transport, owner string) error {
	_, err := t.Run(ctx, script(`rm -f -- "$1"*`, reverts(owner)))
	return err
}
