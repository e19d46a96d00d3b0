package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/view"
	"weft/inventory/language"
	"weft/plan"
)

// sourcesOf are the files that a plan was made from.
func sourcesOf(saved *plan.Plan) fs.FS {
	fsys := fstest.MapFS{}
	for name, text := range saved.Sources {
		fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	return fsys
}

// valuesOf are the values that a plan holds: maybe none, but never those of this
// machine.
func valuesOf(saved *plan.Plan) map[string]json.RawMessage {
	if saved.Inputs == nil {
		return map[string]json.RawMessage{}
	}
	return saved.Inputs
}

// trusts refuses a plan file that would run programs or read what the checkout
// does not. Nothing of the plan is evaluated before: whoever wrote the file may
// be anybody.
func (p *project) trusts(path string, saved *plan.Plan) error {
	checkout := os.DirFS(p.opts.dir)
	list := language.Strangers(sourcesOf(saved), checkout, saved.Inputs, language.OwnValues(checkout, os.LookupEnv))
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s would take from this machine what the files in %s do not; nothing was done", path, p.opts.dir)
	for _, s := range list {
		fmt.Fprintf(&b, "\n  %s", s.Place)
		if s.For != "" {
			fmt.Fprintf(&b, ", which decides what %s takes", s.For)
		}
		fmt.Fprintf(&b, "\n    the plan:  %s\n    the files: %s", side(s.Planned, s.Range), side(s.Here, s.HereAt))
	}
	return &codeError{exitStale, hint.Wrap(errors.New(b.String()),
		"expressions that read this machine must be equal in the plan and in the files of --chdir: apply in the original checkout, or plan again here; set variables in weft.weftvars or WEFT_VAR_NAME")}
}

// side is one side of a comparison.
func side(text string, at hcl.Range) string {
	switch {
	case text == "":
		return "nothing"
	case at.Filename == "":
		return text
	}
	return text + " (" + view.Place(at) + ")"
}

// reviewed demands that the text of a plan file has a digest; "": any.
func reviewed(path string, text []byte, digest string) error {
	if digest == "" {
		return nil
	}
	if hex, ok := strings.CutPrefix(digest, "sha256-"); !ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "" {
		return usage(fmt.Errorf("--digest: %q is not sha256- and 64 hexadecimal digits", digest))
	}
	if is := plan.DigestOf(text); is != digest {
		return &codeError{exitStale, hint.Wrap(fmt.Errorf("%s is not the plan that was reviewed: its digest is %s, and that one's %s; nothing was done", path, is, digest),
			"fetch the file that was reviewed; or plan again, and review that")}
	}
	return nil
}

// current refuses a plan that was made from other files, or other values, than the
// checkout has now.
func (c *applyCommand) current(path string, saved *plan.Plan) error {
	moved := c.project.moved(saved)
	own := language.OwnValues(os.DirFS(c.opts.dir), os.LookupEnv)
	for name, value := range saved.Inputs {
		if !bytes.Equal(own[name], value) {
			moved = append(moved, fmt.Sprintf("var.%s is %s in the plan, and %s here", name, value, side(string(own[name]), hcl.Range{})))
		}
	}
	if moved == nil {
		return nil
	}
	slices.Sort(moved)
	return &codeError{exitStale, hint.Wrap(fmt.Errorf("the files moved since %s was made; nothing was done\n  %s", path, strings.Join(moved, "\n  ")),
		"plan again from the files here, and review the new plan; set values from flags in weft.weftvars or WEFT_VAR_NAME")}
}

// moved are the files of the checkout that are not those that a plan was made from.
func (p *project) moved(saved *plan.Plan) (moved []string) {
	m, diags := readFiles(os.DirFS(p.opts.dir), language.Options{Values: valuesOf(saved), LookupEnv: os.LookupEnv})
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			moved = append(moved, "the files here are not valid: "+d.Summary)
			break
		}
	}
	names := maps.Clone(saved.Sources)
	for name, text := range m.Sources {
		if was, ok := saved.Sources[name]; !ok {
			moved = append(moved, name+" is here, and the plan knows nothing of it")
		} else if was != string(text) {
			moved = append(moved, name+" is another here")
		}
		delete(names, name)
	}
	for name := range names {
		moved = append(moved, name+" is not here any more, or not read")
	}
	return moved
}
