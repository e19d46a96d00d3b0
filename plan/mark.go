package plan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
)

// A Mark stands on a device from before the first step of a run that changes
// it until that run has ended. It names a run, not a process, and does not
// expire: whoever has the run's record goes on with it, and everybody else is
// told who is first. A lease, besides, guards one transaction.
type Mark struct {
	Format  int       `json:"format"`
	Run     string    `json:"run"` // see NewRunID
	Owner   string    `json:"owner"`
	Rollout string    `json:"rollout,omitempty"` // HCL address; "": an apply without one
	Phase   string    `json:"phase,omitempty"`   // of the rollout, that the run was in when it last changed this device
	Who     string    `json:"who"`               // user@host that began the run
	Commit  string    `json:"commit,omitempty"`  // of the files that it carries out, where that is known
	Since   time.Time `json:"since"`             // when the mark was written
	Plan    string    `json:"plan,omitempty"`    // SHA-256 of the plan file
	Token   string    `json:"token,omitempty"`   // stands in the run's record; switches keep none
	OS      string    `json:"os,omitempty"`      // of the server that it stands on
}

// MarkFormat is the number of the format of marks.
const MarkFormat = 1

// A Marker is the part of a Device on which runs leave marks.
type Marker interface {
	// Marks are those that stood on the device when it was last opened. It does
	// no I/O.
	Marks() []Mark

	// Mark has m stand on the device alone, under the device's lease, in place of
	// marks that are mine. A *HeldError says who else is changing the device, or
	// whose mark stands there. The device need not be open.
	Mark(ctx context.Context, m Mark, mine func(Mark) bool) error

	// Unmark takes the mark of m's run away, where it stands. The device need not
	// be open.
	Unmark(ctx context.Context, m Mark) error

	// ReadMarks asks the device whose runs it belongs to, and nothing else. The
	// device need not be open.
	ReadMarks(ctx context.Context) ([]Mark, error)

	// BreakMark takes away a mark that ReadMarks has just seen, also one that
	// cannot be read, if it is still that one.
	BreakMark(ctx context.Context, m Mark) error
}

// runIDs are times, so that they sort.
const runIDs = "20060102T150405.000000000Z"

// NewRunID names a run by when it began.
func NewRunID(now time.Time) string { return now.UTC().Format(runIDs) }

// RunBegan is when a run began; the zero time where its name does not tell.
func RunBegan(id string) time.Time {
	t, err := time.Parse(runIDs, id)
	if err != nil {
		return time.Time{}
	}
	return t
}

// Text says for people whose run it is, since when it is on its way, and where it
// has come.
func (m Mark) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s of owner %s", m.Run, m.Owner)
	if m.Rollout != "" {
		fmt.Fprintf(&b, ", %s", m.Rollout)
	}
	fmt.Fprintf(&b, ", begun by %s", m.Who)
	if t := RunBegan(m.Run); !t.IsZero() {
		fmt.Fprintf(&b, " at %s", t.Format("2006-01-02 15:04 MST"))
	}
	if m.Phase != "" {
		fmt.Fprintf(&b, ", in phase %q when it last came here, at %s", m.Phase, m.Since.UTC().Format("2006-01-02 15:04 MST"))
	}
	return b.String()
}

// Digest identifies a plan: the SHA-256 of its file, in hexadecimal.
func (p *Plan) Digest() (string, error) {
	sum := sha256.New()
	if err := p.Write(sum); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// NewMarkedError says that a device belongs to another run for now.
func NewMarkedError(device string, m Mark) error {
	return hint.Wrap(&HeldError{Device: device, Mark: &m},
		"it goes on, or ends, where it was begun: weft rollout status; if it will not be: weft apply --takeover=%s", m.Run)
}

// others are the marks of a device that belong to other runs.
func (in *Input) others(device Device) []Mark {
	if device == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(device.Marks()), func(x Mark) bool { return in.Mine != nil && in.Mine(x) })
}

