package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/remote"
)

// lossy is a host of which the connection is lost just after a command ran, so
// that nobody hears of it.
type lossy struct {
	remote.Host
	after string // what the command says
	ran   []string
}

func (l *lossy) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	text := strings.Join(c.Args, " ")
	l.ran = append(l.ran, text)
	if l.after != "" && strings.Contains(text, l.after) {
		return remote.Output{}, &remote.UnreachableError{Name: "st1", Err: errors.New("the connection was lost")}
	}
	return remote.Output{Stdout: []byte("taken 0\n")}, nil
}

// A lease that was taken when the connection was lost is given back over
// another one.
func TestLeaseIsLetGo(t *testing.T) {
	first, second := &lossy{Host: machine(t), after: `mv -fT`}, &lossy{Host: machine(t)}
	d := &Machine{os: linux(), name: "server.st1", owner: "o", host: linux().Open(first), close: func() error { return nil }}
	d.dial = func(_ context.Context, fresh bool) (remote.Host, func() error, error) {
		if !fresh {
			t.Error("the lost connection is asked for again")
		}
		return second, func() error { return nil }, nil
	}
	if err := d.Begin(t.Context(), nil); !errors.As(err, new(*remote.UnreachableError)) {
		t.Fatal(err)
	}
	if err := d.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(second.ran) != 1 || !strings.Contains(second.ran[0], "away \"$1\"") {
		t.Errorf("over the second connection: %q; want the release of the lease", second.ran)
	}
	if err := d.Abort(t.Context()); err != nil || len(second.ran) != 1 {
		t.Errorf("%v: what is given back is given back again: %q", err, second.ran)
	}
}
