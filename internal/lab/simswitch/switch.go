// Package simswitch simulates data-centre switches behind SSH, from the first
// prompt to the timed revert of a change.
//
// A [Switch] speaks the CLI of Cisco NX-OS (Nexus 9000, 10.x) or H3C Comware 7
// (S6800). It parses what is typed by a table of rules of its own, stores it
// and prints it back. It shares no code and no grammar with whatever drives
// it: it is there to disagree. [Grammar] shows what it accepts and why; what
// was never seen on a device is marked SYNTHETIC there.
package simswitch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/lab/sshd"
)

// A Spec describes a switch to simulate.
type Spec struct {
	OS       string // of Systems
	Hostname string
	Model    string // empty: C93180YC-FX or S6800-54QF
	Serial   string
	Version  string   // empty: 10.3(4a) or "7.1.070, Release 2612P06"
	Ports    []string // in full: Ethernet1/1, HundredGigE1/0/1
	Speed    string   // of the ports, such as "100G", which an empty one means

	Neighbours []Neighbour                // a port with a neighbour is up, others are down
	Quiet      []string                   // ports with a cable whose other end speaks no LLDP
	Stations   func(port string) []string // MAC addresses of those that speak no LLDP; nil: there are none
	Tagged     map[string]int             // the VLAN that a port carries with its tag; other ports carry one without
	Config     string                     // foreign lines, added to the usual ones
	Motd       string                     // shown after each login, before the first prompt; may be empty
	Frame      int                        // bytes of the longest frame of a Comware port without a line about it; 0: as the device of the transcript
	NoStats    bool                       // NX-OS prints "no-stats" after a port's qos policy unasked, as some do
	Clock      Clock                      // nil: the real one
}

// A Neighbour is what LLDP hears on a port.
type Neighbour struct {
	Port       string // of the switch
	SystemName string // of the neighbour; may be empty
	PortID     string // of the neighbour, such as its MAC address
	ChassisID  string // of the neighbour; empty: PortID
	Management string // address that the neighbour announces; empty: none
	Bridge     bool   // it is a switch
}

// A Switch is one simulated switch: an [sshd.Machine] with one running
// configuration and any number of sessions.
type Switch struct {
	spec    Spec
	system  *system
	dialect *dialect
	clock   *passingClock
	booted  time.Time
	timers  sync.WaitGroup // that may still fire

	mu      sync.Mutex // guards what follows; held while a command runs
	running *node
	startup *node
	changed time.Time // of the running configuration; zero: never
	saved   time.Time
	flash   map[string]string // files by name; directories end in "/"
	commits []commit
	pending *pending           // a change that reverts by itself
	counted map[string]*counts // by port
	refuse  *regexp.Regexp
	deny    *regexp.Regexp
	role    *regexp.Regexp // lines that the user's role permits; nil: all
	lack    *regexp.Regexp
	broken  *regexp.Regexp
	full    bool // the file system has no room
	drop    int  // lines until the connection is cut; 0: never
	slow    time.Duration
	silent  map[string]bool // ports on which LLDP hears nobody
	also    []Neighbour     // heard beside those that are cabled
	ails    map[string]bool // see Ail

	hostile     *regexp.Regexp // lines that are answered so
	hostileText string
}

var _ sshd.Machine = (*Switch)(nil)

// New builds a switch with a plausible configuration that is its own startup
// configuration. It panics on an OS that is not simulated.
func New(spec Spec) *Switch {
	sys := systemOf(spec.OS)
	if sys == nil {
		panic(fmt.Sprintf("simulated switch %s: unknown OS %q", spec.Hostname, spec.OS))
	}
	spec = sys.defaults(spec)
	if spec.Clock == nil {
		spec.Clock = realClock{}
	}
	spec.Speed = cmp.Or(spec.Speed, "100G")
	sw := &Switch{
		spec: spec, system: sys, dialect: sys.dialect(), clock: newPassingClock(spec.Clock),
		booted: spec.Clock.Now().Add(-uptime), flash: make(map[string]string),
	}
	sw.running = sw.load(sys.initial(spec))
	sw.startup = sw.running
	sw.saved = sw.booted
	return sw
}

// uptime is how long a new switch claims to have been up.
const uptime = 23*24*time.Hour + 4*time.Hour + 11*time.Minute

// A system is how one OS behaves.
type system struct {
	name     string            // as in the files
	kinds    map[string]string // of ports as it prints them, by what people write, in small letters
	mtu      int               // that a port takes when nothing is configured, as the simulated boxes are printed
	mtuLine  string            // what configures it begins with this
	top      string            // view of the first level of a configuration
	more     string            // what stands at the end of a full screen
	screen   int               // most rows of a page; 0: as many as the terminal has
	enter    string            // what is echoed for the Enter key
	number   string            // what help writes before a range of numbers
	denied   string            // what is said to a user who may not type a line
	defaults func(Spec) Spec
	initial  func(Spec) string // configuration of a new switch
	dialect  func() *dialect
	refusals func() []Rule
	print    func(root *node) []string
	check    func(sw *Switch, old, next *node, e edit) error // judges a configuration
	prompt   func(*session) string
	greeting func(*Switch) string
	scopes   func(*session) []scope // whose rules apply, innermost first
	complain func(s *session, f *fault, line string)
	refused  func(s *session, err error)
	leave    func(*session) // Ctrl-Z
	ailments []string       // that it shows, see Ail

	classify func(root *node, port string, dscp int) class
	lossless func(root *node, port string, c class) bool // PFC is on and pauses it
}