// Held refuses to change what belongs to another run: devices on which
// the plan has steps and that carry its mark, and all others where it is one of
// the same owner, who has one run at a time. It knows what was seen when the
// devices were last opened, and does no I/O. The error is a *HeldError.
func (in *Input) Held(p *Plan) error {
	changed := map[string]bool{}
	for _, s := range p.Steps {
		changed[s.ID.Device] = true
	}
	for _, d := range p.Devices {
		for _, m := range in.others(in.Devices[d.Address]) {
			if changed[d.Address] || m.Owner == in.Owner {
				return NewMarkedError(d.Address, m)
			}
		}
	}
	return nil
}

// unmarked refuses to go on with a run of which the mark is gone: someone has
// ended it, or taken it over, and may have changed the device since.
func (in *Input) unmarked(p *Plan) error {
	if in.Mark == nil {
		return nil
	}
	for _, s := range p.Steps {
		if in.capabilities(s.ID.Device).Marks && !slices.ContainsFunc(in.Devices[s.ID.Device].Marks(), func(x Mark) bool { return x.Run == in.Mark.Run }) {
			return NewEndedError(s.ID.Device, in.Mark.Run)
		}
	}
	return nil
}

// NewEndedError says that the mark of a run is gone from a device.
func NewEndedError(device, run string) error {
	return hint.Wrap(&HeldError{Device: device, Gone: run},
		"see with weft plan what is there now; weft rollout abort ends the run here, and weft apply begins another")
}

// SetMarks marks devices for a run, as many at once as the parallelism says,
// or none: what was marked until one could not be is unmarked again. left are
// those that may carry the mark all the same.
func (in *Input) SetMarks(ctx context.Context, m Mark, devices []string) (left []string, err error) {
	errs := in.withDefaults().onEach(devices, func(d Device) error { return d.Mark(ctx, m, in.mine) })
	if err = foremost(devices, errs); err == nil {
		return nil, nil
	}
	// Also where the answer was lost: whether the mark was made is not known.
	return in.ClearMarks(context.WithoutCancel(ctx), m, devices), err
}

// ClearMarks takes the marks of a run away and returns the devices on which they
// may still stand, because they could not be reached.
func (in *Input) ClearMarks(ctx context.Context, m Mark, devices []string) (left []string) {
	ctx, cancel := context.WithTimeout(ctx, clearPatience)
	defer cancel()
	errs := in.withDefaults().onEach(devices, func(d Device) error { return d.Unmark(ctx, m) })
	for i, err := range errs {
		if err != nil {
			left = append(left, devices[i])
		}
	}
	return left
}

// clearPatience is how long taking marks away may take: whoever has the run's
// record does it later.
const clearPatience = 2 * time.Minute

func (in *Input) mine(m Mark) bool { return in.Mine != nil && in.Mine(m) }

// onEach does something with those of the devices that carry marks.
func (in Input) onEach(devices []string, do func(Device) error) []error {
	errs := make([]error, len(devices))
	slots := make(chan struct{}, in.Parallelism)
	done := make(chan struct{})
	for i, name := range devices {
		go func() {
			slots <- struct{}{}
			if d := in.Devices[name]; in.capabilities(name).Marks {
				errs[i] = do(d)
				if len(in.Devices) >= crowd {
					_ = d.Rest() // a connection that does not end well has ended
				}
			}
			<-slots
			done <- struct{}{}
		}()
	}
	for range devices {
		<-done
	}
	return errs
}

// foremost is the first error, a *HeldError before others: whoever is told to
// wait for another run need not look at anything else before that.
func foremost(devices []string, errs []error) error {
	var first error
	for i, err := range errs {
		switch {
		case err == nil:
		case errors.As(err, new(*HeldError)):
			return err
		case first == nil:
			first = fmt.Errorf("nothing was changed, as no device is before all are marked for the run: mark %s for the run: %w", devices[i], err)
			if hint.Of(err) == "" {
				first = hint.Wrap(first, "see to %s, which weft keeps its records on, and apply again", devices[i])
			}
		}
	}
	return first
}
