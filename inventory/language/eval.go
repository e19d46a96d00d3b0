package language

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// An evaluator computes one attribute of one instance at a time, when it is
// asked for, and keeps the result. So a target may use an attribute of an
// initiator that connects to that target.
//
// A value that could not be computed is unknown: what went wrong has been
// reported where it happened, and what depends on it stays silent.
type evaluator struct {
	own      []*inventory.BlockType // the blocks in a server that kinds declare
	root     *module
	schemas  map[string]*schema
	outside  *outside
	secrets  *outside   // what secrets are read from
	reading  sync.Mutex // held while a secret is read
	inSecret bool       // one is being read: commands may run
	stack    []*cell    // being computed
	depth    int        // of the expressions in stack, one within the other
	spent    weight     // by the loops and templates of the last in stack
	tooMuch  *hcl.Diagnostic
	guesses  int             // of names that were meant
	meant    map[string]bool // types of blocks that were refused, as they are or as they were meant
	turns    int             // of all loops
	dizzied  *hcl.Diagnostic
	full     bool // there are more objects than there may be
	diags    hcl.Diagnostics
	errors   int // that were reported, also those that are not kept
	warnings int
	seq      int // of the last object
	modules  int // that were made

	directories map[string]*directory // by path

	denied map[hcl.Range]bool // where the machine was asked for although the files are not trusted; nil: they are

	connecting  *cell                 // finds the connections
	connections map[*object][]*object // the initiators of each target
}

// sensitive marks values that are never shown.
const sensitive = mark("sensitive")

type mark string

func newEvaluator(fsys, secrets fs.FS, env func(string) (string, bool), own []*inventory.BlockType) *evaluator {
	e := &evaluator{own: own, schemas: language(own), directories: map[string]*directory{}}
	e.outside, e.secrets = e.newOutside(fsys, env), e.newOutside(secrets, env)
	e.connecting = newCell("the initiators of all targets", hcl.Range{}, 0, e.connect)
	e.root = e.newModule(e.newDirectory("."), nil)
	return e
}

// maxKept bounds the errors, and apart from them the warnings, that are kept.
const maxKept = 50_000

func (e *evaluator) report(diags ...*hcl.Diagnostic) {
	for _, d := range diags {
		n := &e.errors
		if d.Severity != hcl.DiagError {
			n = &e.warnings
		}
		if *n++; *n <= maxKept {
			e.diags = append(e.diags, d)
		}
	}
}

// A cell is a value that is computed once: an attribute of an object or
// something else.
type cell struct {
	of    source
	attr  string // of an object
	state cellState
	value cty.Value
}

// A source computes what a cell holds. attr says which of its values.
type source interface {
	cellName(attr string) string
	cellRange(attr string) hcl.Range
	cellDepth(attr string) int // of the expression
	compute(e *evaluator, attr string) cty.Value
}

type cellState uint8

const (
	cellIdle cellState = iota
	cellRunning
	cellDone
)

func newCell(name string, at hcl.Range, depth int, compute func() cty.Value) *cell {
	return &cell{of: &computed{name, at, depth, compute}}
}

// computed is a source of one value.
type computed struct {
	name   string
	at     hcl.Range
	depth  int
	result func() cty.Value
}

func (c *computed) cellName(string) string               { return c.name }
func (c *computed) cellRange(string) hcl.Range           { return c.at }
func (c *computed) cellDepth(string) int                 { return c.depth }
func (c *computed) compute(*evaluator, string) cty.Value { return c.result() }

func (c *cell) name() string  { return c.of.cellName(c.attr) }
func (c *cell) at() hcl.Range { return c.of.cellRange(c.attr) }

// get computes the cell. When the cell needs itself, that is reported once and
// the result is unknown.
func (e *evaluator) get(c *cell) cty.Value {
	switch c.state {
	case cellDone:
		return c.value
	case cellRunning:
		e.reportCycle(c)
		return cty.DynamicVal
	}
	if e.depth > maxDepth {
		e.report(problem.New(problem.TooLarge, c.at(), "dependency chain too long",
			"%s is the last of %d values that depend on each other.", c.name(), len(e.stack)))
		return cty.DynamicVal
	}
	c.state = cellRunning
	depth := c.of.cellDepth(c.attr) + 1
	e.depth += depth
	e.stack = append(e.stack, c)
	spent := e.spent
	e.spent = weight{}
	c.value = c.of.compute(e, c.attr)
	e.spent = spent
	e.stack = e.stack[:len(e.stack)-1]
	e.depth -= depth
	c.state = cellDone
	return c.value
}

// maxDepth bounds the stack: computing one level of an expression takes some
// kilobytes of it.
const maxDepth = 20_000

func (e *evaluator) reportCycle(c *cell) {
	cycle := e.stack[slices.Index(e.stack, c):]
	var path strings.Builder
	at := hcl.Range{}
	for _, link := range cycle {
		path.WriteString(link.name())
		if there := link.at(); there.Filename != "" { // else it stands for many places
			fmt.Fprintf(&path, " (%s)", problem.Where(there))
			if at.Filename == "" {
				at = there
			}
		}
		path.WriteString(" needs\n")
	}
	path.WriteString(c.name() + ".")
	e.report(problem.New(problem.Cycle, at, c.name()+" depends on itself", "%s", path.String()))
}

