// Package remotetest stands in for machines in tests, and tests what claims
// to be a remote.Host.
package remotetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"weft/internal/remote"
	"weft/internal/slice"
)

// A Replay is a Host that knows the files and commands it was told about.
// A command it does not know fails the test. It answers remote.Read without
// a shell.
type Replay struct {
	// Files are contents by path. A path that is not here does not exist.
	Files map[string]string

	// Modes are permissions by path; 0644 where a path is not here.
	Modes map[string]fs.FileMode

	// Netdevs are interface names by PCI address.
	Netdevs map[string]string

	// Commands are replies by command line, as remote.Quote writes it.
	Commands map[string]Reply

	t    testing.TB
	name string

	mu  sync.Mutex // also guards the maps
	did []string
}

// A Reply is how a command answers.
type Reply struct {
	Stdout, Stderr string
	Code           int

	// Effect, if any, changes the machine. It runs before the reply and may
	// write to the maps of the Replay.
	Effect func(r *Replay, stdin string)
}

// NewReplay returns a machine without files or commands.
func NewReplay(t testing.TB, name string) *Replay {
	return &Replay{
		Files: map[string]string{}, Modes: map[string]fs.FileMode{},
		Netdevs: map[string]string{}, Commands: map[string]Reply{},
		t: t, name: name,
	}
}

// Name implements remote.Host.
func (r *Replay) Name() string { return r.name }

// Did lists what was run, put and removed, in order, as remote.Step.String
// shows it. Looks are not in it.
func (r *Replay) Did() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.did)
}

// State lists the machine's files with their contents, sorted: two equal
// states of a machine are equal text.
func (r *Replay) State() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(&b, "%s %04o %q\n", path, r.mode(path), r.Files[path])
	}
	return b.String()
}

// Run implements remote.Host. "rm -f -- PATH…" is known without being told.
func (r *Replay) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	if err := ctx.Err(); err != nil {
		return remote.Output{}, err
	}
	stdin := ""
	if c.Stdin != nil {
		b, err := io.ReadAll(c.Stdin)
		if err != nil {
			return remote.Output{}, err
		}
		stdin = string(b)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(c.Args) > 3 && slices.Equal(c.Args[:3], []string{"rm", "-f", "--"}) {
		for _, path := range c.Args[3:] {
			delete(r.Files, path)
			delete(r.Modes, path)
			r.did = append(r.did, remote.Step{Del: path}.String())
		}
		return remote.Output{}, nil
	}
	r.did = append(r.did, remote.Step{Args: c.Args}.String())
	return r.reply(c.Args, stdin, c.Quiet)
}

// reply answers a command; r.mu is held.
func (r *Replay) reply(args []string, stdin string, quiet bool) (remote.Output, error) {
	line := remote.Quote(args...)
	reply, ok := r.Commands[line]
	if !ok {
		r.t.Errorf("%s: unforeseen command: %s", r.name, line)
		return remote.Output{}, fmt.Errorf("unforeseen command: %s", line)
	}
	if reply.Effect != nil {
		reply.Effect(r, stdin)
	}
	out := remote.Output{Stdout: []byte(reply.Stdout), Stderr: []byte(reply.Stderr)}
	if reply.Code == 0 {
		return out, nil
	}
	if quiet {
		return out, &remote.ExitError{Code: reply.Code}
	}
	return out, &remote.ExitError{Args: args, Code: reply.Code, Output: out}
}

// ReadFile implements remote.Host.
func (r *Replay) ReadFile(ctx context.Context, path string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	content, ok := r.Files[path]
	if !ok {
		return nil, notThere(path)
	}
	return []byte(content), nil
}

// WriteFile implements remote.Host.
func (r *Replay) WriteFile(ctx context.Context, path string, content io.Reader, mode fs.FileMode, behind ...string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did = append(r.did, remote.Step{Put: &remote.File{Path: path, Mode: mode, Content: b}}.String())
	r.Files[path], r.Modes[path] = string(b), mode.Perm()
	return nil
}

// Look implements remote.Looker.
func (r *Replay) Look(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	if err := ctx.Err(); err != nil {
		return remote.Seen{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := slice.Map(looks, func(l remote.Look) remote.Answer { return remote.Answer{Look: l, Sight: r.sight(l)} })
	return remote.NewSeen(answers...), nil
}

// sight is what one look sees; r.mu is held.
func (r *Replay) sight(l remote.Look) remote.Sight {
	netdev := r.Netdevs[l.PCI]
	if l.PCI != "" && netdev == "" {
		return remote.Sight{Absent: true, Err: fmt.Errorf("PCI device %s has no network interface here: %w", l.PCI, fs.ErrNotExist)}
	}
	fill := func(s string) string {
		if l.PCI == "" {
			return s
		}
		return strings.ReplaceAll(s, "{if}", netdev)
	}
	s := remote.Sight{Interface: netdev}
	switch {
	case l.File != "":
		path := fill(l.File)
		content, ok := r.Files[path]
		switch {
		case !ok:
			s.Absent, s.Err = true, notThere(path)
		case l.Sum:
			sum := sha256.Sum256([]byte(content))
			s.Sum, s.Mode, s.Size = hex.EncodeToString(sum[:]), r.mode(path), int64(len(content))
		default:
			s.Content = []byte(content)
			if l.Stat {
				s.Mode, s.Size = r.mode(path), int64(len(content))
			}
		}
	case len(l.Args) > 0:
		args := slice.Map(l.Args, fill)
		var out remote.Output
		out, s.Err = r.reply(args, "", false)
		s.Content, s.Stderr, s.Code = out.Stdout, out.Stderr, r.Commands[remote.Quote(args...)].Code
	default:
		s.Content = []byte(netdev)
	}
	return s
}

func (r *Replay) mode(path string) fs.FileMode {
	if m, ok := r.Modes[path]; ok {
		return m
	}
	return 0o644
}

func notThere(path string) error {
	return &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
}
