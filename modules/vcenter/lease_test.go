package vcenter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"

	"weft/modules/claim"
	"weft/plan"
)

// holding is a device of somebody who has the lease.
func holding(t *testing.T, login Login, who string) *Device {
	t.Helper()
	d := New("vcenter.dc1", "o", claim.Holder{Who: who, Machine: who, PID: 7, Started: "1"}, login)
	t.Cleanup(func() { _ = d.Close() })
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// Two do not change a vCenter at the same time, whoever they are; a lease ends with its
// transaction.
func TestLease(t *testing.T) {
	login := start(t)
	ann, bob := holding(t, login, "ann@ws1"), holding(t, login, "bob@ws2")
	if err := ann.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var held *plan.HeldError
	if err := bob.Begin(t.Context(), nil); !errors.As(err, &held) || !strings.Contains(err.Error(), "ann@ws1 (process 7, owner o), since 20") || held.Left <= 0 {
		t.Fatal(err)
	}
	if err := bob.Abort(t.Context()); err != nil { // it takes nothing from ann
		t.Fatal(err)
	}
	l, err := bob.Lease(t.Context())
	if err != nil || l == nil || !strings.HasPrefix(l.Holder, "ann@ws1") || l.Left < leaseTime-5*time.Minute {
		t.Fatalf("%+v %v", l, err)
	}
	if err := ann.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l, err := bob.Lease(t.Context()); err != nil || l != nil {
		t.Fatalf("%+v %v", l, err)
	}
	if err := bob.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := bob.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l, err := ann.Lease(t.Context()); err != nil || l != nil {
		t.Fatalf("%+v %v", l, err)
	}
}

// A lease ends by itself, is let go by force, and one of a process that is known to be gone
// holds nobody up. Whoever has lost it begins no further step.
func TestLeaseEnds(t *testing.T) {
	login := start(t)
	ann, bob := holding(t, login, "ann@ws1"), holding(t, login, "bob@ws2")
	if err := ann.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	l, err := bob.Lease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Break(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ann.renew(t.Context()); !errors.As(err, new(*plan.HeldError)) || !strings.Contains(err.Error(), "its lease was removed") {
		t.Fatal(err)
	}
	if err := bob.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Break(t.Context()); err == nil {
		t.Error("the lease of bob was broken for that of ann")
	}
	ann.undo = []op{{text: "something", do: func(context.Context, *client) error { t.Error("it was undone"); return nil }}}
	if err := ann.Abort(t.Context()); err == nil || !strings.Contains(err.Error(), "the changes are not reverted") {
		t.Error(err)
	}

	// Bob dies: whoever runs on his machine sees that, and others when it is over.
	eve := holding(t, login, "bob@ws2")
	eve.holder.PID, eve.holder.Alive = 8, func(h claim.Holder) bool { return h.PID != 7 }
	if err := eve.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	eve.lease.Until = time.Now().Add(-time.Hour)
	if err := eve.client.writeLease(t.Context(), eve.lease); err != nil {
		t.Fatal(err)
	}
	if err := ann.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	// What somebody wrote there is nobody's that is known.
	if err := ann.client.note(t.Context(), leaseMark, ann.client.vim.ServiceContent.RootFolder, "do not touch"); err != nil {
		t.Fatal(err)
	}
	if err := bob.Begin(t.Context(), nil); !errors.As(err, new(*plan.HeldError)) || !strings.Contains(err.Error(), "an unknown process") {
		t.Error(err)
	}
}

// silent loses all answers from the write of a lease on.
type silent struct {
	soap.RoundTripper
	lost *bool
}

func (s silent) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	if *s.lost {
		return errors.New("no answer")
	}
	err := s.RoundTripper.RoundTrip(ctx, req, res)
	if _, writes := req.(*methods.SetFieldBody); writes {
		*s.lost = true
	}
	return err
}

// A lease whose renewal cannot be read is given back, as is one whose run is interrupted
// while it waits, and one whose write had no answer.
func TestLeaseUnread(t *testing.T) {
	login := start(t)
	ann, bob := holding(t, login, "ann@ws1"), holding(t, login, "bob@ws2")
	free := func(what string) {
		t.Helper()
		if l, err := bob.Lease(t.Context()); err != nil || l != nil {
			t.Errorf("%s: %+v %v", what, l, err)
		}
	}
	ann.client.vim.RoundTripper = silent{ann.client.vim.RoundTripper, new(bool)}
	if err := ann.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Fatal(err)
	}
	free("not read again")
	if err := ann.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bob.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := bob.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}

	ann.client.settle = leaseSettle
	ctx, end := context.WithCancelCause(t.Context())
	ann.client.vim.RoundTripper = interrupting{ann.client.vim.RoundTripper, end}
	if err := ann.Begin(ctx, nil); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	free("interrupted")
}

var errInterrupted = errors.New("interrupted")

// interrupting ends the run once a lease is written.
type interrupting struct {
	soap.RoundTripper
	end context.CancelCauseFunc
}

func (i interrupting) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	err := i.RoundTripper.RoundTrip(ctx, req, res)
	if _, writes := req.(*methods.SetFieldBody); writes {
		i.end(errInterrupted)
	}
	return err
}
