package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/remote"
)

// A box is a machine of fakehost, a host system of tests: it has no files, no shell
// and no interfaces, only what its verbs speak of.
type box struct {
	mu     sync.Mutex
	id     string
	notes  map[string]note
	wires  map[string]int
	vault  map[string]string // what is kept, by its place
	halves []string          // that a cut has left in the vault
	lease  leased
	fuses  map[string]fused // by owner
	living map[int]bool     // processes of weft
}

type leased struct {
	Text  string
	Until time.Time
}

type fused struct {
	at   time.Time
	back []remote.Step
}

func newBox() *box {
	return &box{
		id: "box-1", notes: map[string]note{"old": {Name: "old", Text: "before", Pass: []byte("sesame")}},
		wires: map[string]int{"left": 10, "right": 10},
		vault: map[string]string{}, fuses: map[string]fused{}, living: map[int]bool{},
	}
}

// settings are what someone would notice of the box, vault apart.
func (b *box) settings() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.burn()
	var lines []string
	for _, n := range b.notes {
		lines = append(lines, fmt.Sprintf("note %s %q %q", n.Name, n.Text, n.Pass))
	}
	for name, speed := range b.wires {
		lines = append(lines, fmt.Sprintf("wire %s %d", name, speed))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// all is everything that the box holds.
func (b *box) all() string {
	text := b.settings()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, place := range slices.Sorted(maps.Keys(b.vault)) {
		text += "\n" + place + " " + b.vault[place]
	}
	return text + fmt.Sprint("\n", b.halves, b.lease, slices.Sorted(maps.Keys(b.fuses)))
}

// burn has the time since do what it does: leases end, and fuses put back.
func (b *box) burn() {
	if b.lease.Text != "" && !time.Now().Before(b.lease.Until) {
		b.lease = leased{}
	}
	for owner, f := range b.fuses {
		if time.Now().Before(f.at) {
			continue
		}
		delete(b.fuses, owner)
		for _, s := range f.back {
			_, _ = b.obey(s.Args, s.Secret) // nobody is there to be told
		}
	}
}

// tell answers a look; false: it is none that fakehost knows.
func (b *box) tell(args []string) (s remote.Sight, ok bool) {
	say := func(what any) (remote.Sight, bool) {
		raw, err := json.Marshal(what)
		return remote.Sight{Content: raw, Err: err}, true
	}
	none := remote.Sight{Absent: true, Err: fs.ErrNotExist}
	switch strings.Join(args[:min(2, len(args))], " ") {
	case "tell self":
		return say(b.id)
	case "tell fuses":
		return say(slices.Sorted(maps.Keys(b.fuses)))
	case "tell vault":
		return say(shelf{b.vault, b.halves, b.lease})
	case "tell mark":
		if b.vault[markAt] == "" {
			return none, true
		}
		return remote.Sight{Content: []byte(b.vault[markAt])}, true
	case "tell note":
		if n, there := b.notes[args[2]]; there {
			return say(n)
		}
		return none, true
	case "tell wire":
		if speed, there := b.wires[args[2]]; there {
			return say(wire{args[2], speed})
		}
		return none, true
	}
	return s, false
}

// obey carries out a verb that changes the box.
func (b *box) obey(args []string, in []byte) ([]byte, error) {
	verb := strings.Join(args[:min(2, len(args))], " ")
	switch {
	case verb == "note text" && len(args) == 4:
		n := b.notes[args[2]]
		n.Name, n.Text = args[2], args[3]
		b.notes[args[2]] = n
	case verb == "note pass" && len(args) == 3 && b.notes[args[2]].Name != "":
		n := b.notes[args[2]]
		n.Pass = slices.Clone(in)
		b.notes[args[2]] = n
	case verb == "note drop" && len(args) == 3:
		delete(b.notes, args[2])
	case verb == "wire turn" && len(args) == 4 && b.wires[args[2]] != 0:
		var speed int
		if _, err := fmt.Sscanf(args[3], "%d", &speed); err != nil || speed < 1 || speed > 100 {
			return nil, &remote.ExitError{Args: args, Code: 2, Output: remote.Output{Stderr: []byte("no such speed")}}
		}
		b.wires[args[2]] = speed
	case verb == "vault ask" && len(args) == 3:
		return b.asked(args[2], in)
	default:
		return nil, fmt.Errorf("fakehost does not know %q", args)
	}
	return nil, nil
}

// How a weft is cut off from the box at one of its changes.
type cutting string

const (
	killedBefore cutting = "killed before" // the process is gone
	killedAfter  cutting = "killed after"
	lostBefore   cutting = "lost before" // the connection is gone, and weft may dial again
	lostAfter    cutting = "lost after"
	cancelled    cutting = "cancelled" // weft is told to stop
)

// A process is one weft that speaks to the box.
type process struct {
	*box
	pid     int
	cut     int // which change; -1: none
	how     cutting
	cancel  context.CancelFunc
	changes []string // so far
	dead    bool
}

func (b *box) process(cut int, how cutting) *process {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := &process{box: b, pid: len(b.living) + 1, cut: cut, how: how, cancel: func() {}}
	b.living[p.pid] = true
	return p
}

// end is the end of the process.
func (p *process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.living[p.pid] = false
}

func (p *process) dial(context.Context, bool) (remote.Host, func() error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return nil, nil, errKilled
	}
	return &line{process: p}, func() error { return nil }, nil
}

