package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"weft/internal/bundle"
	"weft/internal/hint"
)

// An app is one run of weft.
type app struct {
	*services
	command  *cobra.Command // that was carried out; nil: none was found
	accepted bool           // the command line was understood
}

func newApp(stdin io.Reader, stdout, stderr io.Writer, agents *bundle.Bundle) *app {
	return &app{services: newServices(stdin, stdout, stderr, agents)}
}

func (a *app) run(args []string) int {
	stdout, end := a.out.screens()
	defer end()
	ctx, stop := a.listen()
	defer stop()
	root := a.root()
	root.SetArgs(args)
	a.opts.json = wantsJSON(args) // also where the rest of the line is not understood
	err := singleDash(args, root)
	if err == nil {
		a.command, err = root.ExecuteContextC(ctx)
	}
	if err != nil && !a.accepted && exitCode(ctx, err) == exitError {
		err = usage(err) // cobra's own: an unknown command, too many arguments
	}
	code := exitCode(ctx, err)
	if lost := stdout.Lost(); errors.Is(lost, syscall.EPIPE) {
		if errors.Is(err, syscall.EPIPE) {
			return exitUnread
		}
	} else if code == exitDone && lost != nil && err == nil {
		err = hint.Wrap(fmt.Errorf("it was done, and not all that it says could be written: %w", lost), "make room, or see that standard output is open, and ask again")
		code = exitError
	}
	a.out.summary(code, err)
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "Rolls out RDMA storage fabrics described in HCL, and proves that they work",
		Long: `weft reads *.weft.hcl, compares it with the reports of switches and servers, shows the
changes, applies them, and measures the resulting fabric. There is no state file: every
command reads the devices.`,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if a.opts.json && cmd.Annotations[events] == "none" {
				return fmt.Errorf("--json: the output of %s has a fixed format", cmd.CommandPath())
			}
			if !slices.Contains([]string{"auto", "always", "never"}, a.opts.color) {
				return fmt.Errorf("--color: there are auto, always and never, and not %q", a.opts.color)
			}
			if a.opts.parallelism < 1 {
				return fmt.Errorf("--parallelism: %d devices at once; 1 or more", a.opts.parallelism)
			}
			a.accepted = true
			if err := a.guarded(cmd); err != nil {
				return err
			}
			return a.out.outputs(cmd)
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Version = version()
	root.SetVersionTemplate(versionLine() + "\n")
	root.InitDefaultVersionFlag()
	root.SetIn(a.out.stdin)
	root.SetOut(a.out.stdout)
	root.SetErr(a.out.stderr)
	root.SetFlagErrorFunc(misspelt)
	a.opts.flags(root.PersistentFlags())
	a.commands(root)
	explained(root)
	return root
}

// guarded refuses all commands but those where WEFT_UNTRUSTED is set.
func (a *app) guarded(cmd *cobra.Command) error {
	if !distrusts() {
		return nil
	}
	a.opts.untrusted = true
	name, _, _ := strings.Cut(commandName(cmd), " ")
	if cmd == cmd.Root() || slices.Contains(harmless(), name) || strings.HasPrefix(name, "__complete") {
		return nil
	}
	return usage(hint.Wrap(fmt.Errorf("weft %s may do more than read the files, which are not trusted: WEFT_UNTRUSTED is set", commandName(cmd)),
		"there are %s", strings.Join(harmless(), ", ")))
}

// wantsJSON reports whether --json is among the arguments.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// singleDash answers Terraform's spelling of long flags with weft's.
func singleDash(args []string, root *cobra.Command) error {
	for _, arg := range args {
		if arg == "--" {
			return nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "--") || len(name) < 3 {
			continue
		}
		for _, c := range append(root.Commands(), root) {
			if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
				return usage(fmt.Errorf("%s: did you mean -%s?", arg, arg))
			}
		}
	}
	return nil
}
