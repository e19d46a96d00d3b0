package switches_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

func TestNXOSTransaction(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(nxosLogin, nxosNothing, `
leaf-a# configure dual-stage
Enter configuration commands, one per line. End with CNTL/Z.
leaf-a(config-dual-stage)# policy-map type qos WEFT-o-f-in
leaf-a(config-dual-stage-pmap-qos)# class class-default
leaf-a(config-dual-stage-pmap-c-qos)# exit
leaf-a(config-dual-stage-pmap-qos)# exit
leaf-a(config-dual-stage)# commit confirmed 300
Verification Succeeded.
Configuration committed by user 'weft' using Commit ID : 6
leaf-a(config-dual-stage)# commit
leaf-a(config-dual-stage)# end
leaf-a#
`), join(nxosLogin, "leaf-a# show version\nproof\nleaf-a#"))
	s := open(t, nxos.OS(), r)
	tx, err := s.Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Send(t.Context(), []string{"policy-map type qos WEFT-o-f-in", "  class class-default"}); err != nil {
		t.Fatal(err)
	}
	seen := ""
	err = tx.Commit(t.Context(), func(ctx context.Context, fresh *switches.Session) error {
		out, err := fresh.Show(ctx, []string{"show version"})
		seen = out["show version"]
		return err
	})
	if err != nil || seen != "proof" {
		t.Fatalf("commit: %v, the proof saw %q", err, seen)
	}
	if i, j := slices.Index(r.sent, "show version"), slices.Index(r.sent, "commit"); i < 0 || i > j {
		t.Errorf("confirmed before the proof: %q", r.sent)
	}
}

func TestNXOSRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		line   string // refused
	}{
		"line": {`
leaf-a(config-dual-stage)# system qos
leaf-a(config-dual-stage-sys-qos)# service-policy type queuing output X
Unable to perform the action due to incompatibility:  Module 1 returned status "no room"
leaf-a(config-dual-stage-sys-qos)# abort
`, "service-policy type queuing output X"},
		"unforeseen words": {`
leaf-a(config-dual-stage)# system qos
leaf-a(config-dual-stage-sys-qos)# service-policy type queuing output X
Duplicate sequence number
leaf-a(config-dual-stage-sys-qos)# abort
`, "service-policy type queuing output X"},
		"verification": {`
leaf-a(config-dual-stage)# system qos
leaf-a(config-dual-stage-sys-qos)# service-policy type queuing output X
leaf-a(config-dual-stage-sys-qos)# exit
leaf-a(config-dual-stage)# commit confirmed 60
Failed. err=no such policy
commit verification failed
leaf-a(config-dual-stage)# abort
`, "commit confirmed 60"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplay(t, join(nxosLogin, nxosNothing, "leaf-a# configure dual-stage", c.script, nxosNothing, "leaf-a#"))
			s := open(t, nxos.OS(), r)
			tx, err := s.Begin(t.Context(), switches.Guard{Confirm: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			err = tx.Send(t.Context(), []string{"system qos", "service-policy type queuing output X"})
			if err == nil {
				err = tx.Commit(t.Context(), func(context.Context, *switches.Session) error { return errors.New("not reached") })
			}
			var no *switches.RefusedError
			if !errors.As(err, &no) || no.Line != c.line || no.Reply == "" {
				t.Fatalf("refused: %v", err)
			}
			if err := tx.Abort(t.Context(), fixed("never sent")); err != nil {
				t.Errorf("abort: %v", err)
			}
		})
	}
}

