package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/plan"
)

// eventAudit is the event of a trail that was verified.
const eventAudit plan.EventType = "audit"

func (a *app) auditCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "What was decided about a run, and by whom", Args: known, RunE: helps,
		Long: `audit is about the trail of a run: who began it with which plan, who approved which
phase and with which signature, what may stay without a verdict, who paused it or
unlocked its devices, and what it came to. Each entry names the sum of the one before.`,
	}
	cmd.AddCommand(&cobra.Command{
		Use: "verify [RUN|FILE]", Short: "Check that the trail of a run is whole", Args: counted(cobra.MaximumNArgs(1)),
		Long: `verify checks the trail of the latest run, of RUN, or of a FILE that export has
written: that no entry was changed, left out or put in, and, of a run that is kept
here, that it ends with the state which that is in. It prints the sum of the last entry;
who notes it can tell later whether entries were taken off the end. It exits 3 where the
trail is not whole.`,
		RunE: a.does(a.auditVerify),
	}, &cobra.Command{
		Use: "export [RUN]", Short: "Write the trail of a run as JSON lines", Args: counted(cobra.MaximumNArgs(1)), Annotations: noEvents(),
		Long: `export writes the trail of the latest run, or of RUN: one entry a line, which verify
and every reader of JSON lines takes.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			lines, _, err := a.trailOf(cmd.Context(), args)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(stream(a.stdout), "%s\n", bytes.Join(lines, []byte("\n")))
			return err
		},
	})
	return cmd
}

// trailOf is the trail of a run, or of a file; rec is nil then.
func (a *app) trailOf(ctx context.Context, args []string) (lines [][]byte, rec *run.Record, err error) {
	if len(args) == 1 {
		if text, err := os.ReadFile(args[0]); err == nil {
			return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")), nil, nil
		}
	}
	rec, err = a.named(ctx, args, a.runs().Latest)
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

func (a *app) auditVerify(ctx context.Context, args []string) error {
	lines, rec, err := a.trailOf(ctx, args)
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
	if a.json {
		a.emit(plan.Event{Type: eventAudit, Message: fmt.Sprintf("the trail of run %s is whole", list[0].Run), Data: map[string]any{"entries": list, "last": last}})
		return nil
	}
	for _, x := range list {
		fmt.Fprintf(a.stdout, "%s  %-10s %s\n", x.Time.Format("2006-01-02 15:04:05"), x.What, entryText(x))
	}
	_, err = fmt.Fprintf(a.stdout, "The trail of run %s is whole: %d entries, the last is %s.\n", list[0].Run, len(list), last)
	return err
}

// entryText is an entry without its time.
func entryText(x run.AuditEntry) string {
	text := ""
	for _, part := range []string{x.Phase, x.By, x.Text, x.Plan, x.Commit} {
		if part != "" {
			text += "  " + part
		}
	}
	for _, key := range x.Keys() {
		text += "\n" + strings.Repeat(" ", 33) + "key " + key
	}
	return text
}