// eval computes an expression and reports what is wrong with it. The result is
// unknown when it cannot be computed.
func (e *evaluator) eval(x hcl.Expression, scope *hcl.EvalContext) cty.Value {
	v, diags := x.Value(scope)
	diags = problem.Coded(problem.Expr, diags)
	for _, d := range diags {
		if d.Context == nil {
			d.Context = x.Range().Ptr()
		}
	}
	e.report(diags...)
	if diags.HasErrors() {
		return cty.DynamicVal
	}
	if tooHeavy(v, 1) {
		e.report(heavy(x.Range(), "value too large"))
		return cty.DynamicVal
	}
	if !v.IsWhollyKnown() {
		return cty.DynamicVal
	}
	return v
}

// attr computes an attribute of an object, written or not.
func (e *evaluator) attr(o *object, name string) cty.Value {
	place, written := slices.BinarySearch(o.body.names, name)
	if !written {
		s := o.body.schema
		if v, ok := s.constants[name]; ok {
			return v
		}
		place = len(o.body.names) + slices.Index(s.derived, name)
	}
	if o.cells == nil {
		o.cells = make([]cell, len(o.body.names)+len(o.body.schema.derived))
	}
	c := &o.cells[place]
	c.of, c.attr = o, name
	return e.get(c)
}

func (o *object) cellName(attr string) string { return o.addr + "." + attr }

func (o *object) cellRange(attr string) hcl.Range {
	if a := o.body.attrs[attr]; a != nil {
		return a.SrcRange
	}
	return *o.header
}

func (o *object) cellDepth(attr string) int { return o.body.depth(attr) }

func (o *object) compute(e *evaluator, attr string) cty.Value {
	spec, _ := o.body.schema.attr(attr)
	a := o.body.attrs[attr]
	if a == nil {
		return spec.derive(e, o)
	}
	if spec.late && e.usesObserved(a.Expr, o.scope) {
		return cty.NullVal(spec.takes.cty)
	}
	v := e.eval(a.Expr, o.scope)
	if !v.IsKnown() {
		return v
	}
	var marks cty.ValueMarks
	if v.ContainsMarked() {
		v, marks = v.UnmarkDeep()
	}
	if len(marks) > 0 && !spec.private {
		e.report(problem.New(problem.Shown, a.SrcRange, "sensitive value would be shown",
			"%s is shown in plans and reports and cannot take a sensitive value.", attr))
		return cty.DynamicVal
	}
	if v.IsNull() {
		return e.null(o, attr, spec)
	}
	v, d := spec.takes.accept(v, a.Expr, len(marks) > 0)
	if d != nil {
		d.Detail = fmt.Sprintf("%s of %s: %s", attr, o.addr, d.Detail)
		e.report(problem.Within(d, a.SrcRange))
		return cty.DynamicVal
	}
	return v.WithMarks(marks)
}

// null is the value of an attribute that is written as null, which is as if it
// were not written.
func (e *evaluator) null(o *object, name string, spec attr) cty.Value {
	switch {
	case spec.needed:
		a := o.body.attrs[name]
		e.report(problem.Within(problem.New(problem.Missing, a.Expr.Range(), name+" is null", "%s is required: %s.", name, spec.takes.name), a.SrcRange))
		return cty.DynamicVal
	case spec.derive != nil:
		return spec.derive(e, o)
	}
	return spec.constant()
}

// accept converts a value to the type and checks it. hidden keeps the value
// out of messages.
func (t valueType) accept(v cty.Value, x hcl.Expression, hidden bool) (cty.Value, *hcl.Diagnostic) {
	if t.cty == cty.NilType {
		return t.acceptRefs(v, x)
	}
	converted, err := convert.Convert(v, t.cty)
	if err != nil {
		return v, problem.New(problem.Type, x.Range(), "wrong type", "%s is required, but this is %s.", t.name, describe(v))
	}
	// A number that is written out may not be what was meant: "1e3".
	v = converted
	if t.cty == cty.String && slices.Contains(t.later, v.AsString()) {
		return v, later(x.Range(), fmt.Sprintf("%q", v.AsString()))
	}
	if t.check == nil || v.IsNull() {
		return v, nil
	}
	if err := t.check(v); err != nil {
		if other := (*otherWay)(nil); errors.As(err, &other) && !hidden {
			return v, other.at(x.Range())
		}
		msg := err.Error()
		if hidden {
			msg = t.name + " is needed"
		}
		return v, problem.New(cmp.Or(t.code, problem.Value), errorRange(x, err), "not "+t.name, "%s", sentence(msg))
	}
	return v, nil
}

// describe names what a value is, without its content.
func describe(v cty.Value) string {
	ty := v.Type()
	switch {
	case v.IsNull():
		return "null"
	case ty == refType && v.IsKnown():
		return "a reference to " + v.EncapsulatedValue().(*object).addr
	case ty.IsObjectType():
		return "an object"
	case ty.IsTupleType():
		return "a list"
	}
	return "a " + strings.TrimPrefix(ty.FriendlyName(), "a ")
}

// sentence ends a text as a sentence does.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}
