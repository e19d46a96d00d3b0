package windows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// A transport runs scripts of package powershell, each read by the one command that the
// shell gets to see: whether that is cmd.exe or PowerShell does not matter. Looks are
// programs, and all of them one script. Files come by SFTP where there is one, else scripts
// carry them; what weft keeps on the machine is written by scripts as well.
type transport struct {
	remote.Host
	guard string // a program that ends the part before anything is changed; "": there is none
}

// program is what looks and commands of this package are: the word, what it is for, and
// the program, which leaves what it has to say in $value.
const program = "powershell-program"

// query is a look by a cmdlet: at these fields of each object that it gives, as
// powershell.Rows has them.
func query(fields string, args ...string) remote.Look {
	return remote.Look{Args: slices.Concat(args, []string{"select"}, strings.Fields(fields))}
}

// ask is a look by a program.
func ask(what, text string) remote.Look { return remote.Look{Args: []string{program, what, text}} }

// do is a command that is a program.
func do(what, text string) remote.Cmd { return remote.Cmd{Args: []string{program, what, text}} }

var errNoShell = errors.New("there is no POSIX shell on Windows, and weft runs no command there but its own scripts")

// Read takes all looks with one script.
func (t transport) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	if len(looks) == 0 {
		return remote.Seen{}, nil
	}
	parts := make([]string, len(looks))
	for i, l := range looks {
		var err error
		if parts[i], err = look(l); err != nil {
			return remote.Seen{}, err
		}
	}
	got, err := t.run(ctx, parts...)
	if err != nil {
		return remote.Seen{}, fmt.Errorf("reading %s: %w", t.Name(), err)
	}
	answers := make([]remote.Answer, len(looks))
	for i, a := range got {
		sight := remote.Sight{Content: content(a.Value), Err: failed(named(looks[i]), a)}
		if looks[i].File != "" {
			sight = fileSight(looks[i], sight)
		}
		answers[i] = remote.Answer{Look: looks[i], Sight: sight}
	}
	return remote.NewSeen(answers...), nil
}

// look is the program of a look.
func look(l remote.Look) (string, error) {
	if l.File != "" {
		return fileLook(l)
	}
	if len(l.Args) == 3 && l.Args[0] == program {
		return l.Args[2], nil
	}
	at := slices.Index(l.Args, "select")
	if at < 1 {
		return "", fmt.Errorf("look at %s: Windows is asked by cmdlets and programs of PowerShell only", l)
	}
	return found(func(expr func(string) (string, bool)) (string, error) {
		return powershell.Rows(l.Args[:at], l.Args[at+1:], expr)
	})
}

// named is what a look is called in messages.
func named(l remote.Look) string {
	if l.File != "" {
		return "read " + l.File
	}
	if l.Args[0] == program {
		return l.Args[1]
	}
	return remote.Quote(l.Args[:max(0, slices.Index(l.Args, "select"))]...)
}

// content is a text as it is, and everything else as JSON.
func content(value json.RawMessage) []byte {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return []byte(text)
	}
	if string(value) == "null" {
		return nil
	}
	return value
}

// Do carries out a step: a cmdlet with its arguments, or one about a file of weft's own.
func (t transport) Do(ctx context.Context, s remote.Step) error {
	switch {
	case s.Put != nil && inside(s.Put.Path) && !s.Put.Secret:
		return t.put(ctx, s.Put)
	case s.Del != "" && inside(s.Del):
		return memory{}.Sweep(ctx, t, []string{s.Del})
	case len(s.Args) == 0 || s.Secret != nil:
		return fmt.Errorf("%s: a step on Windows is a cmdlet, or is about a file of weft's own", s.Short())
	}
	text, err := render(s.Args)
	if err != nil {
		return err
	}
	_, err = t.Run(ctx, do(s.Args[0], text))
	return err
}

var device = pattern.New(`^\{nic ([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])\}$`)

// nicName stands in steps for the name that the adapter at a PCI address has when the
// step is taken: people rename adapters.
func nicName(pci string) string { return "{nic " + pci + "}" }

// render is the program of a cmdlet and its arguments.
func render(args []string) (string, error) {
	return found(func(expr func(string) (string, bool)) (string, error) {
		line, err := powershell.Command(args, expr)
		return line + "\n", err
	})
}

// found is what write makes with names of adapters as expressions, after what finds them.
func found(write func(func(string) (string, bool)) (string, error)) (string, error) {
	var find strings.Builder
	text, err := write(func(a string) (string, bool) {
		m := device.FindStringSubmatch(a)
		if m == nil {
			return "", false
		}
		find.Reset()
		for i, name := range []string{"segment", "bus", "device", "function"} {
			n, _ := strconv.ParseInt(m[i+1], 16, 32)
			find.WriteString(powershell.Let(name, int(n)))
		}
		find.WriteString(powershell.Let("pci", strings.TrimSuffix(strings.TrimPrefix(a, "{nic "), "}")) + findNIC)
		return "$nic", true
	})
	if err != nil {
		return "", err
	}
	return find.String() + text, nil
}

// findNIC sets $nic to the name of an adapter. Cmdlets take names for patterns: one that
// could be more than itself is refused.
const findNIC = `$nic = ''
foreach ($h in @(Get-NetAdapterHardwareInfo)) {
if (([int]$h.Segment -eq $segment) -and ([int]$h.Bus -eq $bus) -and ([int]$h.Device -eq $device) -and ([int]$h.Function -eq $function)) { $nic = [string]$h.Name }
}
if ($nic -eq '') { throw ('the host has no adapter at PCI address ' + $pci + ': Get-NetAdapterHardwareInfo') }
if ($nic -match '[*?\[\]` + "`" + `]') { throw ('the name of the adapter ' + $nic + ' is a pattern to Windows: Rename-NetAdapter') }
`

