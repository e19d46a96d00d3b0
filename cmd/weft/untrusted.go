package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/view"
	"weft/inventory/language"
	"weft/plan"
)

// errUntrusted is why no device is asked.
func errUntrusted() error { return errors.New("not asked: the files are not trusted") }

// distrusts reports whether the environment says that files are not trusted: any
// word but those for no.
func distrusts() bool {
	return !slices.Contains([]string{"", "0", "false", "no"}, strings.ToLower(os.Getenv("WEFT_UNTRUSTED")))
}

// harmless are the commands that may work on files of anybody: they reach no
// device, and read these files only in ways that keep to the directory.
func harmless() []string {
	return []string{"validate", "plan", "show", "fmt", "graph", "catalogue", "explain", "schema", "completion", "version", "help"}
}

// guarded refuses all commands but those where WEFT_UNTRUSTED is set.
func (a *app) guarded(cmd *cobra.Command) error {
	if !distrusts() {
		return nil
	}
	a.untrusted = true
	name, _, _ := strings.Cut(commandName(cmd), " ")
	if cmd == cmd.Root() || slices.Contains(harmless(), name) || strings.HasPrefix(name, "__complete") {
		return nil
	}
	return usage(hint.Wrap(fmt.Errorf("weft %s may do more than read the files, which are not trusted: WEFT_UNTRUSTED is set", commandName(cmd)),
		"there are %s", strings.Join(harmless(), ", ")))
}

func (a *app) untrustedFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.untrusted, "untrusted", false, "the files may be anybody's: read nothing else, and run and reach nothing (also WEFT_UNTRUSTED=1)")
}

// files are those of --chdir. Where they are not trusted no link leads out of that
// directory, nor, where it is a relative one, out of the one that weft works in.
func (a *app) files() (fs.FS, error) {
	if !a.untrusted {
		return os.DirFS(a.dir), nil
	}
	from, below := a.dir, "."
	if filepath.IsLocal(a.dir) {
		from, below = ".", a.dir
	}
	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, fmt.Errorf("--chdir: %w", err)
	}
	defer root.Close()
	inside, err := root.OpenRoot(below) // which stays open as long as weft works
	if err != nil {
		return nil, fmt.Errorf("--chdir: %w", err)
	}
	return inside.FS(), nil
}

// unknown says what a plan of files that are not trusted leaves open.
func (a *app) unknown(p *plan.Plan) {
	var list []string
	for _, u := range language.Uses(sourcesOf(p), p.Inputs) {
		for _, c := range u.Calls {
			if c.Here {
				list = append(list, fmt.Sprintf("%s (%s): %s is not read", u.Place, view.Place(u.Range), c.Text))
			}
		}
		for _, v := range u.Sensitive {
			list = append(list, fmt.Sprintf("%s (%s): var.%s is sensitive, and has no value here", u.Place, view.Place(u.Range), v))
		}
	}
	list = append(list, fmt.Sprintf("what would change: no device was asked about resources, of which %d are declared", p.Counts().Resources))
	if a.json {
		for _, text := range list {
			a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "not known: " + text})
		}
		return
	}
	view.Unknown(a.stdout, a.style(a.stdout), list)
}
