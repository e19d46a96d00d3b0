package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
)

// A workerCommand is weft worker.
type workerCommand struct {
	out       *printer
	project   *project
	store     *runStore
	approvers *approvers
	executor  *executor
}

func (c *workerCommand) command() *cobra.Command {
	var site string
	var lead, once bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use: "worker --site NAME | --lead", Short: "Carry out the part of a site of runs, near its devices", Args: exactly(),
		Long: `worker waits in the store for parts of runs: those of the devices of its site, which
the files name in site "NAME" { select = … }. weft apply --workers begins such a run. A
worker dials out only, to the store and to its devices, with the credentials of this
machine; it asks for no plan anew, and does nothing that is not in the plan that was
approved. Approvals of phases it verifies itself, with its own --signers.

While one worker of a site is at work another waits, and takes over when that one is
gone. Ctrl-C lets it finish what it has taken up; a second one, or SIGTERM, reverts what
is being changed, and the next worker takes that up again.

With --lead it reaches no device, and decides instead: it goes on with runs of workers
when they are approved, soaked or their window opens, also after a restart. One leads at
a time. weft apply --workers and weft rollout step lead as well, while they run.

With --once it does what can be done now. A worker of a site then waits up to --wait for a
leader, and ends when nobody leads a run any more, with what the last run of the site has come to: 0 where that has passed.`,
		RunE: c.out.does(func(ctx context.Context, _ []string) error {
			if (site == "") != lead {
				return usage(hint.Wrap(errors.New("a worker has a --site, or it leads"), "weft worker --site NAME, or weft worker --lead"))
			}
			if !c.store.records().Shared() {
				return usage(hint.Wrap(errors.New("a worker finds its work in a store that it shares with whoever leads a run, and none is named"), "--store, WEFT_STORE, or a store block in the files"))
			}
			if !lead {
				c.store.opened = c.store.records().ForSite(site)
			}
			e, err := c.executor.signing(ctx)
			if err != nil {
				return err
			}
			e.Audience = nil // it shows events alone
			if lead {
				c.out.say("weft leads the runs of workers that are kept in " + c.store.records().Where())
				return c.executor.carried(ctx, run.Lead(ctx, e, once))
			}
			c.out.say(fmt.Sprintf("weft works for site %s; its runs are kept in %s", site, c.store.records().Where()))
			w := &run.Worker{Env: e, Site: site, Once: once, Patience: patience, Drain: &c.executor.pauses}
			return c.executor.carried(ctx, w.Work(ctx))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&site, "site", "", "the site whose devices it reaches, as the files name it")
	f.BoolVar(&lead, "lead", false, "lead runs of workers, and reach no device")
	f.BoolVar(&once, "once", false, "do what can be done now, and end")
	f.DurationVar(&patience, "wait", 30*time.Second, "with --once: how long to wait for a leader")
	c.approvers.signerFlags(cmd)
	complete(cmd, "site", func(string) ([]string, cobra.ShellCompDirective) {
		return c.project.declared("site"), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}
