package switches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A RunMark says that a run is on its way that changes the switch, from before
// its first step to its end. It is the name of an empty directory:
//
//	weft-run.BEGAN.OWNER.WHO
//
// BEGAN is when the run began, in nanoseconds since 1970, to the base of 36: it
// names the run. The name has at most 60 characters.
type RunMark struct {
	Began time.Time
	Owner string // its first mostOwner characters
	Who   string // as it fits

	name string
}

const (
	markRun   = "weft-run."
	longest   = 60 // characters of a name
	mostOwner = 24 // of an owner in it
)

// NewRunMark is the mark of a run.
func NewRunMark(began time.Time, owner, who string) RunMark {
	r := RunMark{Began: began.UTC(), Owner: ShortOwner(owner)}
	r.name = markRun + strconv.FormatInt(began.UnixNano(), 36) + "." + r.Owner + "."
	who = unsafe.ReplaceAllString(strings.ReplaceAll(who, "@", "_at_"), "-")
	r.Who = who[:min(len(who), longest-len(r.name))]
	r.name += r.Who
	return r
}

// ShortOwner is an owner as it stands in the names of run marks.
func ShortOwner(owner string) string {
	owner = unsafe.ReplaceAllString(owner, "-")
	return owner[:min(len(owner), mostOwner)]
}

// parseRunMark reads the name of a directory. What is no time names a run all the
// same: it is another's.
func parseRunMark(name string) (RunMark, bool) {
	rest, ok := strings.CutPrefix(name, markRun)
	if !ok {
		return RunMark{}, false
	}
	p := append(strings.SplitN(rest, ".", 3), "unknown", "unknown")
	r := RunMark{Owner: p[1], Who: strings.ReplaceAll(p[2], "_at_", "@"), name: name}
	if n, err := strconv.ParseInt(p[0], 36, 64); err == nil {
		r.Began = time.Unix(0, n).UTC()
	}
	return r, true
}

// MarkRun leaves the mark of a run on the switch, in place of those that are
// mine, under the lease, which it lets go of again. A *HeldError says who changes
// the switch, or whose run it belongs to.
func (s *Session) MarkRun(ctx context.Context, g Guard, r RunMark, mine func(RunMark) bool) (err error) {
	g.Mine = mine
	t := &Transaction{s: s, guard: g}
	defer func() {
		if t.held != "" {
			err = errors.Join(err, t.release(context.WithoutCancel(ctx)))
		}
	}()
	if _, err := t.lease(ctx); err != nil {
		return err
	}
	m, err := s.listing(ctx)
	if err != nil {
		return err
	}
	if err := g.admits(m); err != nil {
		return err
	}
	if !slices.Contains(m.files, r.name) {
		if err := s.mkdir(ctx, r.name); err != nil {
			return fmt.Errorf("mark the switch for the run: %w", err)
		}
	}
	for _, old := range m.Runs {
		if old.name != r.name {
			if err := s.rmdir(ctx, old.name); err != nil {
				return fmt.Errorf("remove the mark of a run that has ended: %w", err)
			}
		}
	}
	return nil
}

// UnmarkRun takes the mark of a run away, where it stands.
func (s *Session) UnmarkRun(ctx context.Context, r RunMark) error {
	return s.again(ctx, func() error {
		m, err := s.listing(ctx)
		if err != nil || !slices.Contains(m.files, r.name) {
			return err
		}
		return s.rmdir(ctx, r.name)
	})
}

// admits refuses a switch that belongs to another owner's run.
func (g Guard) admits(m Marks) error {
	for _, r := range m.Runs {
		if g.Mine == nil || !g.Mine(r) {
			return &HeldError{Run: &r, Now: m.Now}
		}
	}
	return nil
}
