package esxi

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
)

// Where weft notes, on persistent scratch, that it puts a host in maintenance mode, and
// which entry of the host's log tells of that. A person who ends maintenance mode and begins
// another makes new entries, so that a note that was left is not taken for theirs.
const (
	noteFile    = keepDir + "/maintenance.json"
	enteredFile = keepDir + "/maintenance.entered"
	vobLog      = "/var/run/log/vobd.log"
)

func noteLook() remote.Look    { return shell(`cat "$1" 2>/dev/null || :`, noteFile) }
func enteredLook() remote.Look { return shell(`cat "$1" 2>/dev/null || :`, enteredFile) }
func clockLook() remote.Look   { return shell(`date +%s`) }

// logLook are the entries about maintenance mode; the host writes each for several readers.
func logLook() remote.Look {
	return shell(`grep -F '[vob.user.maintenancemode.' "$1" 2>/dev/null | grep -F GenericCorrelator || :`, vobLog)
}

func stands(ctx context.Context, t host.Transport) (*host.Standing, error) {
	seen, err := t.Read(ctx, []remote.Look{maintenanceLook(), scratchLook(), noteLook(), enteredLook(), clockLook(), logLook()})
	if err != nil {
		return nil, err
	}
	mode, err := answer(seen, maintenanceLook())
	if err != nil {
		return nil, err
	}
	return standing(seen, mode.text)
}

// standing is what looks have seen of a host that says mode of maintenance mode.
func standing(seen remote.Seen, mode string) (_ *host.Standing, err error) {
	for _, l := range []remote.Look{noteLook(), enteredLook(), clockLook(), logLook()} {
		if err := seen.Of(l).Err; err != nil {
			return nil, fmt.Errorf("read what was noted of maintenance mode: %w", err)
		}
	}
	s := &host.Standing{Empty: fold(mode) != "disabled", Unable: lasts(seen), End: "esxcli system maintenanceMode set -e false"}
	if s.Now, err = strconv.ParseInt(textOf(seen, clockLook()), 10, 64); err != nil {
		return nil, fmt.Errorf("date +%%s: %w", err)
	}
	log := strings.Split(textOf(seen, logLook()), "\n")
	s.Said = log[len(log)-1]
	text := textOf(seen, noteLook())
	if text == "" {
		return s, nil
	}
	s.Note = &host.Emptying{}
	if err := json.Unmarshal([]byte(text), s.Note); err != nil {
		return nil, hint.Wrap(fmt.Errorf("%s: %w", noteFile, err), "it is damaged: check whether an operator needs the host in maintenance mode, and remove the file")
	}
	entered := textOf(seen, enteredLook())
	s.Noted, s.Same, s.Once = entered != "", entered != "" && entered == s.Said, once(log, s.Note.Before)
	return s, nil
}

func textOf(s remote.Seen, l remote.Look) string { return strings.TrimSpace(string(s.Of(l).Content)) }

// once reports whether after an entry, "" the beginning, the host has entered maintenance
// mode one time, and has not left it.
func once(log []string, before string) bool {
	after := log
	if before != "" {
		at := slices.Index(log, before)
		if at < 0 {
			return false // the log does not go back so far
		}
		after = log[at+1:]
	}
	entered := 0
	for _, line := range after {
		switch {
		case strings.Contains(line, "maintenancemode.entered]"):
			entered++
		case !strings.Contains(line, "maintenancemode.entering]"):
			return false
		}
	}
	return entered == 1
}

// note replaces what was noted.
func note(ctx context.Context, t host.Transport, n host.Emptying) error {
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	if _, err := t.Run(ctx, script(`rm -f -- "$1"`, enteredFile)); err != nil {
		return err
	}
	return write(ctx, t, noteFile, append(raw, '\n'))
}

func forget(ctx context.Context, t host.Transport) error {
	_, err := t.Run(ctx, script(`rm -f -- "$1" "$2"`, noteFile, enteredFile))
	return err
}

// enterScript enters maintenance mode where $1 says so, and notes in $2 the entry of the log
// that came after the one of the note. It is one script, so that a connection that breaks
// after the first loses nothing of the second. A host that writes no entry in time, or no
// note that it belongs to, has nothing noted: whose maintenance mode it is, is not known then.
const enterScript = `last() { grep -F '[vob.user.maintenancemode.' "$1" 2>/dev/null | grep -F GenericCorrelator | tail -n 1; }
was=$(last "$3")
if [ "$1" = itself ]; then esxcli system maintenanceMode set -e true || exit 1; fi
[ -f "$4" ] || exit 0
for try in 1 2 3 4 5; do
now=$(last "$3")
if [ "$1" != itself ] || [ "$now" != "$was" ]; then case $now in *maintenancemode.entered]*) printf '%s\n' "$now" >"$2.new" && mv -f -- "$2.new" "$2"; exit;; esac; fi
sleep 1
done
exit 0`

// entered notes that vCenter has put the host in maintenance mode.
func entered(ctx context.Context, t host.Transport) error {
	_, err := t.Run(ctx, script(enterScript, "vcenter", enteredFile, vobLog, noteFile))
	return err
}
