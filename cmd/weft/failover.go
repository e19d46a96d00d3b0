package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/run"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

// A failoverCommand is weft verify failover.
type failoverCommand struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore
	fabric  *fabric
	results *results
}

func (fai *failoverCommand) command() *cobra.Command {
	var allowed []string
	cmd := &cobra.Command{
		Use: "failover", Short: "Cut one plane of an initiator, and measure how long I/O stops", Args: exactly(),
		Long: `failover takes down the link of one NIC of an initiator while weft's probe reads over all
planes, and restores the link. It judges the longest read against the keep-alive timeout
plus one reconnect attempt.

It DISTURBS the server: the kernel's own connections lose that path as well. It cuts only
the NIC of --allow-cut, and refuses if fewer than two paths of the kernel are live. A NIC
with software RDMA keeps its link and drops incoming packets, because the kernel could
not reconnect after a link loss. Before the cut, a timer on the server is armed, which
restores the link even if weft dies. Without --allow-cut, failover lists the candidates.`,
		RunE: fai.out.does(func(ctx context.Context, _ []string) error {
			m, err := fai.project.load()
			if err != nil {
				return err
			}
			cuts, err := chosenCuts(m, allowed)
			if err != nil {
				return err
			}
			p, err := fai.fabric.open(m)
			if err != nil {
				return err
			}
			defer p.Close()
			return fai.failover(ctx, p, cuts)
		}),
	}
	cmd.Flags().StringArrayVar(&allowed, "allow-cut", nil, "take down the link of this NIC: SERVER/NIC, as the list shows it; may be repeated")
	return cmd
}

// chosenCuts are the cuts that are allowed by name.
func chosenCuts(m *inventory.Model, allowed []string) ([]prove.Cut, error) {
	all := prove.Cuts(m)
	names := slice.Map(all, cutName)
	switch {
	case len(all) == 0:
		return nil, errors.New("there is nothing to cut: no initiator reaches a target with engine = \"weft\" over two planes")
	case len(allowed) == 0:
		return nil, usage(hint.Wrap(errors.New("nothing is cut that is not named"),
			"it takes the link of a NIC down for some seconds: --allow-cut '%s'; there are %s", names[0], strings.Join(names, ", ")))
	}
	var cuts []prove.Cut
	for _, name := range allowed {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, usage(fmt.Errorf("--allow-cut %s: there are %s", name, strings.Join(names, ", ")))
		}
		cuts = append(cuts, all[i])
	}
	return cuts, nil
}

// cutName is how a NIC is named on the command line.
func cutName(c prove.Cut) string { return c.NIC.Server.Addr + "/" + c.NIC.Name }

// failover cuts one after the other, and nothing more after a link that did not
// come back.
func (fai *failoverCommand) failover(ctx context.Context, p *run.Site, cuts []prove.Cut) error {
	held, err := fai.store.records().Hold(ctx, fai.opts.lab)
	if err != nil {
		return err
	}
	defer held.Close()
	for _, m := range p.Standing(ctx) {
		if slices.ContainsFunc(cuts, func(c prove.Cut) bool { return c.NIC.Server.Addr == m.Device }) {
			return &codeError{exitHeld, plan.NewMarkedError(m.Device, m.Mark)}
		}
	}
	hosts := p.Logins()
	defer hosts.End()
	in := prove.FailoverInput{
		Input: prove.Input{Model: p.Model, Host: hosts.Host, Attached: p.Attached},
		Cut: func(ctx context.Context, h remote.Host, nic *inventory.RNIC, after time.Duration) (func(context.Context) error, error) {
			cutter, err := p.Cutter(nic.Server)
			if err != nil {
				return nil, err
			}
			fai.out.emit(plan.Event{Type: plan.EventHeartbeat, Device: nic.Server.Addr, Message: fmt.Sprintf("%s/%s %s; its server brings it back within %v by itself", nic.Server.Addr, nic.Name, cutter.How(nic), after)})
			return cutter.Cut(ctx, h, p.Model.Name, nic, after)
		},
	}
	all := &prove.Result{Verdict: prove.Pass}
	for _, c := range cuts {
		res, err := prove.Failover(ctx, in, c)
		if res != nil {
			all.Add(res)
		}
		if err != nil {
			return err
		}
	}
	if err := run.WriteKept(fai.results.lastFailover(), run.Kept{Validations: []string{"failover"}, Time: time.Now().UTC(), Simulated: fai.opts.lab, Files: run.SumOf(p.Model), Result: all}); err != nil {
		fai.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "nothing is kept for weft report: " + err.Error()})
	}
	if fai.opts.json {
		fai.out.emitJudgements(all.Judgements)
	} else {
		view.Heading(fai.out.stdout, fai.out.style(fai.out.stdout), "failover", p.Model.Name, fai.opts.lab)
		view.Verify(fai.out.stdout, all, fai.out.style(fai.out.stdout))
	}
	if all.Verdict != prove.Pass {
		return &quietError{proven(all.Verdict)}
	}
	return nil
}
