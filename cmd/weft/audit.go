package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/inventory/language"
	"weft/plan"
	"weft/plan/rollout"
)

// eventAudit is the event of a trail that was verified.
const eventAudit plan.EventType = "audit"

// An auditCommand is weft audit.
type auditCommand struct {
	opts      *options
	out       *printer
	store     *runStore
	approvers *approvers
	executor  *executor
}

func (aud *auditCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Show and verify the audit trail of a run", Args: known, RunE: helps,
		Long: `audit shows the trail of a run: start and plan, approvals with signatures, accepted
results, pauses, unlocks and the outcome, each with the person. Each entry contains the
checksum of the previous one.`,
	}
	verify := &cobra.Command{
		Use: "verify [RUN|FILE]", Short: "Verify the trail of a run and its signatures", Args: counted(cobra.MaximumNArgs(1)),
		Long: `verify checks the trail of the latest run, of RUN, or of a FILE written by export. It
detects changed, removed and inserted entries. For a stored run it also compares the end
of the trail with the state of the run. It prints the checksum of the last entry; keep
it elsewhere to detect entries removed from the end. It exits with 3 if the trail is not
intact.

Entries without a signature are marked as claims: the checksums use no key, so a user
with write access to the store can write another trail. With --signers, verify checks
the signatures of approvals against that list, the number of approvals that the plan
requires, and that every passed phase has them. Use the list of signers with which the
run began.`,
		RunE: aud.out.does(aud.auditVerify),
	}
	s := verify.Flags()
	s.StringVar(&aud.approvers.approvals.signers, "signers", "", "verify signatures against this list: an ALLOWED_SIGNERS file outside the repository, or COMMIT:PATH (also WEFT_SIGNERS)")
	s.StringArrayVar(&aud.approvers.approvals.authors, "author", nil, "with --signers: authors of the change (also WEFT_AUTHORS, comma-separated; default: recorded by the run); may be repeated")
	cmd.AddCommand(verify, &cobra.Command{
		Use: "export [RUN]", Short: "Write the trail of a run as JSON lines", Args: counted(cobra.MaximumNArgs(1)), Annotations: noEvents(),
		Long: `export writes the trail of the latest run, or of RUN, as one JSON object per line. The
output can be verified with weft audit verify.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			lines, _, err := aud.trailOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stream(aud.out.stdout), "%s\n", bytes.Join(lines, []byte("\n")))
			return err
		},
	})
	return cmd
}

// trailOf is the trail of a run, or of a file; rec is nil then.
func (aud *auditCommand) trailOf(ctx context.Context, args []string) (lines [][]byte, rec *run.Record, err error) {
	if len(args) == 1 {
		if text, err := os.ReadFile(args[0]); err == nil {
			return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil, nil
		}
	}
	rec, err = aud.executor.named(ctx, args, aud.store.records().Latest)
	if err == nil && rec == nil {
		err = hint.Wrap(errors.New("no run is kept here"), "weft runs --all lists them")
	}
	if err != nil {
		return nil, nil, err
	}
	lines, err = rec.Audit(ctx)
	if err == nil && len(lines) == 0 {
		err = fmt.Errorf("run %s has no trail: the weft that carried it out kept none, or it was no rollout", rec.ID)
	}
	return lines, rec, err
}

func (aud *auditCommand) auditVerify(ctx context.Context, args []string) error {
	lines, rec, err := aud.trailOf(ctx, args)
	if err != nil {
		return err
	}
	list, last, err := run.VerifyAudit(lines)
	if err == nil && rec != nil && rec.Over() && run.AuditEnd(list) != string(rec.State) {
		err = fmt.Errorf("the run is %s, and the trail ends with %q: its end is missing", rec.State, run.AuditEnd(list))
	}
	if err != nil {
		return &codeError{exitFailed, fmt.Errorf("the trail is not whole: %w", err)}
	}
	by := make([][]string, len(list))
	known, err := aud.approvers.knownSigners(ctx)
	if err != nil {
		return err
	}
	if known != nil {
		c, notes := aud.auditCase(ctx, rec)
		c.Signers = *known
		if by, err = c.Judge(list); err != nil {
			return &codeError{exitFailed, fmt.Errorf("the trail is whole, and not what was signed:\n%w", err)}
		}
		for _, note := range notes {
			aud.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: note})
		}
	}
	claims := 0
	for i := range list {
		if list[i].Claimed() {
			claims++
		}
	}
	if aud.opts.json {
		aud.out.emit(plan.Event{Type: eventAudit, Message: fmt.Sprintf("the trail of run %s is whole", list[0].Run),
			Data: map[string]any{"entries": list, "last": last, "claims": claims, "signers_checked": known != nil, "signed_by": by}})
		return nil
	}
	for i := range list {
		x := &list[i]
		fmt.Fprintf(aud.out.stdout, "%s  %-10s %s\n", x.Time.Format("2006-01-02 15:04:05"), x.What, entryText(*x))
		if by[i] != nil {
			fmt.Fprintf(aud.out.stdout, "%33ssigned by %s\n", "", strings.Join(by[i], " and "))
		}
	}
	checked := "signatures were not checked against a list: --signers"
	if known != nil {
		checked = "every approval is signed by " + known.Digest[:len("sha256-")+12] + "…"
	}
	_, err = fmt.Fprintf(aud.out.stdout, "The trail of run %s is whole: %d entries, the last is %s; %d carry no signature and are claims of those who may write to the store; %s.\n",
		list[0].Run, len(list), last, claims, checked)
	return err
}

// auditCase is what the plan of a run asks of its approvals, and what cannot be checked.
func (aud *auditCommand) auditCase(ctx context.Context, rec *run.Record) (c run.AuditCase, notes []string) {
	c.Authors = aud.approvers.namedAuthors()
	if rec == nil {
		notes = append(notes, "the trail is a file without its plan: the required number of approvals was not checked")
	} else {
		c.Owner, c.Passed = rec.Owner, rec.State == rollout.Passed
		if c.Authors == nil && rec.Run != nil {
			c.Authors = rec.Run.Authors
		}
		p, err := rec.Plan(ctx)
		if err == nil {
			if m, diags := readFiles(sourcesOf(p), language.Options{Values: valuesOf(p), Secrets: fstest.MapFS{}, LookupEnv: standIn}); !diags.HasErrors() {
				c.Spec = run.SpecOf(m)
			}
		}
		if c.Spec == nil {
			notes = append(notes, "how many approvals a phase needs was not checked: the plan of the run cannot be read")
		} else {
			c.Spec.Phases = slices.DeleteFunc(c.Spec.Phases, func(p rollout.Phase) bool { return !rec.Run.Has(p.Name) })
		}
	}
	if c.Authors == nil {
		notes = append(notes, "whether authors approved their own change was not checked: name them with --author")
	}
	return c, notes
}

// entryText is an entry without its time.
func entryText(x run.AuditEntry) string {
	text := ""
	for _, part := range []string{x.Phase, x.By, x.Text, x.Plan, x.Commit} {
		if part != "" {
			text += "  " + part
		}
	}
	if x.Claimed() {
		text += "  (claim)"
	}
	for _, key := range x.Keys() {
		text += "\n" + strings.Repeat(" ", 33) + "key " + key
	}
	return text
}
