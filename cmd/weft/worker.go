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
		Use: "worker --site NAME | --lead", Short: "Carry out runs at one site, near its devices", Args: exactly(),
		Long: `worker waits in the store for its part of runs: the devices of its site, which the files
select in site "NAME" { select = … }. weft apply --workers starts such a run. A worker
opens outgoing connections only, to the store and to its devices, with the credentials
of this machine. It makes no plan, and carries out only the approved plan. It verifies
approvals itself, with its own --signers.

While one worker of a site is active, others wait and take over when it ends. Ctrl-C
finishes the part in progress. A second Ctrl-C, or SIGTERM, reverts the changes in
progress, and the next worker starts that part again.

With --lead it contacts no device and leads runs with workers. It continues them when
they are approved, soaked, or their window opens, also after a restart. Only one process
leads at a time; weft apply --workers and weft rollout step also lead while they run.

With --once it does the available work and ends. A worker of a site then waits up to
--wait for a leader. It ends when no process leads a run, with the result of the last
run of the site: 0 if that run passed.`,
		RunE: c.out.does(func(ctx context.Context, _ []string) error {
			if (site == "") != lead {
				return usage(hint.Wrap(errors.New("a worker has a --site, or it leads"), "weft worker --site NAME, or weft worker --lead"))
			}
			if !c.store.records().Shared() {
				return usage(hint.Wrap(errors.New("a worker needs a store that it shares with the leader of a run, and none is configured"), "--store, WEFT_STORE, or a store block in the files"))
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
	f.StringVar(&site, "site", "", "name of the site in the files")
	f.BoolVar(&lead, "lead", false, "lead runs with workers; contacts no device")
	f.BoolVar(&once, "once", false, "do the available work, and end")
	f.DurationVar(&patience, "wait", 30*time.Second, "with --once: how long to wait for a leader")
	c.approvers.flags(cmd, nil)
	complete(cmd, "site", func(string) ([]string, cobra.ShellCompDirective) {
		return c.project.declared("site"), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}