func TestNXOSRevertsByItself(t *testing.T) {
	t.Parallel()
	applied := `
leaf-a(config-dual-stage)# system qos
leaf-a(config-dual-stage-sys-qos)# exit
leaf-a(config-dual-stage)# commit confirmed 60
Verification Succeeded.
Configuration committed by user 'weft' using Commit ID : 7
` + later + `Confirm commit Timer expired, triggering rollback commit
`
	t.Run("unproven", func(t *testing.T) {
		r := newReplay(t, join(nxosLogin, nxosNothing, "leaf-a# configure dual-stage", applied+later+"Configuration committed by rollback using Commit ID : 8",
			"leaf-a(config-dual-stage)# end", nxosNothing, "leaf-a#"), join(nxosLogin, "leaf-a#"))
		s := open(t, nxos.OS(), r)
		tx, err := s.Begin(t.Context(), switches.Guard{Confirm: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Send(t.Context(), []string{"system qos"}); err != nil {
			t.Fatal(err)
		}
		bad := errors.New("the switch reads otherwise")
		if err := tx.Commit(t.Context(), func(context.Context, *switches.Session) error { return bad }); !errors.Is(err, bad) {
			t.Fatalf("commit: %v", err)
		}
		if err := tx.Abort(t.Context(), fixed()); err != nil {
			t.Errorf("abort: %v", err)
		}
	})
	t.Run("too late", func(t *testing.T) {
		r := newReplay(t, join(nxosLogin, nxosNothing, "leaf-a# configure dual-stage", applied,
			"leaf-a(config-dual-stage)# commit\nleaf-a(config-dual-stage)#"), join(nxosLogin, "leaf-a#"))
		s := open(t, nxos.OS(), r)
		tx, err := s.Begin(t.Context(), switches.Guard{Confirm: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Send(t.Context(), []string{"system qos"}); err != nil {
			t.Fatal(err)
		}
		err = tx.Commit(t.Context(), func(context.Context, *switches.Session) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "reverted automatically") {
			t.Errorf("commit after the timer: %v", err)
		}
	})
}

func TestBeginRefused(t *testing.T) {
	r := newReplay(t, join(nxosLogin, nxosNothing, "leaf-a# configure dual-stage\n                 ^\n% Invalid command at '^' marker.\nleaf-a#"))
	s := open(t, nxos.OS(), r)
	var no *switches.RefusedError
	if _, err := s.Begin(t.Context(), switches.Guard{Confirm: time.Minute}); !errors.As(err, &no) {
		t.Errorf("begin: %v", err)
	}
	if _, err := s.Begin(t.Context(), switches.Guard{Confirm: time.Second}); err == nil {
		t.Error("a revert after one second was accepted")
	}
}

const comwareArmed = `
<leaf-b> system-view
System View: return to User View with Ctrl+Z.
[leaf-b] configuration commit delay ?
  INTEGER<1-65535>  Delay time in minutes

[leaf-b] configuration commit delay 5
`

func TestComwareTransaction(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(comwareLogin, comwareNothing, comwareArmed, `
[leaf-b] interface HundredGigE1/0/11
[leaf-b-HundredGigE1/0/11] qos trust dscp
[leaf-b-HundredGigE1/0/11] quit
[leaf-b] configuration commit
[leaf-b] return
<leaf-b>
`), join(comwareLogin, "<leaf-b> display version\nproof\n<leaf-b>"))
	s := open(t, comware.OS(), r)
	tx, err := s.Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Send(t.Context(), []string{"interface HundredGigE1/0/11", " qos trust dscp", " quit"}); err != nil {
		t.Fatal(err)
	}
	err = tx.Commit(t.Context(), func(ctx context.Context, fresh *switches.Session) error {
		_, err := fresh.Show(ctx, []string{"display version"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if i, j := slices.Index(r.sent, "display version"), slices.Index(r.sent, "configuration commit"); i < 0 || i > j {
		t.Errorf("confirmed before the proof: %q", r.sent)
	}
}

func TestComwareAbort(t *testing.T) {
	t.Parallel()
	refused := `
[leaf-b] interface HundredGigE1/0/11
[leaf-b-HundredGigE1/0/11] qos trust dscp
[leaf-b-HundredGigE1/0/11] qos wfq byte-count
                        ^
 % Unrecognized command found at '^' position.
[leaf-b-HundredGigE1/0/11] return
<leaf-b> system-view
System View: return to User View with Ctrl+Z.
[leaf-b] interface HundredGigE1/0/11
[leaf-b-HundredGigE1/0/11] undo qos trust
[leaf-b-HundredGigE1/0/11] quit
[leaf-b] return
`
	begin := func(t *testing.T, after string) (*switches.Session, *switches.Transaction) {
		r := newReplay(t, join(comwareLogin, comwareNothing, comwareArmed, refused, after))
		s := open(t, comware.OS(), r)
		tx, err := s.Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		err = tx.Send(t.Context(), []string{"interface HundredGigE1/0/11", "qos trust dscp", "qos wfq byte-count", "quit"})
		var no *switches.RefusedError
		if !errors.As(err, &no) || no.Line != "qos wfq byte-count" {
			t.Fatalf("refused: %v", err)
		}
		return s, tx
	}
	undo := []string{"interface HundredGigE1/0/11", " undo qos trust", " quit"}

	t.Run("undo leads back", func(t *testing.T) {
		_, tx := begin(t, join(comwareNothing, `
<leaf-b> system-view
[leaf-b] configuration commit
[leaf-b] return
`, comwareNothing, "<leaf-b>"))
		if err := tx.Abort(t.Context(), fixed(undo...)); err != nil || tx.Armed() {
			t.Errorf("abort: %v, armed %v", err, tx.Armed())
		}
	})
	t.Run("the timer leads back", func(t *testing.T) {
		_, tx := begin(t, join(`
<leaf-b> display current-configuration
#
 sysname leaf-b
#
interface HundredGigE1/0/11
 qos trust dscp
#
`, comwareNothing, "<leaf-b>"))
		tx.Rearmed(-time.Hour) // it has fired
		if err := tx.Abort(t.Context(), fixed(undo...)); err != nil || tx.Armed() {
			t.Errorf("abort: %v, armed %v", err, tx.Armed())
		}
	})
	t.Run("nothing leads back", func(t *testing.T) {
		other := "<leaf-b> display current-configuration\n#\n sysname leaf-c\n#\n"
		_, tx := begin(t, join(other, other, "<leaf-b>"))
		tx.Rearmed(-time.Hour)
		err := tx.Abort(t.Context(), fixed(undo...))
		if err == nil || !strings.Contains(err.Error(), "missing: sysname leaf-b") {
			t.Errorf("abort: %v", err)
		}
	})
}

// Where nothing was sent, nothing has to be undone or waited for.
func TestComwareAbortBeforeTheFirstLine(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(comwareLogin, comwareNothing, comwareArmed, `
[leaf-b] return
`, comwareNothing, `
<leaf-b> system-view
[leaf-b] configuration commit
[leaf-b] return
`, comwareNothing, "<leaf-b>"))
	tx, err := open(t, comware.OS(), r).Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Abort(t.Context(), fixed()); err != nil || tx.Armed() {
		t.Errorf("abort: %v, armed %v", err, tx.Armed())
	}
}

func TestComwareUnknownUnit(t *testing.T) {
	r := newReplay(t, join(comwareLogin, comwareNothing, `
<leaf-b> system-view
System View: return to User View with Ctrl+Z.
[leaf-b] configuration commit delay ?
  INTEGER<1-65535>  Delay time

[leaf-b] return
<leaf-b>
`))
	s := open(t, comware.OS(), r)
	if _, err := s.Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute}); err == nil || !strings.Contains(err.Error(), "unit") {
		t.Errorf("begin: %v", err)
	}
}

func TestDirect(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(nxosLogin, nxosNothing, `
leaf-a# configure terminal
Enter configuration commands, one per line. End with CNTL/Z.
leaf-a(config)# system qos
leaf-a(config-sys-qos)# end
leaf-a#
`), join(nxosLogin, "leaf-a#"))
	s := open(t, nxos.OS(), r)
	tx, err := s.Begin(t.Context(), switches.Guard{Confirm: 0})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Send(t.Context(), []string{"system qos"}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context(), func(context.Context, *switches.Session) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

func fixed(lines ...string) switches.Undo {
	return func(context.Context) ([]string, error) { return lines, nil }
}
