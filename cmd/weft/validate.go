package main

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"weft/internal/prove"
	"weft/inventory"
	"weft/modules"
	"weft/modules/host"
	"weft/plan"
	"weft/switches"
)

// endAtOnce lets signals end weft: there is nothing to finish or to revert.
func endAtOnce() { signal.Reset(os.Interrupt, syscall.SIGTERM) }

// offline is what an expansion takes where nothing is dialled.
func offline() modules.Env {
	return modules.Env{
		Host:     func(*inventory.Server) host.DialHost { return nil },
		Terminal: func(*inventory.Switch) switches.Dial { return nil },
	}
}

// A validateCommand is weft validate.
type validateCommand struct {
	opts    *options
	out     *printer
	project *project
	repo    *repository
}

func (c *validateCommand) command() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "validate", Short: "Check the files; no network", Args: exactly(),
		Long: `validate checks all files and reports all errors at once. It contacts no device.

--format github also writes problems as workflow commands, which GitHub shows next to
their lines. GitHub shows up to ten errors and ten warnings per step; the last one
contains the number of the remaining ones. sarif writes a SARIF 2.1.0 file with weft's codes as rules. Paths
are relative to the working directory, which should be the root of the repository.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			endAtOnce()
			if format != "" {
				return c.validateFor(format)
			}
			c.out.begin(cmd)
			m, err := c.project.load()
			if err != nil {
				return err
			}
			if _, err := c.project.expand(m, offline()); err != nil {
				return err
			}
			if !c.opts.json {
				fmt.Fprintf(c.out.stdout, "%s is valid: %d switches, %d servers, %d links, %d targets, %d initiators.\n",
					m.Name, len(m.Switches), len(m.Servers), len(m.Links), len(m.Targets), len(m.Initiators))
			}
			c.unread(m)
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "github or sarif, for pipelines; not with --json")
	completeFlag(cmd, "format", "github", "sarif")
	c.opts.untrustedFlag(cmd)
	return cmd
}

// unread notes the switches on paths of lossless fabrics that weft does not read and that no
// validation allows to go without a measurement.
func (c *validateCommand) unread(m *inventory.Model) {
	list := prove.Unread(m)
	if len(list) == 0 {
		return
	}
	line := "allow_unmeasured = [" + strings.Join(list, ", ") + "]"
	text := "Unmanaged switches are on paths of lossless fabrics, and weft verify does not measure what they do: " + strings.Join(list, ", ")
	if c.opts.json {
		c.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: text, Data: map[string]any{"unmanaged": list, "allow_unmeasured": line}})
		return
	}
	fmt.Fprintf(c.out.stdout, "\n%s.\n  to accept that, in the validation: %s\n", text, line)
}
