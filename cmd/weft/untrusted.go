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

func (o *options) untrustedFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.untrusted, "untrusted", false, "treat the files as untrusted: read nothing else, run no program, contact no device (also WEFT_UNTRUSTED=1)")
}

// files are those of --chdir. Where they are not trusted no link leads out of that
// directory, nor, where it is a relative one, out of the one that weft works in.
func (p *project) fs() (fs.FS, error) {
	if !p.opts.untrusted {
		return os.DirFS(p.opts.dir), nil
	}
	from, below := p.opts.dir, "."
	if filepath.IsLocal(p.opts.dir) {
		from, below = ".", p.opts.dir
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
func (pl *planner) unknown(p *plan.Plan) {
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
	list = append(list, fmt.Sprintf("changes: no device was queried for %d declared resources", p.Counts().Resources))
	if pl.opts.json {
		for _, text := range list {
			pl.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "not known: " + text})
		}
		return
	}
	view.Unknown(pl.out.stdout, pl.out.style(pl.out.stdout), list)
}
