package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/run"
	"weft/internal/view"
)

// A showCommand is weft show.
type showCommand struct {
	opts   *options
	out    *printer
	repo   *repository
	fabric *fabric
}

func (sho *showCommand) command() *cobra.Command {
	var lines bool
	var format string
	var limit int
	cmd := &cobra.Command{
		Use: "show FILE", Short: "Show a saved plan; no network", Args: exactly("FILE"),
		Long: `show prints a plan saved by weft plan --out. It needs neither the devices nor the files.

It also lists everything on this machine that applying the plan would use: programs,
files, environment variables, and the login to each host. It evaluates none of these. It
runs only ssh -G, which reads your ssh_config. Values longer than 4 KiB are truncated;
--json has all.

--format writes the plan for reviews. markdown is a comment for a forge; github and gitlab
stay within the size limit of comments there. gitlab-report is an artifact of type
reports:terraform for merge requests, and sarif is for code scanning. The first line of a
comment is a summary with the digest for weft apply --digest. If the comment is too
long, whole resources are omitted and counted.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "" {
				return sho.review(args[0], format, limit, lines)
			}
			if limit != 0 {
				return usage(errors.New("--max-bytes goes with --format markdown, github or gitlab"))
			}
			p, err := run.ReadPlan(args[0])
			if err != nil {
				return err
			}
			sho.opts.lab = p.Simulated // as when it is applied
			used := sho.outsideOf(cmd.Context(), p)
			if sho.opts.json {
				return p.WriteWith(sho.out.stdout, used)
			}
			view.Shorten(p)
			view.Shorten(used)
			fmt.Fprintf(sho.out.stdout, "Made %s by weft %s.\n", p.Created.Format("2006-01-02 15:04:05 MST"), p.Version)
			view.Plan(sho.out.stdout, p, view.Options{Style: sho.out.style(sho.out.stdout), Lines: lines})
			used.Show(sho.out.stdout, sho.out.style(sho.out.stdout))
			return nil
		},
	}
	cmd.Flags().BoolVar(&lines, "show-config", false, "also show the exact lines to send, and their undo")
	cmd.Flags().StringVar(&format, "format", "", "markdown, github, gitlab, gitlab-report or sarif, for reviews; not with --json")
	cmd.Flags().IntVar(&limit, "max-bytes", 0, "maximum size of a comment; 0: no limit, or the limit of github and gitlab")
	completeFlag(cmd, "format", reviewFormats()...)
	return cmd
}

// counted makes a wrong number of arguments a matter of usage.
func counted(rule cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := rule(cmd, args); err != nil {
			return usage(err)
		}
		return nil
	}
}

// exactly demands the named arguments.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage(fmt.Errorf("usage: %s %s", cmd.Parent().CommandPath(), cmd.Use))
		}
		return nil
	}
}
