package switches

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/pattern"
	"weft/internal/slice"
)

// A switch remembers for weft in the names of empty directories: a name is
// made at once or not at all, no command has to be trusted with its content,
// and one listing shows them all. Times are those of the switch's own clock.
//
//	weft-lease                              an operator changes the switch
//	weft-held.UNTIL.OWNER.WHO               who, and until when
//	weft-armed.DUE.BEFORE.OWNER.WHO         a timed revert runs until DUE and leads to BEFORE
//	weft-run.BEGAN.OWNER.WHO                a run is on its way that changes the switch
//	weft-wrote.OWNER.PORT.LENGTH            the owner wrote the frame length of a port without its name
//	weft-OWNER-base.cfg                     the configuration before the first line ever
//	weft-OWNER-left.cfg                     the configuration as it was proven last
const (
	markLease = "weft-lease"
	markHeld  = "weft-held."
	markArmed = "weft-armed."
)

func baseFile(owner string) string { return "weft-" + owner + "-base.cfg" }
func leftFile(owner string) string { return "weft-" + owner + "-left.cfg" }

// Marks are what weft has left on the file system of a switch.
type Marks struct {
	Now   time.Time // by the clock of the switch; zero where nothing needs it
	Hold  *Hold     // who changes the switch now
	Armed []Armed   // timed reverts, also those whose time has passed
	Runs  []RunMark // that the switch belongs to; more than one only while one takes over from another
	files []string  // what the listing shows
	holds []string  // names of directories that say who holds
}

// A Hold is the lease of one who changes the switch. It is advisory.
type Hold struct {
	Owner string    // "" where that is not known
	Who   string    // as its Guard said
	Until time.Time // by the clock of the switch
}

// Armed is a timed revert that a transaction has started.
type Armed struct {
	Owner string
	Who   string    // as its Guard said
	Due   time.Time // by the clock of the switch
	// Before identifies the running configuration that it leads back to.
	Before string

	name string
}

// Base reports whether the configuration before an owner's first line is kept.
func (m Marks) Base(owner string) bool { return slices.Contains(m.files, baseFile(owner)) }

// Owners lists those whose first line was preceded by a copy of what was there.
func (m Marks) Owners() (out []string) {
	for _, f := range m.files {
		name, ok := strings.CutSuffix(f, "-base.cfg")
		if name, mine := strings.CutPrefix(name, "weft-"); ok && mine {
			out = append(out, name)
		}
	}
	return out
}

// Running lists the reverts that have not fired yet, as far as time tells.
func (m Marks) Running() (out []Armed) {
	return slice.Filter(m.Armed, func(a Armed) bool { return m.Now.Before(a.Due.Add(margin)) })
}

// A HeldError is a switch that another weft changes, or that is about to
// revert what an operator changed.
type HeldError struct {
	Hold  *Hold    // or
	Armed *Armed   // a timed revert that runs, or
	Run   *RunMark // that the switch belongs to
	Now   time.Time
}

func (e *HeldError) Error() string {
	if e.Armed != nil {
		return fmt.Sprintf("a timed revert of owner %s (%s) runs until %s", e.Armed.Owner, e.Armed.Who, e.Armed.Due.Format(time.TimeOnly))
	}
	if e.Run != nil {
		return fmt.Sprintf("the switch belongs to a run of %s (%s)", e.Run.Who, e.Run.name)
	}
	return fmt.Sprintf("the lease %s is held by %s", markLease, e.Hold.Who)
}

// Left is how long it lasts at most; of a run nobody knows that.
func (e *HeldError) Left() time.Duration {
	if e.Run != nil {
		return 0
	}
	if e.Armed != nil {
		return e.Armed.Due.Add(margin).Sub(e.Now)
	}
	return max(0, e.Hold.Until.Sub(e.Now))
}

// Marks lists what weft has left on the switch.
func (s *Session) Marks(ctx context.Context) (Marks, error) {
	m, err := s.listing(ctx)
	if err != nil || m.Hold == nil && len(m.Armed) == 0 {
		return m, err
	}
	m.Now, err = s.clock(ctx)
	return m, err
}

