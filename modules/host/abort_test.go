package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/remote/remotetest"
)

// A plug is a host that can be pulled.
type plug struct {
	remote.Host
	pulled bool
}

func (p *plug) err() error {
	if !p.pulled {
		return nil
	}
	return &remote.UnreachableError{Name: "st1", Err: errors.New("the connection was lost")}
}

func (p *plug) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	if err := p.err(); err != nil {
		return remote.Output{}, err
	}
	return p.Host.Run(ctx, c)
}

func (p *plug) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) error {
	if err := p.err(); err != nil {
		return err
	}
	return p.Host.WriteFile(ctx, path, r, mode, behind...)
}

func (p *plug) Look(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	if err := p.err(); err != nil {
		return remote.Seen{}, err
	}
	return remote.Read(ctx, p.Host, looks)
}

// A server that is lost in the middle is put back when it answers again, and
// what is true of it is not known when it does not.
func TestAbortOfALostServer(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]bool{"comes back": true, "stays away": false} {
		t.Run(name, func(t *testing.T) {
			r := machine(t)
			r.Commands["test -e /x"] = remotetest.Reply{Code: 1}
			before := r.State()
			first := &plug{Host: r}
			d := replayed(r)
			refusals := 0
			d.dial = func(_ context.Context, fresh bool) (remote.Host, func() error, error) {
				none := func() error { return nil }
				if !fresh {
					return first, none, nil
				}
				if refusals++; refusals > 1 && back {
					return r, none, nil
				}
				return nil, nil, &remote.UnreachableError{Name: "st1", Err: errors.New("connection refused")}
			}
			if back {
				d.absence = time.Minute
			}
			steps := begun(t, d,
				wished(t, d, "file", `{"Path":"/etc/weft/x","Mode":416,"Content":"bmV3Cg=="}`),
				wished(t, d, "command", `{"Run":["never"],"Creates":"/x","Done":true}`))
			if err := d.Apply(t.Context(), steps[0]); err != nil {
				t.Fatal(err)
			}
			first.pulled = true
			var unreachable *remote.UnreachableError
			if err := d.Apply(t.Context(), steps[1]); !errors.As(err, &unreachable) {
				t.Fatal(err)
			}
			err := d.Abort(t.Context())
			switch {
			case back && (err != nil || r.State() != before):
				t.Errorf("%v: left as\n%s", err, r.State())
			case !back && (!errors.As(err, &unreachable) || hint.Of(err) == ""):
				t.Errorf("got %v (%s)", err, hint.Of(err))
			}
		})
	}
}
