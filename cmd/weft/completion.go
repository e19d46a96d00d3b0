package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/spf13/cobra"

	"weft/internal/slice"
	"weft/inventory/language"
)

func (a *app) completionCmd(root *cobra.Command) *cobra.Command {
	a.completeRoot(root)
	shells := map[string]func() error{
		"bash":       func() error { return root.GenBashCompletionV2(a.stdout, true) },
		"zsh":        func() error { return root.GenZshCompletion(a.stdout) },
		"fish":       func() error { return root.GenFishCompletion(a.stdout, true) },
		"powershell": func() error { return root.GenPowerShellCompletionWithDesc(a.stdout) },
	}
	return &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print what makes a shell complete weft's commands",
		Long: `completion prints a script for a shell; bash needs its bash-completion package, too.
To use it now and in every shell to come:

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
func (a *app) completeRoot(root *cobra.Command) {
	completeFlag(root, "color", "auto", "always", "never")
	complete(root, "chdir", func(string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	complete(root, "var-file", func(string) ([]string, cobra.ShellCompDirective) {
		return []string{"weftvars"}, cobra.ShellCompDirectiveFilterFileExt
	})
	complete(root, "var", func(string) ([]string, cobra.ShellCompDirective) {
		return a.variables(), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
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

// variables are the names of those that the files declare, each with "=".
func (a *app) variables() []string {
	return slice.Map(a.declared("variable"), func(name string) string { return name + "=" })
}

// declared are the names of the blocks of a type; nothing is evaluated for that.
func (a *app) declared(kind string) []string {
	m, _ := readFiles(os.DirFS(a.dir), language.Options{LookupEnv: os.LookupEnv})
	var names []string
	for _, f := range m.Files {
		body, ok := f.Body.(*hclsyntax.Body)
		if !ok {
			continue // a broken file
		}
		for _, b := range body.Blocks {
			if b.Type == kind && len(b.Labels) == 1 {
				names = append(names, b.Labels[0])
			}
		}
	}
	slices.Sort(names)
	return names
}
