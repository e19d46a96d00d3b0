package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
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
		Use: "plan", Short: "Read every device and show what would change", Args: exactly(),
		Long: `plan reads every device, compares it with the files and shows the difference.
It changes nothing. What weft did before and the files no longer declare is
reverted: only what weft itself created or changed, and only as long as
nobody else has changed it since.

With --untrusted the files may be anybody's, as those of a pull request are: no
device is asked, no program is run, and neither the environment nor a file outside
of the directory is read. What is not known for that is said, and with
--detailed-exitcode the answer is 9 then, and never that nothing would change.`,
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
	f.scope(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "save the plan to a file for weft apply and weft show")
	output(cmd.Flags(), "out")
	cmd.Flags().StringVar(&f.sign, "sign", "", "sign the saved plan with this SSH key (a file, or the public half of a key in the agent): FILE.sig")
	cmd.Flags().BoolVar(&f.detailed, "detailed-exitcode", false, "exit 2 when there are changes")
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "plan to remove everything that weft did")
	c.opts.untrustedFlag(cmd)
	return cmd
}
