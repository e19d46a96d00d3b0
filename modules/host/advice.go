package host

import (
	"context"
	"errors"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// A statement is an error, and what the server says about it.
type statement struct {
	err  error
	said *plan.RefusedError
}

func (s *statement) Error() string   { return s.err.Error() }
func (s *statement) Unwrap() []error { return []error{s.err, s.said} }

// explained adds to the failure of a resource what its kind knows, and what
// the server tells of it.
func explained(ctx context.Context, h remote.Host, r Thing, err error) error {
	var no *plan.RefusedError
	refused := errors.As(err, &no)
	if err == nil || !refused && errors.As(err, new(*remote.UnreachableError)) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return hint.Wrap(err, "it timed out: raise command_timeout in the server's connection")
	}
	if why := r.why(); why != nil {
		said := hear(ctx, h, why)
		switch {
		case said == "":
		case refused:
			err = &plan.RefusedError{Line: no.Line, Reply: no.Reply + "\n" + said}
		default:
			err = &statement{err, &plan.RefusedError{Line: "$ " + remote.Short(why...), Reply: said}}
		}
	}
	reply := ""
	if refused {
		reply = no.Reply
	}
	if advice := r.advice(reply); advice != "" {
		err = hint.Wrap(err, "%s", advice)
	}
	return err
}

// hear returns what a command prints, without secrets, whatever its exit status: that of a unit
// which has failed is not 0.
func hear(ctx context.Context, h remote.Host, args []string) string {
	out, _ := h.Run(ctx, remote.Cmd{Args: args})
	return strings.TrimSpace(remote.Redact(string(out.Stdout)))
}

// unmet is a resource that is not as wanted though its steps were taken.
type unmet struct {
	resource Thing
	error
}

func (u *unmet) Unwrap() error { return u.error }

// converging explains the error of what did not come about.
func converging(ctx context.Context, h remote.Host, err error) error {
	if u := new(unmet); errors.As(err, &u) {
		return explained(ctx, h, u.resource, err)
	}
	return err
}
