package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"weft/internal/selector"
)

// A planCommand is weft plan.
type planCommand struct {
	opts    *options
	out     *printer
	planner *planner
}

func (c *planCommand) command() *cobra.Command {
	f := planFlags{cables: true}
	cmd := &cobra.Command{
		Use: "plan", Short: "Read every device and show the changes", Args: exactly(),
		Long: `plan reads every device, compares it with the files and shows the changes. It changes
nothing. Resources that weft applied and the files no longer declare are reverted. This
applies only to resources that weft created or changed, and only if they are unchanged
since.

With --untrusted the files may come from an untrusted source, such as a pull request.
weft contacts no device, runs no program, and reads neither the environment nor files
outside the directory. It lists the values that remain unknown. With
--detailed-exitcode it then exits with 9, and never reports an empty plan.

` + selector.Help,
		RunE: c.out.does(func(ctx context.Context, _ []string) error {
			if f.sign != "" && f.out == "" {
				return usage(errors.New("--sign signs the plan that --out saves, which is missing"))
			}
			if f.sign != "" && c.opts.untrusted {
				return usage(errors.New("--untrusted uses no key: --sign does not go with it"))
			}
			p, made, err := c.planner.plan(ctx, f)
			if err != nil {
				return err
			}
			defer p.Close()
			return c.planner.planned(ctx, made, f)
		}),
	}
	c.planner.scope(cmd, &f)
	cmd.Flags().StringVar(&f.out, "out", "", "save the plan to a file for weft apply and weft show")
	output(cmd.Flags(), "out")
	cmd.Flags().StringVar(&f.sign, "sign", "", "sign the saved plan with this SSH key (a file, or the public half of a key in the agent): FILE.sig")
	cmd.Flags().BoolVar(&f.detailed, "detailed-exitcode", false, "exit 2 if there are changes")
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "plan to revert everything that weft did")
	c.opts.untrustedFlag(cmd)
	return cmd
}
