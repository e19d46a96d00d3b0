//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/pattern"
)

// A Guest is one machine.
type Guest struct {
	lab     *Lab
	spec    Spec
	hostKey ssh.Signer
	initrd  string   // file
	disk    string   // file: a copy of the image's
	drives  []string // files
	console string   // file

	following sync.WaitGroup // follow

	mu     sync.Mutex
	proc   *process // the last QEMU; nil: none was started
	ended  bool     // for good: QEMU is not started again
	ports  []*Port  // of its cards, in order
	port   int      // of SSH on 127.0.0.1
	client *ssh.Client
}

// newGuest writes the files a guest boots from.
func newGuest(l *Lab, s Spec) (*Guest, error) {
	signer, private, err := newSigner()
	if err != nil {
		return nil, err
	}
	g := &Guest{lab: l, spec: s, hostKey: signer, initrd: l.dir.file(s.Name, "initrd"), disk: l.dir.file(s.Name, "disk"), console: l.dir.file(s.Name, "console")}
	if l.o.Logs != "" {
		g.console = filepath.Join(l.o.Logs, s.Name+".console")
	}
	base, err := os.ReadFile(l.o.Image.Initrd)
	if err != nil {
		return nil, fmt.Errorf("guest %s: %w", s.Name, err)
	}
	text := append(base, seed(s.seedFiles(private, ssh.MarshalAuthorizedKey(l.o.Key.PublicKey())))...)
	if err := os.WriteFile(g.initrd, text, 0o600); err != nil {
		return nil, fmt.Errorf("guest %s: %w", s.Name, err)
	}
	for n, d := range s.Drives {
		file := l.dir.file(s.Name, "drive"+strconv.Itoa(n))
		if err := sparse(file, d.Size&^511); err != nil {
			return nil, fmt.Errorf("guest %s: drive %s: %w", s.Name, d.ID, err)
		}
		g.drives = append(g.drives, file)
	}
	return g, nil
}

// boot starts QEMU on a clean disk and waits for SSH, twice if need be.
func (g *Guest) boot(ctx context.Context) error {
	begun := time.Now()
	var errs []error
	for range bootTries {
		err := g.tryBoot(ctx)
		if err == nil {
			g.lab.say("%s is up after %.0f s (%s)", g.spec.Name, time.Since(begun).Seconds(), g.lab.accel)
			g.following.Go(g.follow)
			return nil
		}
		errs = append(errs, fmt.Errorf("guest %s does not boot: %w\n%s", g.spec.Name, err, g.ConsoleTail(20)))
		g.Kill()
		if ctx.Err() != nil {
			break
		}
		g.lab.say("%s does not boot: %v", g.spec.Name, err)
	}
	return errors.Join(errs...)
}

func (g *Guest) tryBoot(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, g.lab.o.Timeout)
	defer cancel()
	if err := copySparse(g.lab.o.Image.Disk, g.disk); err != nil {
		return fmt.Errorf("a disk: %w", err)
	}
	g.mu.Lock()
	g.ended = false
	g.mu.Unlock()
	if err := g.launch(); err != nil {
		return err
	}
	return g.started(ctx, "")
}

// launch starts QEMU and learns where SSH is.
func (g *Guest) launch() error {
	var ours []net.Conn
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			_ = f.Close() // QEMU has its own
		}
	}()
	for range g.spec.NICs {
		near, far, err := pair()
		if err != nil {
			return fmt.Errorf("a socket for a plane: %w", err)
		}
		ours, theirs = append(ours, near), append(theirs, far)
	}
	args, err := g.spec.arguments(g.lab.o.Image, g.lab.accel, g.files(), g.port, cycleRate())
	if err != nil {
		return err
	}
	var ports []*Port
	for i, n := range g.spec.NICs {
		p, err := g.lab.planes[n.Plane].Plug(Card{g.spec.Name, n.PCI, n.MAC}, ours[i])
		if err != nil {
			return err
		}
		if i < len(g.ports) {
			p.follows(g.ports[i])
		}
		ports = append(ports, p)
	}
	proc, err := startProcess(args, theirs, g.lab.dir, g.spec.Name)
	if err != nil {
		for _, c := range ours {
			_ = c.Close() // unplugs
		}
		return err
	}
	g.mu.Lock()
	g.proc, g.ports = proc, ports
	ended := g.ended
	g.mu.Unlock()
	if ended { // meanwhile
		proc.kill()
		return nil
	}
	usernet, err := proc.monitor.human("info usernet")
	if err != nil {
		return errors.Join(err, proc.complaint())
	}
	port, err := sshPort(usernet)
	g.mu.Lock()
	g.port = port
	g.mu.Unlock()
	return err
}