// Spec is what the switch was made from, with the defaults filled in.
func (sw *Switch) Spec() Spec { return sw.spec }

// hostname is what the switch calls itself now.
func (sw *Switch) hostname() string {
	for _, key := range []string{"hostname", "sysname"} {
		if k := sw.running.kid(key); k != nil {
			return strings.TrimPrefix(k.line, key+" ")
		}
	}
	return sw.spec.Hostname
}

// RunningConfig is the running configuration as the switch prints it, without
// headers.
func (sw *Switch) RunningConfig() string {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	return strings.Join(sw.system.print(sw.running), "\n") + "\n"
}

// StartupConfig is what the switch would boot with.
func (sw *Switch) StartupConfig() string {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	return strings.Join(sw.system.print(sw.startup), "\n") + "\n"
}

// Stands is all that the switch holds: what runs, what a start would read, its files, and
// whether something reverts by itself.
func (sw *Switch) Stands() string {
	_, armed := sw.Armed()
	running, startup := sw.RunningConfig(), sw.StartupConfig()
	sw.mu.Lock()
	defer sw.mu.Unlock()
	return fmt.Sprintf("running\n%s\nstartup\n%s\nfiles %q\nreverts %t\n", running, startup, sw.flash, armed)
}

// Armed is the time left until the switch reverts a change by itself; false:
// nothing is armed.
func (sw *Switch) Armed() (time.Duration, bool) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.pending == nil {
		return 0, false
	}
	return sw.pending.due.Sub(sw.clock.Now()), true
}

// Edit changes the running configuration by hand, as an operator at the console
// would: lines as typed in configuration mode, at once and without a timer.
// The first refused line ends it.
func (sw *Switch) Edit(lines ...string) error {
	s := newSession(sw, "console", nil)
	s.enterTop()
	for _, line := range lines {
		if reply := s.do(line); !s.ok {
			return fmt.Errorf("%s refused %q: %s", sw.spec.Hostname, line, strings.TrimSpace(reply))
		}
	}
	return nil
}

// Refuse makes the switch refuse configuration lines that match; nil ends it.
// Lines are in full, negative forms with their first word.
func (sw *Switch) Refuse(lines *regexp.Regexp) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.refuse = lines
}

// DropAfter makes the switch answer n more lines and cut the connection that
// types the next one, once; 0 ends it.
func (sw *Switch) DropAfter(n int) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.drop = 0
	if n > 0 {
		sw.drop = n + 1
	}
}

// Slow makes every line take this much longer, in real time.
func (sw *Switch) Slow(d time.Duration) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	sw.slow = d
}

// Pass lets time pass for the switch: its clock jumps ahead, and timers that
// are due by then run before Pass returns.
func (sw *Switch) Pass(d time.Duration) { sw.clock.pass(d) }

// Close stops what is still timed and waits for what is just firing. The
// configuration stays as it is. Sessions end with their server, not here.
func (sw *Switch) Close() {
	sw.mu.Lock()
	sw.disarm()
	sw.mu.Unlock()
	sw.timers.Wait()
}

// fate says what befalls the next line.
func (sw *Switch) fate() (drop bool, wait time.Duration) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.drop > 0 {
		sw.drop--
		drop = sw.drop == 0
	}
	return drop, sw.slow
}

// Exec refuses single commands: these switches are spoken to in a terminal.
func (sw *Switch) Exec(_ context.Context, _, _ string, _ io.Reader, _, stderr io.Writer) int {
	_, _ = fmt.Fprintln(stderr, "simulated switch: open an interactive session; single commands are not simulated")
	return 1
}

// Shell serves the CLI.
func (sw *Switch) Shell(ctx context.Context, user string, rw io.ReadWriter) int {
	t := newTerminal(ctx, rw)
	s := newSession(sw, user, t)
	defer s.close()
	if err := s.serve(ctx); err != nil && !errors.Is(err, io.EOF) {
		return 1
	}
	return 0
}

// neighbour finds the neighbour on a port.
func (sw *Switch) neighbour(port string) (Neighbour, bool) {
	i := slices.IndexFunc(sw.spec.Neighbours, func(n Neighbour) bool { return n.Port == port })
	if i < 0 {
		return Neighbour{}, false
	}
	n := sw.spec.Neighbours[i]
	n.ChassisID = cmp.Or(n.ChassisID, n.PortID)
	return n, true
}

// linked reports whether a port has a link, whoever is at the other end.
func (sw *Switch) linked(port string) bool {
	_, heard := sw.neighbour(port)
	return heard || slices.Contains(sw.spec.Quiet, port)
}

// set makes next the running configuration.
func (sw *Switch) set(next *node) {
	if next != sw.running {
		sw.running = next
		sw.changed = sw.clock.Now()
	}
}