var errKilled = errors.New("this weft is dead")

// A line is a connection to the box: a remote.Host of which nothing but the verbs of
// fakehost works, and its host.Transport.
type line struct {
	*process
	lost bool
}

func (l *line) Name() string { return "box" }

func (l *line) up(ctx context.Context) error {
	switch {
	case l.dead:
		return errKilled
	case l.lost:
		return &remote.UnreachableError{Name: "box", Err: errors.New("the connection was lost")}
	}
	l.burn()
	return ctx.Err()
}

// Read implements host.Transport.
func (l *line) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.up(ctx); err != nil {
		return remote.Seen{}, err
	}
	var answers []remote.Answer
	for _, look := range looks {
		s, ok := l.tell(look.Args)
		if !ok {
			return remote.Seen{}, fmt.Errorf("fakehost does not know the look %s", look)
		}
		answers = append(answers, remote.Answer{Look: look, Sight: s})
	}
	return remote.NewSeen(answers...), nil
}

// Do implements host.Transport.
func (l *line) Do(ctx context.Context, s remote.Step) error {
	if s.Put != nil || s.Del != "" || len(s.Args) == 0 {
		return fmt.Errorf("fakehost does not know the step %s", s)
	}
	_, err := l.change(ctx, s.Args, s.Secret)
	return err
}

// Run implements remote.Host.
func (l *line) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	var in []byte
	if c.Stdin != nil {
		in, _ = io.ReadAll(c.Stdin)
	}
	out, err := l.change(ctx, c.Args, in)
	return remote.Output{Stdout: out}, err
}

// change carries out a verb.
func (l *line) change(ctx context.Context, args []string, in []byte) (out []byte, err error) {
	err = l.reaching(ctx, strings.Join(args, " "), func() (err error) {
		out, err = l.obey(args, in)
		return err
	})
	return out, err
}

// guard does something to the fuses.
func (l *line) guard(ctx context.Context, what string, do func()) error {
	return l.reaching(ctx, "fuse "+what, func() error { do(); return nil })
}

// reaching does something to the box, or is cut off there.
func (l *line) reaching(ctx context.Context, what string, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.up(ctx); err != nil {
		return err
	}
	here := len(l.changes) == l.cut
	l.changes = append(l.changes, what)
	if !here {
		return do()
	}
	if l.how == cancelled {
		l.cancel()
		return do()
	}
	if l.how == killedAfter || l.how == lostAfter {
		_ = do() // the answer is lost
	} else if what == "vault ask put" {
		l.halves = append(l.halves, fmt.Sprintf("vault:half-%d", len(l.halves)))
	}
	l.lost = true
	if l.how == killedBefore || l.how == killedAfter {
		l.dead = true
		l.cancel()
	}
	return l.up(ctx)
}

func (l *line) ReadFile(context.Context, string) ([]byte, error) {
	return nil, errors.New("fakehost has no files")
}

func (l *line) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("fakehost has no files")
}
