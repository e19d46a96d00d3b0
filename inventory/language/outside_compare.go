package language

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// A Stranger is something that a saved plan would take from the machine that
// applies it, or that decides what is taken, and that the checkout there does
// not hold in the same way.
type Stranger struct {
	Place   string    // credential.leaf.password, var.site
	For     string    // the place that depends on it; "": it takes something itself
	Planned string    // the expression in the plan, or the value of the variable as JSON
	Range   hcl.Range // of the attribute in the plan; none of a value
	Here    string    // the same in the checkout; "": nothing stands there
	HereAt  hcl.Range
}

// Strangers compares what a saved plan takes from outside with a checkout of
// the inventory. Each use must stand there at the same place; where the machine
// itself is read, so must all that decides what is read. Anything else may
// differ. values are those of the variables in the plan, own those that the
// checkout has by itself.
func Strangers(saved, checkout fs.FS, values, own map[string]json.RawMessage) []Stranger {
	c := &comparison{plan: readPlanned(saved), values: values, own: own, compared: map[place]bool{}}
	dirs := map[string]bool{}
	for at := range c.plan.at {
		dirs[at.dir] = true
	}
	c.here = readWritings(checkout, slices.Sorted(maps.Keys(dirs)))
	var templates []string
	for _, at := range c.plan.order {
		if c.plan.at[at].template {
			templates = append(templates, at.path)
		}
	}
	c.here.readTemplates(checkout, templates)
	for _, at := range c.plan.order {
		if c.plan.reach(at) != inside {
			c.compare(at, "")
		}
	}
	for _, at := range c.plan.order {
		if c.plan.reach(at) != toHere {
			continue
		}
		for _, need := range c.plan.needs(at) {
			c.compare(need, at.String())
		}
	}
	return c.found
}

type comparison struct {
	plan, here  *writings
	values, own map[string]json.RawMessage
	compared    map[place]bool
	found       []Stranger
}

// compare compares what stands at a place, or the value of a variable, once.
func (c *comparison) compare(at place, why string) {
	if c.compared[at] {
		return
	}
	c.compared[at] = true
	if name, ok := at.variable(); ok {
		c.compareValue(at, name, why)
		return
	}
	planned, here := c.plan.at[at], c.here.at[at]
	if planned == nil && here == nil || planned != nil && here != nil && planned.text == here.text {
		return
	}
	s := Stranger{Place: at.String(), For: why}
	if planned != nil {
		s.Planned, s.Range = planned.text, planned.at
	}
	if here != nil {
		s.Here, s.HereAt = here.text, here.at
	}
	c.found = append(c.found, s)
}

// compareValue compares the values of a variable. One that is sensitive has
// none in a plan: it is read where the plan is applied.
func (c *comparison) compareValue(at place, name, why string) {
	planned, here := c.values[name], c.own[name]
	switch {
	case c.plan.sensitive[at] != c.here.sensitive[at]:
		planned, here = sensitivity(c.plan.sensitive[at]), sensitivity(c.here.sensitive[at])
	case c.plan.sensitive[at] || bytes.Equal(planned, here) && planned != nil:
		return
	}
	c.found = append(c.found, Stranger{Place: at.String(), For: why, Planned: string(planned), Here: string(here)})
}

func sensitivity(is bool) json.RawMessage {
	if is {
		return json.RawMessage("a sensitive variable")
	}
	return json.RawMessage("a variable that is shown, or none")
}

// OwnValues are the values that the variables of an inventory have by
// themselves: from their defaults, the environment and files of values. What
// is wrong with the files is left to Load.
func OwnValues(fsys fs.FS, lookupEnv func(string) (string, bool)) map[string]json.RawMessage {
	e := newEvaluator(fsys, fsys, lookupEnv, nil)
	files, err := parseDir(fsys, ".", ".weft.hcl")
	if err != nil || len(files) == 0 {
		return nil
	}
	e.root.from.files = files
	e.discover(fsys, e.root.from, nil)
	e.root.collect()
	e.give(e.valueFiles(nil), nil, nil)
	return e.inputs()
}
