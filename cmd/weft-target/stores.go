package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
)

// A source is what the configuration says of a backend: two namespaces with
// the same one have the same blocks.
type source struct {
	kind  string
	path  string // or the UUID where there is none
	other string // of a mirror, the second path
	size  int64
	block int
}

func sourceOf(n agent.Namespace) source {
	s := source{kind: n.Backend, path: n.Path, size: n.Size, block: n.BlockSize}
	switch n.Backend {
	case "memory", "null":
		s.path = n.UUID
	case "mirror":
		s.path, s.other = n.Mirror[0], n.Mirror[1]
	}
	return s
}

// stores are the backends that are open.
type stores map[source]backend.Backend

// An opener opens backends.
type opener struct {
	places agent.Places
	owner  string
	log    *slog.Logger
}

// open returns the backends of a configuration: those that are open already,
// and fresh ones. With an error nothing was opened.
func (have stores) open(conf *agent.Target, places agent.Places, log *slog.Logger) (all, fresh stores, err error) {
	all, fresh = stores{}, stores{}
	o := opener{places, conf.Owner, log}
	for _, s := range conf.Subsystems {
		for _, n := range s.Namespaces {
			if err := have.get(n, o, all, fresh); err != nil {
				err = fmt.Errorf("subsystem %q namespace %d: %w", s.NQN, n.ID, err)
				return nil, nil, errors.Join(err, fresh.close())
			}
		}
	}
	return all, fresh, nil
}

func (have stores) get(n agent.Namespace, o opener, all, fresh stores) error {
	want := sourceOf(n)
	b := have[want]
	if b != nil && n.Backend == "device" {
		if err := o.grow(b); err != nil {
			return err
		}
	}
	if b == nil {
		if err := have.changed(want); err != nil {
			return err
		}
		var err error
		if b, err = o.open(n); err != nil {
			return err
		}
		fresh[want] = b
	}
	all[want] = b
	return nil
}

// changed refuses to open blocks a second time that are served in another
// shape: hosts would see them change under their feet.
func (have stores) changed(want source) error {
	for s := range have {
		if s.path == want.path || s.other != "" && s.other == want.path || want.other != "" && (want.other == s.path || want.other == s.other) {
			return fmt.Errorf("%s is served as %s of %d bytes in blocks of %d; another shape needs a restart", want.path, s.kind, s.size, s.block)
		}
	}
	return nil
}

func (have stores) close() error {
	var errs []error
	for _, b := range have {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// grow has a device that is served whole take over what has come to it.
func (o opener) grow(b backend.Backend) error {
	g, ok := b.(backend.Grower)
	if !ok {
		return nil
	}
	was := b.Info().Size
	if err := g.Grow(); err != nil {
		return err
	}
	if now := b.Info().Size; now != was {
		o.log.Info("a device has grown", "bytes", now, "were", was)
	}
	return nil
}

// open opens the blocks of a namespace.
func (o opener) open(n agent.Namespace) (backend.Backend, error) {
	switch n.Backend {
	case "memory":
		return backend.NewMemory(n.Size, n.BlockSize)
	case "null":
		return backend.NewNull(n.Size, n.BlockSize)
	case "mirror":
		return o.mirror(n)
	}
	return o.blocks(n.Path, n)
}

// blocks opens a file or a device. In a folder that stands for "/" there are no
// devices: a file is in the place of one.
func (o opener) blocks(path string, n agent.Namespace) (backend.Backend, error) {
	if !agent.IsDevice(path) {
		return backend.OpenFile(o.places.Path(path), n.Size, n.BlockSize)
	}
	if o.places.Root == "" {
		return backend.OpenDevice(path, n.Size, n.BlockSize)
	}
	if _, err := os.Stat(o.places.Path(path)); err != nil {
		return nil, fmt.Errorf("device backend, which a file stands for below --root: %w", err)
	}
	return backend.OpenFile(o.places.Path(path), n.Size, n.BlockSize)
}

// mirror opens both halves. What is known of them is kept under a name that
// comes from their paths: it is about these halves, whoever serves them.
func (o opener) mirror(n agent.Namespace) (backend.Backend, error) {
	name := agent.Sum([]byte(n.Mirror[0] + "\n" + n.Mirror[1]))[:16]
	m := backend.MirrorOptions{
		State: o.places.Path(fmt.Sprintf(agent.MirrorState, o.owner, name)),
		Log:   func(text string) { o.log.Warn(text) },
	}
	for i, p := range n.Mirror {
		m.Legs[i] = backend.Leg{Name: p, Open: func() (backend.Backend, error) { return o.blocks(p, n) }}
	}
	return backend.OpenMirror(m)
}