// probeMarks finds out whether marks can be kept on the switch, as far as reading
// tells: it lists its files and tells its time.
func (s *Session) probeMarks(ctx context.Context) error {
	_, err := s.listing(ctx)
	if err == nil {
		_, err = s.clock(ctx)
	}
	var no *RefusedError
	switch told := errors.As(err, &no); {
	case err == nil, told && !s.absent.MatchString(no.Reply), !s.wire.IsAlive(), ctx.Err() != nil:
		return err
	}
	return &GuardError{Err: err, Lack: "weft cannot keep its marks on this switch, which say who changes it and until when"}
}

// listing are the marks without the time.
func (s *Session) listing(ctx context.Context) (Marks, error) {
	if err := s.os.Lacks(Filing); err != nil {
		return Marks{}, err
	}
	cmd := s.os.Files.List
	out, err := s.Show(ctx, []string{cmd})
	return parseMarks(out[cmd]), err
}

// parseMarks reads the listing of a file system: a name is the last word of
// its line.
func parseMarks(text string) (m Marks) {
	lease := false
	var hold *Hold
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) == 0 {
			continue
		}
		name := strings.TrimSuffix(w[len(w)-1], "/")
		m.files = append(m.files, name)
		if strings.HasPrefix(name, markHeld) {
			m.holds = append(m.holds, name)
		}
		if h, ok := parseHold(name); ok && (hold == nil || hold.Until.Before(h.Until)) {
			hold = &h
		}
		rest, isArmed := strings.CutPrefix(name, markArmed)
		if p := strings.SplitN(rest, ".", 4); isArmed && len(p) == 4 {
			m.Armed = append(m.Armed, Armed{Due: seconds(p[0]), Before: p[1], Owner: p[2], Who: p[3], name: name})
		}
		if r, ok := parseRunMark(name); ok {
			m.Runs = append(m.Runs, r)
		}
		lease = lease || name == markLease
	}
	if lease {
		m.Hold = hold
		if hold == nil {
			m.Hold = &Hold{Who: "an unknown process"}
		}
	}
	return m
}

// parseHold reads the name of a directory that says who holds the switch.
func parseHold(name string) (Hold, bool) {
	rest, ok := strings.CutPrefix(name, markHeld)
	p := strings.SplitN(rest, ".", 3)
	if !ok || len(p) != 3 {
		return Hold{}, false
	}
	return Hold{Owner: p[1], Who: p[2], Until: seconds(p[0])}, true
}

func seconds(s string) time.Time {
	n, _ := strconv.ParseInt(s, 10, 64) // what is no number has passed
	return time.Unix(n, 0).UTC()
}

// "18:57:38.347 UTC Mon Oct 19 2015", "10:09:00 UTC Fri 03/16/2015". What the
// zone is called does not matter: times of one switch are compared.
var clockLine = pattern.New(`(\d{1,2}:\d{2}:\d{2})(?:\.\d+)? \S+ \w{3} (\w{3} +\d{1,2} \d{4}|\d{2}/\d{2}/\d{4})`)

func (s *Session) clock(ctx context.Context) (time.Time, error) {
	cmd := s.os.Files.Clock
	out, err := s.Show(ctx, []string{cmd})
	if err != nil {
		return time.Time{}, err
	}
	return parseClock(out[cmd])
}

func parseClock(text string) (time.Time, error) {
	m := clockLine.FindStringSubmatch(text)
	if m == nil {
		return time.Time{}, fmt.Errorf("the switch does not tell its time: %q", strings.TrimSpace(quoteAfter("", text)))
	}
	layout := "15:04:05 Jan 2 2006"
	if strings.Contains(m[2], "/") {
		layout = "15:04:05 01/02/2006"
	}
	t, err := time.Parse(layout, m[1]+" "+strings.Join(strings.Fields(m[2]), " "))
	if err != nil {
		return time.Time{}, fmt.Errorf("the switch does not tell its time: %w", err)
	}
	return t, nil
}

