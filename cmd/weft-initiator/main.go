// Command weft-initiator measures and proves targets of NVMe over Fabrics from a
// host. It writes only what it was told by name that it may overwrite.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/hint"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	stdout, stderr = terminal{stdout}, terminal{stderr}
	root := commands()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "error:", err)
	if h := hint.Of(err); h != "" {
		fmt.Fprintln(stderr, "hint:", h)
	}
	var f *failure
	switch {
	case !errors.As(err, &f):
		return agent.ExitUsage
	case ctx.Err() != nil:
		return agent.ExitInterrupted
	}
	return f.status
}

// A failure is an error of a command that was started; what cobra finds before
// that is wrong usage.
type failure struct {
	error
	status int
}

func (f *failure) Unwrap() error { return f.error }

// failed marks an error as the target's failure to answer as it should.
func failed(err error) error { return &failure{err, agent.ExitFailed} }

// started makes the errors of a command failures.
func started(f func(*cobra.Command) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		err := f(c)
		if err == nil || errors.As(err, new(*failure)) {
			return err
		}
		return &failure{err, agent.ExitError}
	}
}

func commands() *cobra.Command {
	places := new(agent.Places)
	root := &cobra.Command{
		Use:   "weft-initiator",
		Short: "Measure and prove targets of NVMe over Fabrics",
		Long: `weft-initiator measures and proves targets of NVMe over Fabrics from a host.
Only run and verify can change what a target holds, and only where
--i-will-overwrite names it.

Exit status: 0 done, 1 error on this machine or in what was asked for, 3 the
target was tried and did not answer as it should, 64 usage, 130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing; weft-initiator --help lists them")
		},
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&places.Root, "root", "", "folder that stands for / in every path")
	flags.Var(&places.Maps, "map", "connect to REAL where LOGICAL is named (repeatable; an address without a map is then refused)")
	root.AddCommand(discoverCommand(places), checkCommand(places), readCommand(places), runCommand(places),
		verifyCommand(places), probeCommand(places), doCommand(places), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what this executable was built from",
		Args:  cobra.NoArgs,
		RunE: started(func(c *cobra.Command) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "weft-initiator", agent.Version())
			return err
		}),
	}
}
