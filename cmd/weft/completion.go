package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
)

// A completionCommand is weft completion.
type completionCommand struct {
	out     *printer
	project *project
}

func (c *completionCommand) command(root *cobra.Command) *cobra.Command {
	c.completeRoot(root)
	shells := map[string]func() error{
		"bash":       func() error { return root.GenBashCompletionV2(c.out.stdout, true) },
		"zsh":        func() error { return root.GenZshCompletion(c.out.stdout) },
		"fish":       func() error { return root.GenFishCompletion(c.out.stdout, true) },
		"powershell": func() error { return root.GenPowerShellCompletionWithDesc(c.out.stdout) },
	}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print a shell completion script",
		Long: `completion prints a completion script for a shell. bash needs its bash-completion
package. To enable completion now, and in every new shell:

  bash        source <(weft completion bash)             # and this line in ~/.bashrc
  zsh         source <(weft completion zsh)              # and this line in ~/.zshrc, after compinit
  fish        weft completion fish | source              # and this line in ~/.config/fish/config.fish
  powershell  weft completion powershell | Out-String | Invoke-Expression   # and this line in $PROFILE`,
		Annotations: noEvents(), Args: exactly("SHELL"),
		ValidArgs: slices.Sorted(maps.Keys(shells)),
		RunE: func(cmd *cobra.Command, args []string) error {
			script, ok := shells[args[0]]
			if !ok {
				return usage(fmt.Errorf("%q is no shell that weft knows; usage: weft %s", args[0], cmd.Use))
			}
			return script()
		},
	}
}

// completeRoot completes the values of the flags that every command has.
func (c *completionCommand) completeRoot(root *cobra.Command) {
	completeFlag(root, "color", "auto", "always", "never")
	complete(root, "chdir", func(string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	complete(root, "var-file", func(string) ([]string, cobra.ShellCompDirective) {
		return []string{"weftvars"}, cobra.ShellCompDirectiveFilterFileExt
	})
	complete(root, "var", func(string) ([]string, cobra.ShellCompDirective) {
		return c.project.variables(), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
}

// completeFlag completes a flag that takes one of a few words.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	complete(cmd, flag, func(string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	})
}

func complete(cmd *cobra.Command, flag string, f func(word string) ([]string, cobra.ShellCompDirective)) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		return f(word)
	})
	if err != nil {
		panic(err) // the command has no such flag: weft's own fault
	}
}