// follow starts QEMU again, on the same disk, whenever it ends without being
// told to: guests that restart end theirs. One that goes on would be no good: it
// keeps what it has translated of the former kernel, and writing the next one
// over that takes it many times as long as a boot.
func (g *Guest) follow() {
	for {
		g.mu.Lock()
		proc := g.proc
		g.mu.Unlock()
		<-proc.done
		g.mu.Lock()
		ended := g.ended
		g.mu.Unlock()
		if ended {
			return
		}
		if err := g.launch(); err != nil {
			g.lab.say("%s is not started again: %v", g.spec.Name, err)
			return
		}
	}
}

// files are those that a guest's QEMU opens.
func (g *Guest) files() files {
	return files{initrd: g.initrd, console: g.console, disk: g.disk, drives: g.drives}
}

// Name is the guest's host name.
func (g *Guest) Name() string { return g.spec.Name }

// Spec is what the guest is, with all that the lab chose.
func (g *Guest) Spec() Spec { return g.spec }

// Address is where the guest answers SSH.
func (g *Guest) Address() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(g.port))
}

// HostKey is the key by which the guest is known.
func (g *Guest) HostKey() ssh.PublicKey { return g.hostKey.PublicKey() }

// Port is where the n-th card is plugged in.
func (g *Guest) Port(n int) *Port {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ports[n]
}

// Cut swallows every frame that the guest sends to a plane or gets from it, or
// lets them pass again.
func (g *Guest) Cut(plane string, on bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var planes []string
	found := false
	for n, nic := range g.spec.NICs {
		if planes = append(planes, nic.Plane); nic.Plane == plane {
			g.ports[n].Cut(on)
			found = true
		}
	}
	if !found {
		return fmt.Errorf("%s has no plane %q, but %q", g.spec.Name, plane, planes)
	}
	return nil
}

// Traffic is what the guest's cards have seen, in their order.
func (g *Guest) Traffic() (seen []Traffic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for n, nic := range g.spec.NICs {
		seen = append(seen, Traffic{nic.Plane, g.ports[n].Counts()})
	}
	return seen
}

// Running says whether the guest's QEMU runs.
func (g *Guest) Running() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.proc != nil && !g.proc.ended()
}

// Carrier pulls the cable of the n-th card, or plugs it in again: other than a
// cut, the guest sees it.
func (g *Guest) Carrier(n int, up bool) error {
	g.mu.Lock()
	proc := g.proc
	g.mu.Unlock()
	_, err := proc.monitor.do("set_link", map[string]any{"name": "nic" + strconv.Itoa(n), "up": up})
	return err
}

// Kill ends the guest's QEMU for good and waits for it.
func (g *Guest) Kill() {
	g.forgetClient()
	g.mu.Lock()
	g.ended = true
	proc := g.proc
	g.mu.Unlock()
	if proc != nil {
		proc.kill()
	}
	g.following.Wait()
}

// Restart ends the guest's QEMU and boots it from a clean disk.
func (g *Guest) Restart(ctx context.Context) error {
	g.Kill()
	return g.boot(ctx)
}

// unwanted are sequences that control a terminal, and other bytes that would
// garble a report.
var unwanted = pattern.New("\x1b\\[[0-9;?]*[A-Za-z]|\x1b.|[^\\t\\n -~]")

// waiting is a line by which systemd says, again and again, that it waits.
var waiting = pattern.New(`^\s*\[[* ]{6}\]`)

// ConsoleTail is the last lines that the guest wrote to its console.
func (g *Guest) ConsoleTail(n int) string {
	text, err := os.ReadFile(g.console)
	if err != nil {
		return fmt.Sprintf("(no console: %v)", err)
	}
	return LastLines(text, n)
}

// LastLines is the end of what a console has shown, fit for a report.
func LastLines(console []byte, n int) string {
	lines := strings.FieldsFunc(unwanted.ReplaceAllString(string(console), ""), func(r rune) bool { return r == '\n' })
	lines = slices.DeleteFunc(lines, waiting.MatchString)
	if lines == nil {
		return "  | (the console is empty)"
	}
	return "  | " + strings.Join(lines[max(0, len(lines)-n):], "\n  | ")
}