// fingerprint identifies a configuration as pin writes it.
func fingerprint(pinned string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(pinned)))[:12]
}

// Fingerprint identifies the running configuration: its lines, whatever their
// order. It is what Armed.Before is compared with.
func (s *Session) Fingerprint(ctx context.Context) (string, error) {
	p, err := s.pin(ctx)
	return fingerprint(p), err
}

// mkdir makes a directory; one that is there is an error.
func (s *Session) mkdir(ctx context.Context, name string) error {
	line := fmt.Sprintf(s.os.Files.Make, name)
	reply, err := s.say(ctx, line, s.timeout)
	if err != nil {
		return err
	}
	if s.refused(reply) {
		return NewRefusedError(line, reply)
	}
	return nil
}

// rmdir removes an empty directory; the switch may ask whether it is meant.
func (s *Session) rmdir(ctx context.Context, name string) error {
	_, err := s.agree(ctx, fmt.Sprintf(s.os.Files.Remove, name))
	return err
}

// agree types a line that the switch may ask about, and says yes.
func (s *Session) agree(ctx context.Context, line string) (string, error) {
	reply, err := s.exchange(ctx, line, max(s.timeout, slowest))
	text := s.clean(reply, line)
	for n := 0; err == nil && n < 3 && question.MatchString(reply); n++ {
		reply, err = s.exchange(ctx, "y", max(s.timeout, slowest))
		text += "\n" + s.clean(reply, "y")
	}
	switch {
	case err != nil:
		return "", err
	case s.refused(text) || question.MatchString(reply):
		return "", NewRefusedError(line, text)
	}
	return text, nil
}

// copyRunning writes the running configuration to a file on the switch.
func (s *Session) copyRunning(ctx context.Context, name string) error {
	line := fmt.Sprintf(s.os.Files.Copy, name)
	reply, err := s.agree(ctx, line)
	if err != nil {
		return err
	}
	if ok, err := regexp.MatchString(s.os.Files.Copied, reply); err != nil || !ok {
		return errors.Join(err, NewRefusedError(line, reply))
	}
	return nil
}

// Base reads what the switch kept for an owner: the configuration before its
// first line, and that which was proven last. Either is nil where there is
// none.
func (s *Session) Base(ctx context.Context, owner string, m Marks) (base, left *Reading, err error) {
	read := func(file string) (*Reading, error) {
		if !slices.Contains(m.files, file) {
			return nil, nil
		}
		cmd := fmt.Sprintf(s.os.Files.Print, file)
		out, err := s.Show(ctx, []string{cmd})
		if err != nil {
			return nil, err
		}
		c, err := s.os.Parse(map[string]string{s.dialect.Running: out[cmd]})
		return &c, err
	}
	if base, err = read(baseFile(owner)); err != nil {
		return nil, nil, err
	}
	left, err = read(leftFile(owner))
	return base, left, err
}

// Forgetting lists what Forget types.
func (s *Session) Forgetting(owner string, m Marks) (out []string) {
	for _, file := range m.files {
		if w, ok := parseWrote(file); ok && w.Owner == owner {
			out = append(out, fmt.Sprintf(s.os.Files.Remove, file))
		}
	}
	for _, file := range []string{leftFile(owner), baseFile(owner)} {
		if slices.Contains(m.files, file) {
			out = append(out, fmt.Sprintf(s.os.Files.Delete, file))
		}
	}
	return out
}

// Forget deletes what the switch keeps for an owner, and proves that it is
// gone.
func (s *Session) Forget(ctx context.Context, owner string) error {
	m, err := s.Marks(ctx)
	if err != nil {
		return err
	}
	for _, line := range s.Forgetting(owner, m) {
		if _, err := s.agree(ctx, line); err != nil {
			return err
		}
	}
	if m, err = s.Marks(ctx); err != nil {
		return err
	}
	if left := s.Forgetting(owner, m); len(left) > 0 {
		return fmt.Errorf("still there after: %s", strings.Join(left, "; "))
	}
	return nil
}
