package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/crypto/ssh"

	"weft/internal/approve"
	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/sshsig"
	"weft/plan"
)

// eventApproval is the event of an approval that was signed.
const eventApproval plan.EventType = "approval"

// approval is what weft approve is asked for.
type approval struct {
	phase, ticket, expires, out, key, accept string
	withdraw                                 bool
}

// An approveCommand is weft approve.
type approveCommand struct {
	opts      *options
	out       *printer
	store     *runStore
	approvers *approvers
	executor  *executor
}

func (c *approveCommand) command() *cobra.Command {
	var f approval
	cmd := &cobra.Command{
		Use: "approve [RUN|FILE]", Short: "Sign that a phase of a run may begin; no network", Args: counted(cobra.MaximumNArgs(1)),
		Long: `approve signs that a phase of a run may begin. The run is the active one of this
directory, RUN, or the future run of the saved plan FILE. The signature covers the
fabric, the run, the phase, the digest of the plan, the list of signers and the expiry.
approve prints the signed text.

--key is a private key, or the public half or certificate of a key in the SSH agent.
Without --key, the agent must hold exactly one key. --signers or WEFT_SIGNERS lists the
approvers: an allowed_signers file outside the repository, or COMMIT:PATH, the file in a
commit, such as refs/remotes/origin/main:signers.

approve stores the approval with the run. For a saved plan it writes FILE next to the
plan, where weft apply finds it, or to --out. FILE and FILE.sig can be verified without
weft:

  ssh-keygen -Y verify -n weft-approval -I WHO -f SIGNERS -s FILE.sig < FILE

weft also reads approvals of other people from the folder approvals of --chdir, or from
--approvals.

--withdraw revokes the approvals of the key for a run, as long as the phase has not
begun.`,
		RunE: c.out.does(func(ctx context.Context, args []string) error { return c.approve(ctx, args, f) }),
	}
	s := cmd.Flags()
	s.StringVar(&f.phase, "phase", "", "the phase that may begin; * means all phases")
	s.StringVar(&f.accept, "accept", "", "instead: accept this validation, or VALIDATION.METRIC, without a verdict in the phase")
	s.StringVar(&f.ticket, "ticket", "", "reference to a change ticket, stored in the approval")
	s.StringVar(&f.expires, "expires", "24h", "validity: 8h, 3d, or a time in RFC 3339; at most 90 days")
	s.StringVar(&f.out, "out", "", "output file; the signature is FILE.sig")
	output(s, "out", twoFile)
	s.StringVar(&f.key, "key", "", "the SSH key (a file, or the public half of a key in the agent)")
	s.BoolVar(&f.withdraw, "withdraw", false, "instead: revoke the approvals of this key for a phase that has not begun")
	c.approvers.signersFlag(cmd)
	return cmd
}

// approve signs an approval.
func (c *approveCommand) approve(ctx context.Context, args []string, f approval) error {
	if f.phase == "" {
		return usage(hint.Wrap(errors.New("--phase is missing"), "name the phase that may begin, or --phase='*' for all"))
	}
	if f.withdraw {
		return c.withdraw(ctx, args, f)
	}
	until, err := approve.ParseExpiry(f.expires, time.Now())
	if err != nil {
		return usage(fmt.Errorf("--expires: %w", err))
	}
	known, err := c.approvers.knownSigners(ctx)
	if err != nil {
		return err
	}
	if known == nil {
		return usage(hint.Wrap(errors.New("no list of signers is configured"), "--signers FILE, or WEFT_SIGNERS"))
	}
	s, phases, rec, err := c.approvable(ctx, args)
	if err != nil {
		return err
	}
	if f.phase != approve.AnyPhase && !slices.Contains(phases, f.phase) {
		return usage(hint.Wrap(fmt.Errorf("--phase: there is no phase %q", f.phase), "there are %s", strings.Join(phases, ", ")))
	}
	s.Phase, s.Accept, s.Ticket, s.Expires = f.phase, strings.TrimPrefix(f.accept, "validation."), f.ticket, until
	s.Base, s.Signers = known.Base, known.Digest
	if err := s.Check(); err != nil {
		return usage(err)
	}
	x, key, who, err := signApproval(ctx, s, f.key, known.List)
	if err != nil {
		return err
	}
	where := f.out
	if where == "" && rec != nil {
		where = "kept with the run"
		err = rec.PutApproval(ctx, s.Phase, keptAs(key, s.Accept), x.Joined())
	} else {
		if where == "" {
			where = args[0] + "." + approve.FileName(s, key)
		}
		err = approve.Write(ctx, where, x)
	}
	if err != nil {
		return err
	}
	if c.opts.json {
		c.out.emit(plan.Event{Type: eventApproval, Message: who + " approves phase " + s.Phase,
			Data: map[string]any{"by": who, "where": where, "run": s.Run, "phase": s.Phase, "plan": s.Plan, "expires": s.Expires, "accept": s.Accept}})
		return nil
	}
	finds := ""
	if rec == nil && f.out == "" {
		finds = fmt.Sprintf("; weft apply %s finds it there", args[0])
	}
	_, err = fmt.Fprintf(c.out.stdout, "%s\n%s signed it: %s%s\n", x.Text, who, where, finds)
	return err
}

