//go:build linux

package guest

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/slice"
)

// Options are how guests are run.
type Options struct {
	Image   *Image
	Key     ssh.Signer    // logs in as anybody; nil: one is made
	Logs    string        // folder for consoles, which stay there; "": they go with the run
	Log     io.Writer     // told what happens, a line each; nil: nobody
	AtOnce  int           // how many guests boot at the same time; 0: two
	Timeout time.Duration // of one boot; 0: long enough for a busy machine

	// Passed is told of every frame that one guest gets from another, from any
	// thread; it must not wait. nil: nobody wants to know.
	Passed func(Passage)
}

const (
	commonAtOnce  = 2
	commonTimeout = 10 * time.Minute
	bootTries     = 2
)

// A Lab is a set of running guests, joined by planes.
type Lab struct {
	o      Options
	dir    *runDir
	accel  string
	say    func(format string, args ...any)
	planes map[string]*Hub
	guests []*Guest

	down sync.Once
	err  error // of going down
}

// Start boots the guests and returns when SSH works in all of them. A guest
// that does not boot is tried once more; then the error has the last lines of
// its console. ctx is for starting only: the guests run until Close, or until
// this process ends.
func Start(ctx context.Context, specs []Spec, o Options) (_ *Lab, err error) {
	l := &Lab{o: o, planes: map[string]*Hub{}}
	l.o.AtOnce = cmp.Or(l.o.AtOnce, commonAtOnce)
	l.o.Timeout = cmp.Or(l.o.Timeout, commonTimeout)
	var mu sync.Mutex
	p := &progress{w: o.Log, begun: time.Now()}
	l.say = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		p.say(format, args...)
	}
	if l.o.Key == nil {
		if l.o.Key, _, err = newSigner(); err != nil {
			return nil, err
		}
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	if l.dir, err = newRunDir(ctx, cache); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Close())
		}
	}()
	if o.Logs != "" {
		if err := os.MkdirAll(o.Logs, 0o700); err != nil {
			return nil, fmt.Errorf("folder for consoles: %w", err)
		}
	}
	l.accel = accelerator(ctx, o.Image)
	if err := l.prepare(specs); err != nil {
		return nil, err
	}
	return l, l.boot(ctx)
}

// prepare makes planes and guests of the specs; nothing runs yet.
func (l *Lab) prepare(specs []Spec) error {
	seen := map[string]bool{}
	for _, s := range specs {
		s, err := s.whole()
		if err != nil {
			return err
		}
		if seen[s.Name] {
			return fmt.Errorf("two guests are called %s", s.Name)
		}
		seen[s.Name] = true
		for _, n := range s.NICs {
			if l.planes[n.Plane] == nil {
				l.planes[n.Plane] = NewHub(n.Plane)
				l.planes[n.Plane].watch = l.o.Passed
			}
		}
		g, err := newGuest(l, s)
		if err != nil {
			return err
		}
		l.guests = append(l.guests, g)
	}
	return nil
}

// boot boots all guests, a few at a time.
func (l *Lab) boot(ctx context.Context) error {
	errs := make([]error, len(l.guests))
	slots := make(chan struct{}, l.o.AtOnce)
	var booting sync.WaitGroup
	for n, g := range l.guests {
		booting.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[n] = g.boot(ctx)
		})
	}
	booting.Wait()
	return errors.Join(errs...)
}

// Guest returns the guest of that name, or nil.
func (l *Lab) Guest(name string) *Guest {
	return slice.First(l.guests, func(g *Guest) bool { return g.spec.Name == name })
}

// Guests lists the guests in the order of their specs.
func (l *Lab) Guests() []*Guest { return l.guests }

// Plane returns the plane of that name, or nil.
func (l *Lab) Plane(name string) *Hub { return l.planes[name] }

// Accelerator is what runs the guests: "kvm", or "tcg", which emulates.
func (l *Lab) Accelerator() string { return l.accel }

// Close ends the guests without a chance to tidy up, and takes the run's files
// away.
func (l *Lab) Close() error {
	l.down.Do(func() {
		for _, g := range l.guests {
			g.Kill()
		}
		var errs []error
		for _, h := range l.planes {
			errs = append(errs, h.Close())
		}
		l.err = errors.Join(append(errs, l.dir.close())...)
	})
	return l.err
}

// newSigner makes an SSH key, for use and as a file.
func newSigner() (ssh.Signer, []byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "weft lab")
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	return signer, pem.EncodeToMemory(block), nil
}
