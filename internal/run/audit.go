package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/approve"
	"weft/internal/slice"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// An AuditEntry is something that was decided about a run, or that it came to. Each
// names the sum of the one before, so that none can be changed or left out unseen.
type AuditEntry struct {
	N      int       `json:"n"` // from 1
	Time   time.Time `json:"time"`
	Run    string    `json:"run"`
	What   string    `json:"what"` // one of those below, or a state
	By     string    `json:"by,omitempty"`
	Phase  string    `json:"phase,omitempty"`
	Text   string    `json:"text,omitempty"`
	Plan   string    `json:"plan,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Signed []string  `json:"signed,omitempty"` // approvals that let it be, each with its signature
	Prev   string    `json:"prev"`             // "": it is the first
}

// What an entry may tell, beside the states that a run comes to.
const (
	auditBegun     = "begun"
	auditApproved  = "approved"
	auditWithdrawn = "withdrawn"
	auditPromoted  = "promoted"
	auditAccepted  = "accepted"
	auditPause     = "pause" // somebody asked for one
	auditResumed   = "resumed"
	auditRollback  = "rollback"
	auditUnlocked  = "unlocked" // devices were taken from the run by force
)

// order: an entry tells what somebody asked for, which may be after a run is over.
func (x *AuditEntry) order() bool { return x.What == auditPause || x.What == auditUnlocked }

// AuditEnd is the state that a run was in last, as its trail tells.
func AuditEnd(list []AuditEntry) string {
	for _, x := range slices.Backward(list) {
		if !x.order() {
			return x.What
		}
	}
	return ""
}

// auditPatience is how long the store is waited for at the end of a piece of work.
const auditPatience = 10 * time.Second

func keyAudit(id string) string { return "audit/" + store.Segment(id) }

func auditSum(line []byte) string {
	sum := sha256.Sum256(line)
	return "sha256-" + hex.EncodeToString(sum[:])
}

// audit adds an entry to the trail of a run.
func (r *Record) audit(ctx context.Context, x AuditEntry) error {
	for {
		lines, err := r.Audit(ctx)
		if err != nil {
			return err
		}
		x.N, x.Time, x.Run, x.Prev = len(lines)+1, time.Now().UTC(), r.ID, ""
		if len(lines) > 0 {
			x.Prev = auditSum(lines[len(lines)-1])
		}
		line, err := json.Marshal(x)
		if err != nil {
			return err
		}
		_, err = r.store.Create(ctx, piece(keyAudit(r.ID), x.N), line)
		if errors.As(err, new(*store.ExistsError)) {
			continue // another weft had something to say
		}
		return r.records.trouble(err)
	}
}

// Audit are the entries of the trail of a run, each a line of JSON.
func (r *Record) Audit(ctx context.Context) ([][]byte, error) {
	entries, _, err := r.store.List(ctx, keyAudit(r.ID))
	if err != nil {
		return nil, r.records.trouble(err)
	}
	slices.SortFunc(entries, func(a, b store.Entry) int { return strings.Compare(a.Key, b.Key) })
	lines := slice.Map(entries, func(e store.Entry) []byte { return e.Value })
	return lines, nil
}

// VerifyAudit checks that a trail is whole: no entry was changed, left out, or put in. It
// returns the entries and the sum of the last. Whether later ones are missing only that
// sum can tell, where an operator has noted it, or the state that the run is in.
func VerifyAudit(lines [][]byte) (list []AuditEntry, last string, err error) {
	for i, line := range lines {
		var x AuditEntry
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&x); err != nil {
			return list, last, fmt.Errorf("entry %d cannot be read: %w", i+1, err)
		}
		switch {
		case x.N != i+1:
			return list, last, fmt.Errorf("after entry %d comes entry %d", i, x.N)
		case x.Prev != last:
			return list, last, fmt.Errorf("entry %d does not follow the stored entry %d: one of them was changed", x.N, i)
		case i > 0 && x.Run != list[0].Run:
			return list, last, fmt.Errorf("entry %d is of the run %s, and the first of %s", x.N, x.Run, list[0].Run)
		}
		if err := x.vouched(append(slices.Clip(list), x)[0].Plan); err != nil {
			return list, last, fmt.Errorf("entry %d: %w", x.N, err)
		}
		list, last = append(list, x), auditSum(line)
	}
	return list, last, nil
}

// vouched checks the signatures of an entry: they need nothing but themselves. Whose the
// keys are tells the list of signers, whose digest is in what was signed.
func (x *AuditEntry) vouched(planned string) error {
	for i, text := range x.Signed {
		s, _, err := approve.Split("", []byte(text)).Signer()
		switch {
		case err != nil:
			return fmt.Errorf("its signature %d: %w", i+1, err)
		case s.Run != "" && s.Run != x.Run, s.Plan != planned:
			return fmt.Errorf("its signature %d is for run %q and plan %s", i+1, s.Run, s.Plan)
		case s.Phase != x.Phase && s.Phase != approve.AnyPhase:
			return fmt.Errorf("its signature %d is for phase %q", i+1, s.Phase)
		case s.Accept != x.accepts():
			return fmt.Errorf("its signature %d accepts %q", i+1, s.Accept)
		}
	}
	return nil
}

func (x *AuditEntry) accepts() string {
	if x.What == auditAccepted {
		return strings.TrimPrefix(x.Text, "validation.")
	}
	return ""
}

// Keys are the fingerprints of the keys that have signed an entry.
func (x *AuditEntry) Keys() []string {
	var list []string
	for _, text := range x.Signed {
		if _, key, err := approve.Split("", []byte(text)).Signer(); err == nil {
			list = append(list, ssh.FingerprintSHA256(key))
		}
	}
	return list
}

// Unlocked notes that devices were taken from a run by force, where this store has it.
func (r *Records) Unlocked(ctx context.Context, id, device, by string) error {
	if plan.RunBegan(id).IsZero() {
		return nil // its name is none of ours
	}
	rec, err := r.Find(ctx, id)
	if err != nil || rec == nil {
		return err
	}
	return rec.audit(ctx, AuditEntry{What: auditUnlocked, By: by, Text: device})
}

// came notes the state that a run has come to, where that is another one.
func (s *staged) came(ctx context.Context) error {
	if s.run.State == s.state || s.env.Records.fresh() != nil { // it is somebody else's to tell
		return nil
	}
	s.state = s.run.State
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditPatience) // also of a run that is interrupted
	defer cancel()
	return s.rec.audit(ctx, AuditEntry{What: string(s.run.State), By: s.env.By, Text: clip(s.run.Why)})
}

// noteApproved notes once who let a phase begin.
func (s *staged) noteApproved(ctx context.Context, phase, by string, signed []string) error {
	at := slices.IndexFunc(s.run.Phases, func(p rollout.PhaseRun) bool { return p.Name == phase })
	if at < 0 || s.run.Phases[at].Approved == by {
		return nil
	}
	return s.rec.audit(ctx, AuditEntry{What: auditApproved, Phase: phase, By: by, Signed: signed})
}
