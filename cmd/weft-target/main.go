// Command weft-target serves namespaces to NVMe over Fabrics initiators.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/hint"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	root := commands()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "error:", err)
	if h := hint.Of(err); h != "" {
		fmt.Fprintln(stderr, "hint:", h)
	}
	var f *failure
	if errors.As(err, &f) {
		return agent.ExitError
	}
	return agent.ExitUsage
}

// A failure is an error of a command that was started; what cobra finds before
// that is wrong usage.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// started makes the errors of a command failures.
func started(f func(*cobra.Command) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		if err := f(c); err != nil {
			return &failure{err}
		}
		return nil
	}
}

func commands() *cobra.Command {
	places := new(agent.Places)
	root := &cobra.Command{
		Use:   "weft-target",
		Short: "Serve namespaces to NVMe over Fabrics initiators",
		Long: `weft-target serves namespaces to NVMe over Fabrics initiators.

Exit status: 0 done, 1 error, 64 usage.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing; weft-target --help lists them")
		},
		Args:              cobra.NoArgs,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&places.Root, "root", "", "folder that stands for / in every path: configuration, socket, file backends")
	flags.Var(&places.Maps, "map", "listen on REAL where the configuration says LOGICAL (repeatable; an address without a map is then refused)")
	root.AddCommand(serveCommand(places), reloadCommand(places), waitCommand(places), statusCommand(places), checkCommand(places),
		configCommand(places), keyCommand(), importCommand(places), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Say what this executable was built from",
		Args:  cobra.NoArgs,
		RunE: started(func(c *cobra.Command) error {
			_, err := fmt.Fprintln(c.OutOrStdout(), "weft-target", agent.Version())
			return err
		}),
	}
}

func configFlag(c *cobra.Command) *string {
	return c.Flags().String("config", agent.ConfigPath, "configuration, below --root")
}