// signApproval signs a statement with a key that the list allows to, and says whose it is.
func signApproval(ctx context.Context, s *approve.Statement, keyFile string, list sshsig.Signers) (x approve.Signed, by ssh.PublicKey, who string, err error) {
	key, certificate, done, err := approvalKey(ctx, keyFile)
	if err != nil {
		return x, nil, "", fmt.Errorf("--key: %w", err)
	}
	defer done()
	if x, err = s.Sign(key, certificate); err != nil {
		return x, nil, "", err
	}
	signer, err := sshsig.Verify(x.Signature, x.Text, approve.Namespace)
	if err != nil {
		return x, nil, "", err
	}
	person, err := list.Allow(signer, approve.Namespace, time.Now())
	if err != nil {
		return x, nil, "", hint.Wrap(fmt.Errorf("this key may not approve: %w", err), "see the file of --signers")
	}
	return x, key.PublicKey(), person.String(), nil
}

// keptAs is how the approval of a key is called with a run.
func keptAs(key ssh.PublicKey, accept string) string {
	name := ssh.FingerprintSHA256(key)
	if accept != "" {
		name += " accept " + accept
	}
	return name
}

// withdraw takes back what a key has signed for a run.
func (c *approveCommand) withdraw(ctx context.Context, args []string, f approval) error {
	key, _, done, err := approvalKey(ctx, f.key)
	if err != nil {
		return fmt.Errorf("--key: %w", err)
	}
	defer done()
	s, phases, rec, err := c.approvable(ctx, args)
	switch {
	case err != nil:
		return err
	case rec == nil:
		return usage(hint.Wrap(errors.New("--withdraw: an approval of a plan that is not begun is a file"), "delete it, and its .sig"))
	case f.phase != approve.AnyPhase && !slices.Contains(phases, f.phase):
		return usage(hint.Wrap(fmt.Errorf("--phase: there is no phase %q", f.phase), "there are %s", strings.Join(phases, ", ")))
	}
	name := keptAs(key.PublicKey(), strings.TrimPrefix(f.accept, "validation."))
	was, err := rec.WithdrawApproval(ctx, f.phase, name, fmt.Sprintf("%s with the key %s", who(), name))
	if err != nil {
		return err
	}
	if !was {
		return hint.Wrap(fmt.Errorf("nothing of the key %s is kept for phase %q of run %s", name, f.phase, s.Run), "one that is a file is withdrawn by deleting that")
	}
	text := fmt.Sprintf("the approval of phase %s of run %s by the key %s is withdrawn", f.phase, s.Run, name)
	if c.opts.json {
		c.out.emit(plan.Event{Type: eventApproval, Message: text, Data: map[string]any{"run": s.Run, "phase": f.phase, "key": name, "withdrawn": true}})
		return nil
	}
	_, err = fmt.Fprintln(c.out.stdout, text)
	return err
}

// approvable is what an approval would be about: a plan file, or a run that is kept,
// with its record.
func (c *approveCommand) approvable(ctx context.Context, args []string) (s *approve.Statement, phases []string, rec *run.Record, err error) {
	if len(args) == 1 {
		if is, err := os.Stat(args[0]); err == nil && is.Mode().IsRegular() {
			s, phases, err := planApproval(args[0])
			return s, phases, nil, err
		}
	}
	rec, err = c.executor.named(ctx, args, c.store.records().Unfinished)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case rec == nil || rec.Plain() || rec.Over():
		return nil, nil, nil, hint.Wrap(errors.New("no rollout is on its way whose phases could be approved"),
			"weft runs lists them; a plan that is not begun yet is approved by its file")
	}
	for _, p := range rec.Run.Phases {
		phases = append(phases, p.Name)
	}
	return &approve.Statement{Owner: rec.Owner, Run: rec.ID, Plan: string(rec.Head.Plan)}, phases, rec, nil
}

// planApproval is an approval of the run that a plan file will start.
func planApproval(file string) (s *approve.Statement, phases []string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	p, err := plan.ReadPlan(bytes.NewReader(text))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, ph := range phasesOf(p) {
		phases = append(phases, ph.Name)
	}
	if phases == nil {
		return nil, nil, fmt.Errorf("%s is carried out at once: its files have no rollout whose phases could be approved", file)
	}
	return &approve.Statement{Owner: p.Owner, Run: p.Run, Plan: plan.DigestOf(text)}, phases, nil
}
