package esxi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/host/posix"
)

const (
	keepDir = "/scratch/weft"
	runDir  = "/tmp/weft" // RAM
)

// scratch is the memory of ESXi: on the scratch partition, as what is put below /etc
// vanishes with a restart; the lease where a restart forgets it, by the clock of the host,
// as there is no /proc.
type scratch struct{ posix.Memory }

func keepsakes() scratch {
	return scratch{posix.Memory{
		Dir: keepDir, Run: runDir, Mask: "077", Clock: posix.Date, Enter: posix.ByMkdir, Keep: posix.MoveThenSync,
		Write: write, Open: open,
		Left: func(string, []remote.Look) []string { return []string{keepDir} }, OnWay: []string{"*.new", "*/*.new"},
	}}
}

// shell is a look by a script of ours.
func shell(text string, args ...string) remote.Look {
	return remote.Look{Own: true, Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

func script(text string, args ...string) remote.Cmd {
	return remote.Cmd{Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

func scratchLook() remote.Look {
	return ask("system", "settings", "advanced", "list", "-o", "/ScratchConfig/CurrentScratchLocation")
}

func (m scratch) Looks(owner string, places []remote.Look) []remote.Look {
	return append(m.Memory.Looks(owner, places), scratchLook())
}

func (m scratch) Parse(s remote.Seen, owner string, places []remote.Look) (kept host.Memorized, err error) {
	if kept.Unable = lasts(s); kept.Unable != nil {
		return kept, nil
	}
	return m.Memory.Parse(s, owner, places)
}

// lasts says why nothing is kept on a host: where its scratch partition is in RAM, a
// restart would forget what weft did.
func lasts(s remote.Seen) error {
	const advice = "give the host a scratch location on a disk, and restart it: the advanced option ScratchConfig.ConfiguredScratchLocation"
	var err error
	at := one(s, scratchLook(), &err).text("StringValue")
	switch {
	case err != nil:
		return fmt.Errorf("nothing of this host can be owned: where its scratch partition is cannot be read: %w", err)
	case at == "":
		return hint.Wrap(errors.New("nothing of this host can be owned: it has no scratch partition, so that a restart would forget what was done"), advice)
	case path.Clean(at) == "/tmp" || strings.HasPrefix(path.Clean(at), "/tmp/"):
		return hint.Wrap(fmt.Errorf("nothing of this host can be owned: its scratch partition is %s, in RAM, so that a restart would forget what was done", at), advice)
	}
	return nil
}

// putScript puts what it reads, $2 bytes, in place of the file $1. A connection that
// breaks looks like the end of the input, which the size tells.
const putScript = `umask 077; [ -d /scratch/. ] || { echo "there is no /scratch" >&2; exit 1; }
mkdir -p "${1%/*}" || exit 1
if cat >"$1.new" && [ "$(wc -c <"$1.new")" -eq "$2" ]; then :; else rm -f -- "$1.new"; echo "it did not arrive whole" >&2; exit 1; fi
mv -f -- "$1.new" "$1" && sync 2>/dev/null || :
[ "$(wc -c <"$1")" -eq "$2" ] || { echo "it reads otherwise than it was written" >&2; exit 1; }`

func write(ctx context.Context, t host.Transport, path string, raw []byte) error {
	cmd := script(putScript, path, strconv.Itoa(len(raw)))
	cmd.Stdin = bytes.NewReader(raw)
	_, err := t.Run(ctx, cmd)
	return err
}
