package main

import (
	"io"

	"github.com/spf13/cobra"

	"weft/internal/bundle"
)

// services are what commands share. A command takes those that it needs, and knows no other
// command.
type services struct {
	opts       *options
	out        *printer
	project    *project
	repo       *repository
	store      *runStore
	fabric     *fabric
	planner    *planner
	approvers  *approvers
	executor   *executor
	results    *results
	pages      *pageServer
	discoverer *discoverer
}

func newServices(stdin io.Reader, stdout, stderr io.Writer, agents *bundle.Bundle) *services {
	p := &services{opts: &options{}}
	p.out = &printer{opts: p.opts, stdin: stdin, stdout: stdout, stderr: stderr}
	p.project = &project{opts: p.opts, out: p.out}
	p.repo = &repository{opts: p.opts}
	p.store = &runStore{opts: p.opts, project: p.project}
	p.fabric = &fabric{opts: p.opts, out: p.out, project: p.project, store: p.store, agents: agents}
	p.planner = &planner{opts: p.opts, out: p.out, project: p.project, store: p.store, fabric: p.fabric}
	p.approvers = &approvers{opts: p.opts, project: p.project, repo: p.repo}
	p.executor = &executor{opts: p.opts, out: p.out, project: p.project, repo: p.repo, store: p.store, fabric: p.fabric, planner: p.planner, approvers: p.approvers}
	p.results = &results{opts: p.opts}
	p.pages = &pageServer{opts: p.opts, out: p.out}
	p.discoverer = &discoverer{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric}
	return p
}

// commands adds all commands to weft itself, in groups.
func (p *services) commands(root *cobra.Command) {
	group := func(id, title string, list ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title + ":"})
		for _, c := range list {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("plan", "Plan and apply",
		(&initCommand{opts: p.opts, out: p.out, discoverer: p.discoverer}).command(),
		(&validateCommand{opts: p.opts, out: p.out, project: p.project, repo: p.repo}).command(),
		(&fmtCommand{opts: p.opts, out: p.out}).command(),
		(&planCommand{opts: p.opts, out: p.out, planner: p.planner}).command(),
		(&showCommand{opts: p.opts, out: p.out, repo: p.repo, fabric: p.fabric}).command(),
		(&applyCommand{opts: p.opts, out: p.out, project: p.project, store: p.store, fabric: p.fabric, planner: p.planner, approvers: p.approvers, executor: p.executor}).command(),
		(&driftCommand{opts: p.opts, out: p.out, planner: p.planner}).command(),
		(&unlockCommand{opts: p.opts, out: p.out, project: p.project, store: p.store, fabric: p.fabric}).command(),
	)
	group("rollouts", "Rollouts",
		p.rolloutCommands(),
		(&runsCommand{opts: p.opts, out: p.out, store: p.store}).command(),
		(&approveCommand{opts: p.opts, out: p.out, store: p.store, approvers: p.approvers, executor: p.executor}).command(),
		(&auditCommand{opts: p.opts, out: p.out, store: p.store, approvers: p.approvers, executor: p.executor}).command(),
	)
	group("measure", "Inspect and measure",
		(&factsCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric, results: p.results}).command(),
		(&discoverCommand{out: p.out, discoverer: p.discoverer}).command(),
		(&doctorCommand{opts: p.opts, out: p.out, project: p.project, repo: p.repo, fabric: p.fabric, planner: p.planner}).command(),
		(&graphCommand{opts: p.opts, out: p.out, project: p.project}).command(),
		(&execCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric}).command(),
		(&recordCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric}).command(),
		p.verifyCommands(),
		(&watchCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric}).command(),
		p.reportCommands(),
	)
	group("teams", "Teams",
		(&hubCommand{opts: p.opts, out: p.out, pages: p.pages}).command(),
		(&storeCommand{opts: p.opts, out: p.out, store: p.store}).command(),
		(&workerCommand{out: p.out, project: p.project, store: p.store, approvers: p.approvers, executor: p.executor}).command(),
	)
	group("lab", "Lab",
		(&labCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric}).command(),
		(&rehearseCommand{opts: p.opts, out: p.out, project: p.project, fabric: p.fabric, planner: p.planner, executor: p.executor}).command(),
	)
	group("reference", "Reference",
		(&catalogueCommand{opts: p.opts, out: p.out}).command(),
		(&schemaCommand{opts: p.opts, out: p.out}).command(),
		(&explainCommand{opts: p.opts, out: p.out}).command(),
		(&consoleCommand{opts: p.opts, out: p.out, project: p.project}).command(),
		(&completionCommand{out: p.out, project: p.project}).command(root),
		(&versionCommand{opts: p.opts, out: p.out}).command(),
	)
	root.SetHelpCommandGroupID("reference")
}

func (p *services) verifyCommands() *cobra.Command {
	cmd := (&verifyCommand{opts: p.opts, out: p.out, project: p.project, store: p.store, fabric: p.fabric, results: p.results}).command()
	cmd.AddCommand(
		(&cablingCommand{opts: p.opts, out: p.out, fabric: p.fabric}).command(),
		(&failoverCommand{opts: p.opts, out: p.out, project: p.project, store: p.store, fabric: p.fabric, results: p.results}).command(),
		(&rebootCommand{opts: p.opts, out: p.out, project: p.project, store: p.store, fabric: p.fabric, planner: p.planner}).command(),
	)
	return cmd
}

func (p *services) rolloutCommands() *cobra.Command {
	cmd := (&rolloutCommand{opts: p.opts, out: p.out, store: p.store, approvers: p.approvers, executor: p.executor}).command()
	cmd.AddCommand(
		(&rolloutViewCommand{opts: p.opts, out: p.out, store: p.store, pages: p.pages}).command(),
	)
	return cmd
}

func (p *services) reportCommands() *cobra.Command {
	cmd := (&reportCommand{opts: p.opts, out: p.out, project: p.project, store: p.store, results: p.results}).command()
	cmd.AddCommand(
		(&reportCheckCommand{opts: p.opts, out: p.out}).command(),
	)
	return cmd
}
