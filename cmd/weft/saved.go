package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/run"
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

// openSaved opens the inventory that is saved with a plan.
func (a *app) openSaved(saved *plan.Plan) (*run.Site, error) {
	m, err := a.loadFrom(sourcesOf(saved), valuesOf(saved))
	if err != nil {
		return nil, err
	}
	return a.open(m)
}

// trusts refuses a plan file that would run programs or read what the checkout
// does not. Nothing of the plan is evaluated before: whoever wrote the file may
// be anybody.
func (a *app) trusts(path string, saved *plan.Plan) error {
	checkout := os.DirFS(a.dir)
	list := language.Strangers(sourcesOf(saved), checkout, saved.Inputs, language.OwnValues(checkout, os.LookupEnv))
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s would take from this machine what the files in %s do not; nothing was done", path, a.dir)
	for _, s := range list {
		fmt.Fprintf(&b, "\n  %s", s.Place)
		if s.For != "" {
			fmt.Fprintf(&b, ", which decides what %s takes", s.For)
		}
		fmt.Fprintf(&b, "\n    the plan:  %s\n    the files: %s", side(s.Planned, s.Range), side(s.Here, s.HereAt))
	}
	return &codeError{exitStale, hint.Wrap(errors.New(b.String()),
		"what reads this machine must stand in the files of --chdir as in the plan: apply it in the checkout that it was made from, or plan again here; a variable gets its value from weft.weftvars or WEFT_VAR_NAME")}
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