// Run runs a program of this package. It prints what that leaves in $value.
func (t transport) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	if isProbe(cmd.Args) {
		return t.probe(ctx, cmd)
	}
	if len(cmd.Args) != 3 || cmd.Args[0] != program {
		return remote.Output{}, hint.Wrap(errNoShell, "log in with ssh and type it there")
	}
	got, err := t.run(ctx, t.guard+cmd.Args[2])
	if err != nil {
		return remote.Output{}, err
	}
	out := remote.Output{Stdout: content(got[0].Value), Stderr: []byte(got[0].Message)}
	if by, is := strings.CutPrefix(got[0].Message, fencedBy); is && !got[0].OK {
		return out, &host.FencedError{By: by}
	}
	return out, failed(cmd.Args[1], got[0])
}

// ReadFile implements remote.Host.
func (t transport) ReadFile(context.Context, string) ([]byte, error) { return nil, errNoShell }

// WriteFile implements remote.Host.
func (t transport) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errNoShell
}

// run sends a script, and reads what it prints. What no table of package powershell has is
// not sent, whoever made it.
func (t transport) run(ctx context.Context, parts ...string) ([]powershell.Answer, error) {
	script := powershell.Script(parts...)
	if err := powershell.Check(script); err != nil {
		return nil, hint.Wrap(fmt.Errorf("nothing was sent to %s: weft's script holds what its scripts must not: %w", t.Name(), err), "this is a mistake in weft: report it with the plan or the command")
	}
	args, input := powershell.Bootstrap(script)
	out, err := t.Host.Run(ctx, remote.Cmd{Args: args, Stdin: strings.NewReader(input), Quiet: true, Bare: true})
	reply, bad := powershell.Parse(out.Stdout, len(parts))
	if errors.As(bad, new(*powershell.ShortError)) { // nothing of it was run
		again, wrong := t.uploaded(ctx, script)
		if errors.Is(wrong, remote.ErrNoUpload) {
			return nil, hint.Wrap(bad, "standard input does not reach scripts over this server, and it takes no files by SFTP: Subsystem sftp sftp-server.exe in sshd_config")
		}
		out, err = again, wrong
		reply, bad = powershell.Parse(out.Stdout, len(parts))
	}
	var exit *remote.ExitError
	if err != nil && !errors.As(err, &exit) {
		if errors.As(err, new(*remote.BecomeError)) {
			return nil, hint.Wrap(err, "log in as an administrator, over a connection without become")
		}
		return nil, err
	}
	if bad != nil {
		return nil, unread(bad, exit, powershell.Complaint(out.Stderr))
	}
	if !reply.Admin {
		return nil, hint.Wrap(fmt.Errorf("%s is no administrator there, or its session is not elevated", reply.User),
			"log in as a member of the group Administrators: over SSH its session is elevated")
	}
	return reply.Answers, nil
}

// unread says more about a host that answered no document.
func unread(err error, exit *remote.ExitError, said string) error {
	if errors.As(err, new(*powershell.ConstrainedError)) {
		return hint.Wrap(err, "AppLocker or App Control decides that: let its policy trust the account that weft logs in as, or leave the host out of the files")
	}
	if exit != nil {
		err = fmt.Errorf("%w (exit %d)", err, exit.Code)
	}
	if said != "" {
		err = fmt.Errorf("%w: %.300s", err, remote.Redact(said))
	}
	return hint.Wrap(err, "weft needs Windows PowerShell 5.1, which the shell of the login must find as powershell: try ssh HOST powershell -Command Get-Host; a shell that prints a greeting is set right by DefaultShell below HKLM\\SOFTWARE\\OpenSSH")
}

// failed is the error of a part, with what it means where that is told by something else
// than words, which are those of the host's language; nil: it did not fail.
func failed(what string, a powershell.Answer) error {
	if a.OK {
		return nil
	}
	said := strings.Join(strings.Fields(a.Message), " ")
	if a.ID != "" {
		said += " (" + a.ID + ")"
	}
	var err error = &remote.ExitError{Args: []string{what}, Code: 1, Output: remote.Output{Stderr: []byte(said)}}
	switch {
	case strings.Contains(a.ID, "CommandNotFoundException"):
		return hint.Wrap(err, "the host lacks that cmdlet: its module comes with a feature that is not installed, or with a later release")
	case strings.Contains(a.ID, "Windows System Error 5,"), a.Type == "System.UnauthorizedAccessException":
		return hint.Wrap(err, "Windows denies access although the session is elevated: a policy or another program may own it")
	}
	return err
}

// answer decodes what a look saw.
func answer(s remote.Seen, l remote.Look, into any) error {
	got := s.Of(l)
	if got.Err != nil {
		return got.Err
	}
	if len(got.Content) == 0 {
		return fmt.Errorf("%s: the host says nothing", named(l))
	}
	if err := json.Unmarshal(got.Content, into); err != nil {
		return fmt.Errorf("%s: the host answers %.100q: %w", named(l), got.Content, err)
	}
	return nil
}

// rows decodes a list, as ConvertTo-Json of 5.1 writes it.
func rows[T any](s remote.Seen, l remote.Look) (list []T, err error) {
	got := s.Of(l)
	if got.Err != nil || len(got.Content) == 0 {
		return nil, got.Err
	}
	var raw powershell.List
	if err := json.Unmarshal(got.Content, &raw); err != nil {
		return nil, fmt.Errorf("%s: the host answers %.100q: %w", named(l), got.Content, err)
	}
	for _, r := range raw {
		var row T
		if err := json.Unmarshal(r, &row); err != nil {
			return nil, fmt.Errorf("%s: the host answers %.100q: %w", named(l), r, err)
		}
		list = append(list, row)
	}
	return list, nil
}
