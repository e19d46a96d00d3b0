package esxi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
)

// A transport reads with one script and runs commands, each as an argument vector.
// ESXi has a shell of busybox, no /proc and no /sys, and files that are put vanish
// with the next restart: it is asked by commands, and no file is put.
type transport struct{ remote.Host }

func (t transport) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	for _, l := range looks {
		if l.File != "" || l.PCI != "" || len(l.Args) == 0 {
			return remote.Seen{}, fmt.Errorf("look at %s: ESXi is asked by commands only", l)
		}
	}
	var plain, named []remote.Look
	for _, l := range looks {
		if slices.ContainsFunc(l.Args, meansDevice) {
			named = append(named, l)
		} else {
			plain = append(plain, l)
		}
	}
	if len(named) > 0 {
		plain = append(plain, deviceLooks()...)
	}
	seen, err := remote.Read(ctx, t.Host, plain)
	if err != nil || len(named) == 0 {
		return seen, cannot(err)
	}
	return t.readNamed(ctx, plain, named, seen)
}

// readNamed takes the looks that mean devices by their place, whose names have been seen.
func (t transport) readNamed(ctx context.Context, plain, named []remote.Look, seen remote.Seen) (remote.Seen, error) {
	answers := slice.Map(plain, func(l remote.Look) remote.Answer { return remote.Answer{Look: l, Sight: seen.Of(l)} })
	d, err := readDevices(seen)
	if err != nil {
		return remote.Seen{}, err
	}
	named = d.each(named)
	of, second := map[int]remote.Look{}, []remote.Look{}
	for i, l := range named {
		args, err := d.names(l.Args)
		if err != nil {
			answers = append(answers, remote.Answer{Look: l, Sight: remote.Sight{Err: err}})
			continue
		}
		of[i] = remote.Look{Args: args, Own: l.Own}
		second = append(second, of[i])
	}
	more, err := remote.Read(ctx, t.Host, second)
	for i, l := range of {
		answers = append(answers, remote.Answer{Look: named[i], Sight: more.Of(l)})
	}
	return remote.NewSeen(answers...), cannot(err)
}

func (t transport) Do(ctx context.Context, s remote.Step) error {
	if len(s.Args) == 0 {
		return fmt.Errorf("%s: no file is put on ESXi, where it would vanish with the next restart", s)
	}
	args, err := t.resolve(ctx, s.Args)
	if err == nil {
		args, err = t.merge(ctx, args)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Short(), err)
	}
	s.Args = args
	return explain(remote.Do(ctx, t.Host, s))
}

// cannot says more about a machine that could not be asked.
func cannot(err error) error {
	switch {
	case errors.As(err, new(*remote.BecomeError)):
		return hint.Wrap(err, "there is no sudo on ESXi: log in as root or as a user with the Administrator role, over a connection without become")
	case errors.Is(err, context.DeadlineExceeded):
		return hint.Wrap(err, "esxcli waits for hostd, which may hang: see /var/log/hostd.log on the host; /etc/init.d/hostd restart stops no virtual machine")
	}
	return err
}

// loginFailed says what else a login that failed may mean on ESXi.
func loginFailed(err error) error {
	if !errors.As(err, new(*remote.UnreachableError)) {
		return err
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return hint.Wrap(err, "SSH is off on ESXi unless somebody starts it: Host > Configure > Services > SSH (TSM-SSH), in the vSphere Client; weft does not start it")
	case errors.As(err, new(*remote.AuthError)):
		return hint.Wrap(err, "the password or key may be wrong; in lockdown mode the host lets nobody in by SSH but its Exception Users: Host > Configure > Security Profile")
	}
	return err
}

// What hosts say, and what it means. The texts are those of the sources in evidence.md.
const (
	restricted = "RestrictedVersion"            // a change that the licence does not allow
	unknown    = "Unknown command or namespace" // an older release
	hostdDown  = "Connection failure"           // hostd does not answer esxcli
)

// explain says more about a command that failed.
func explain(err error) error {
	var exit *remote.ExitError
	if !errors.As(err, &exit) {
		return cannot(err)
	}
	// What went wrong is printed to either stream, and only one of them is shown.
	said := string(exit.Output.Stdout) + string(exit.Output.Stderr)
	if len(bytes.TrimSpace(exit.Output.Stderr)) == 0 && len(bytes.TrimSpace(exit.Output.Stdout)) > 0 {
		err = fmt.Errorf("%w: %s", err, oneLine(exit.Output.Stdout))
	}
	if advice := adviceOn(said); advice != "" {
		return hint.Wrap(err, "%s", advice)
	}
	return err
}

func adviceOn(said string) string {
	switch {
	case strings.Contains(said, restricted):
		return "the host refuses changes because of its licence: an evaluation may have expired, see Host > Configure > Licensing"
	case strings.Contains(said, unknown):
		return "this release of ESXi does not have the command: see its version with weft facts, and the page of the resource for what it needs"
	case strings.Contains(said, hostdDown):
		return "hostd does not answer on the host: see /var/log/hostd.log; /etc/init.d/hostd restart stops no virtual machine"
	}
	return ""
}

// oneLine is what a command printed, for a message.
func oneLine(text []byte) string {
	line := strings.Join(strings.Fields(remote.Redact(string(text))), " ")
	const most = 200
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// ask is the look at what an esxcli command prints.
func ask(words ...string) remote.Look {
	return remote.Look{Args: append([]string{"esxcli", "--formatter=xml"}, words...)}
}

// command is how people type a look.
func command(l remote.Look) string {
	return remote.Quote(append([]string{"esxcli"}, l.Args[2:]...)...)
}

// answer is the document that a look saw.
func answer(s remote.Seen, l remote.Look) (value, error) {
	got := s.Of(l)
	if got.Err != nil {
		said := append(bytes.TrimSpace(got.Content), bytes.TrimSpace(got.Stderr)...) // it stands on either
		err := fmt.Errorf("%s: %w", command(l), got.Err)
		if errors.As(got.Err, new(*remote.ExitError)) {
			err = fmt.Errorf("%s: exit %d: %s", command(l), got.Code, oneLine(said))
		}
		if advice := adviceOn(string(said)); advice != "" {
			err = hint.Wrap(err, "%s", advice)
		}
		return value{}, err
	}
	v, err := parseXML(got.Content)
	if err != nil {
		return value{}, fmt.Errorf("%s: %w", command(l), err)
	}
	return v, nil
}

// table are the rows that a look saw. What is missing in one of them is told by err.
func table(s remote.Seen, l remote.Look, err *error) []row {
	v, wrong := answer(s, l)
	if wrong != nil {
		fail(err, "%w", wrong)
		return nil
	}
	return rowsOf(v, command(l), err)
}

// one is the only row that a look saw.
func one(s remote.Seen, l remote.Look, err *error) row {
	list := table(s, l, err)
	if len(list) != 1 {
		fail(err, "%s: %d structures in place of one", command(l), len(list))
		return row{of: command(l), err: err}
	}
	return list[0]
}

var _ host.Transport = transport{}
