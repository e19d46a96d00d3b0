package language

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// A variable is an input of the inventory.
type variable struct {
	name      string
	in        *module
	header    hcl.Range
	body      *body
	ty        cty.Type
	typed     bool
	defaults  *typeexpr.Defaults
	sensitive bool
	given     *given // the source that wins; nil: the default
	asked     *given // what a flag gives with a saved plan, which must be the same; nil: nothing
	cell      *cell
}

// given is a value for a variable from outside of the inventory.
type given struct {
	from string               // as messages call it: --var, weft.weftvars:3
	expr hclsyntax.Expression // nil: text
	text string
	json bool // text is JSON
	flag bool // it comes from --var or --var-file

	input *hclsyntax.Attribute // of a module block; nil: the above
	call  *object              // the instance of that block
}

func (m *module) addVariable(d *declared) {
	e := m.e
	v := &variable{name: d.name, in: m, header: d.header, body: d.body, ty: cty.DynamicPseudoType}
	if a := d.body.attrs["type"]; a != nil {
		ty, defaults, diags := typeexpr.TypeConstraintWithDefaults(a.Expr)
		e.report(problem.Coded(problem.VarType, diags)...)
		v.ty, v.defaults, v.typed = ty, defaults, true
	}
	if a := d.body.attrs["sensitive"]; a != nil {
		flag, diags := a.Expr.Value(nil)
		if diags.HasErrors() || flag.Type() != cty.Bool || flag.IsNull() {
			e.report(problem.New(problem.Type, a.Expr.Range(), "not true or false", "sensitive must be a literal true or false."))
		}
		// In doubt it is.
		v.sensitive = diags.HasErrors() || !flag.RawEquals(cty.False)
	}
	if a := d.body.attrs["default"]; a != nil && v.sensitive && !empty(a.Expr) {
		e.report(problem.New(problem.Literal, d.header, "default of a sensitive variable",
			"The default is written in the file (%s). Remove it or set it to null, and set the value with WEFT_VAR_%s.", problem.Where(a.SrcRange), d.name))
	}
	v.cell = newCell(m.prefix+"var."+d.name, d.header, 0, func() cty.Value { return e.computeVariable(v) })
	m.variables[d.name] = v
	m.order = append(m.order, v)
	for _, c := range d.body.blocks {
		for _, a := range c.body.attrs {
			a.Expr = e.lazy(a.Expr)
		}
	}
}

// computeVariable converts the value that wins to the variable's type.
func (e *evaluator) computeVariable(v *variable) cty.Value {
	if e.withholds(v) {
		return cty.DynamicVal
	}
	value, from, ok := e.rawVariable(v)
	if !ok {
		return cty.DynamicVal
	}
	value, marks := value.UnmarkDeep()
	if v.sensitive {
		marks = cty.NewValueMarks(sensitive)
	}
	if v.defaults != nil && !value.IsNull() {
		value = v.defaults.Apply(value)
	}
	converted, err := convert.Convert(value, v.ty)
	if err != nil {
		why := err.Error()
		if len(marks) > 0 {
			why = "it is not " + v.ty.FriendlyName()
		}
		e.report(problem.New(problem.VarType, v.header, "wrong type of variable "+v.name,
			"The value from %s does not match the type: %s.", from, why))
		return cty.DynamicVal
	}
	if !converted.IsWhollyKnown() {
		return cty.DynamicVal
	}
	if v.asked != nil {
		e.asPlanned(v, converted)
	}
	return converted.WithMarks(marks)
}

// asPlanned refuses a flag that gives a variable another value than the saved
// plan holds.
func (e *evaluator) asPlanned(v *variable, planned cty.Value) {
	other := *v
	other.given, other.asked = v.asked, nil
	value := e.computeVariable(&other)
	if !value.IsKnown() || value.RawEquals(planned) { // what is not known was reported
		return
	}
	e.report(problem.New(problem.VarPlanned, v.header, "variable "+v.name+" differs from the plan",
		"%s sets %s, but the running plan has %s. Remove it; to use another value, end the run and plan again.", v.asked.from, asJSON(value), asJSON(planned)))
}

// asJSON shows a value that is not sensitive, or the beginning of it.
func asJSON(v cty.Value) string {
	const most = 60 // bytes
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return describe(v)
	}
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

// rawVariable returns the value as it is given.
func (e *evaluator) rawVariable(v *variable) (value cty.Value, from string, ok bool) {
	switch {
	case v.given == nil:
		a := v.body.attrs["default"]
		if call := v.in.call; a == nil && call != nil {
			e.report(problem.New(problem.VarUnset, *call.header, blockName("module", call.label)+" lacks "+v.name,
				"The variable %s (%s) has no default.", v.name, problem.Where(v.header)))
			return value, "", false
		}
		if a == nil {
			if e.denied != nil {
				e.report(problem.New(problem.VarUnset, v.header, "variable "+v.name+" has no value",
					"The files are untrusted, so the environment is not read. Set it in weft.weftvars or with --var %s=….", v.name))
				return value, "", false
			}
			e.report(problem.New(problem.VarUnset, v.header, "variable "+v.name+" has no value",
				"Set it in weft.weftvars, with --var %s=… or with WEFT_VAR_%s.", v.name, v.name))
			return value, "", false
		}
		value, diags := a.Expr.Value(nil)
		if diags.HasErrors() {
			if v.sensitive {
				diags = hcl.Diagnostics{problem.New(problem.Expr, v.header, "the default of variable "+v.name, "It cannot be evaluated. It is sensitive, so details are hidden.")}
			}
			e.report(problem.Coded(problem.Expr, diags)...)
			return value, "", false
		}
		return value, "its default", true
	case v.given.input != nil:
		return e.inputVariable(v)
	case v.given.expr == nil:
		return e.textVariable(v)
	}
	value, diags := v.given.expr.Value(nil)
	if diags.HasErrors() {
		if v.sensitive {
			diags = hcl.Diagnostics{problem.New(problem.Expr, v.header, "variable "+v.name, "The value from %s cannot be evaluated. It is sensitive, so details are hidden.", v.given.from)}
		}
		e.report(problem.Coded(problem.Expr, diags)...)
		return value, "", false
	}
	return value, v.given.from, true
}

// inputVariable computes the value that a module block gives. A sensitive one
// is read as secrets are: it never gets into what a plan keeps.
func (e *evaluator) inputVariable(v *variable) (value cty.Value, from string, ok bool) {
	g := v.given
	if !v.sensitive {
		value = e.attr(g.call, g.input.Name)
		return value, g.from, value.IsKnown()
	}
	if exec, ok := g.call.body.execs[g.input.Name]; ok && !e.inSecret {
		e.report(problem.Within(misplacedExec(exec), g.input.SrcRange))
		return value, "", false
	}
	value, diags := g.input.Expr.Value(g.call.in.from.secretScope(g.call.scope))
	if diags.HasErrors() {
		e.report(problem.New(problem.Expr, v.header, "variable "+v.name, "The value from %s cannot be evaluated. It is sensitive, so details are hidden.", g.from))
		return value, "", false
	}
	return value, g.from, value.IsWhollyKnown()
}

// textVariable reads the text of --var or of the environment: a text stands
// for itself where one is wanted, else it is an expression.
func (e *evaluator) textVariable(v *variable) (value cty.Value, from string, ok bool) {
	if v.given.json {
		return e.savedVariable(v)
	}
	if v.ty == cty.String || !v.typed {
		return cty.StringVal(v.given.text), v.given.from, true
	}
	refuse := func(why string) (cty.Value, string, bool) {
		if v.sensitive {
			why = "it is not an expression"
		}
		e.report(problem.New(problem.VarType, v.header, "wrong type of variable "+v.name,
			"The value from %s cannot be read: %s.", v.given.from, strings.TrimSuffix(why, ".")))
		return cty.DynamicVal, "", false
	}
	src := []byte(v.given.text)
	if len(src) > maxFileSize {
		return refuse("it is too long")
	}
	if d := tooDeep(src, v.given.from); d != nil {
		return refuse(d.Detail)
	}
	x, diags := hclsyntax.ParseExpression(src, v.given.from, hcl.InitialPos)
	if diags.HasErrors() {
		return refuse(diags[0].Detail)
	}
	if value, diags = x.Value(nil); diags.HasErrors() {
		return refuse(diags[0].Detail)
	}
	return value, v.given.from, true
}

// savedVariable reads the JSON of a saved plan.
func (e *evaluator) savedVariable(v *variable) (value cty.Value, from string, ok bool) {
	ty, err := ctyjson.ImpliedType([]byte(v.given.text))
	if err == nil {
		value, err = ctyjson.Unmarshal([]byte(v.given.text), ty)
	}
	if err != nil {
		e.report(problem.New(problem.VarType, v.header, "wrong value of variable "+v.name, "The value in the saved plan cannot be read: %v.", err))
		return cty.DynamicVal, "", false
	}
	return value, v.given.from, true
}

// give hands the values to the variables, from the weakest source to the
// strongest: environment, weft.weftvars, *.auto.weftvars, --var-file, --var.
// What a saved plan holds replaces them all.
func (e *evaluator) give(files []*sourceFile, vars []string, saved map[string]json.RawMessage) {
	defer e.giveSaved(saved)
	for _, v := range e.root.order {
		if saved != nil && !v.sensitive {
			continue // a saved plan says what it needs of those, and reads nothing more
		}
		if text, ok := e.outside.env("WEFT_VAR_" + v.name); ok {
			v.given = &given{from: "WEFT_VAR_" + v.name, text: text}
		}
	}
	for _, f := range files {
		e.giveFile(f)
	}
	for _, pair := range vars {
		name, text, ok := strings.Cut(pair, "=")
		v := e.root.variables[name]
		switch {
		case !ok:
			e.report(problem.New(problem.VarUnknown, fileStart("--var"), "--var needs a value", "Write --var NAME=VALUE."))
		case v == nil:
			e.report(problem.New(problem.VarUnknown, fileStart("--var"), "no variable "+fmt.Sprintf("%q", name),
				"--var %s=… names an undeclared variable.%s", name, e.didYouMean(name, maps.Keys(e.root.variables))))
		default:
			v.given = &given{from: "--var " + name, text: text, flag: true}
		}
	}
}

func (e *evaluator) giveSaved(saved map[string]json.RawMessage) {
	for name, text := range saved {
		if v := e.root.variables[name]; v != nil && !v.sensitive {
			if v.given != nil && v.given.flag {
				v.asked = v.given
			}
			v.given = &given{from: "the saved plan", text: string(text), json: true}
		}
	}
}

func (e *evaluator) giveFile(f *sourceFile) {
	if f.body == nil {
		return
	}
	for _, b := range f.body.Blocks {
		e.report(problem.New(problem.Block, b.DefRange(), "block in a variables file", "A variables file contains only lines NAME = VALUE."))
	}
	for _, name := range sortedAttributes(f.body) {
		a := f.body.Attributes[name]
		v := e.root.variables[name]
		if v == nil {
			e.report(problem.New(problem.VarUnknown, a.NameRange, "no variable "+name,
				"No variable of this name is declared.%s", e.didYouMean(name, maps.Keys(e.root.variables))))
			continue
		}
		v.given = &given{from: problem.Where(a.NameRange), expr: a.Expr, flag: f.given}
	}
}

// validateVariables evaluates the validation blocks. A secret that only devices
// need is not read for nothing.
func (e *evaluator) validateVariables(m *module) {
	for _, v := range m.order {
		if v.sensitive && v.given != nil && v.given.input != nil && len(v.body.blocks) == 0 {
			continue
		}
		if !e.get(v.cell).IsKnown() {
			continue
		}
		for _, c := range v.body.blocks {
			condition, message := c.body.attrs["condition"], c.body.attrs["error_message"]
			if condition == nil || message == nil {
				continue
			}
			e.validate(v, condition, message)
		}
	}
}

func (e *evaluator) validate(v *variable, condition, message *hclsyntax.Attribute) {
	holds := e.eval(condition.Expr, v.in.scope)
	if !holds.IsKnown() {
		return
	}
	holds, _ = holds.Unmark()
	holds, err := convert.Convert(holds, cty.Bool)
	if err != nil || holds.IsNull() {
		e.report(problem.Within(problem.New(problem.Type, condition.Expr.Range(), "invalid condition", "It must be true or false."), condition.SrcRange))
		return
	}
	if holds.True() {
		return
	}
	why := e.eval(message.Expr, v.in.scope)
	if !why.IsKnown() {
		return
	}
	detail := "(the message would show a sensitive value)"
	if text, err := convert.Convert(why, cty.String); err == nil && !text.IsMarked() && !text.IsNull() {
		detail = text.AsString()
	}
	from := "its default"
	if v.given != nil {
		from = v.given.from
	}
	e.report(problem.Within(problem.New(problem.VarInvalid, condition.Expr.Range(), "variable "+v.name+" is not valid",
		"%s (The value comes from %s.)", detail, from), condition.SrcRange))
}

// inputs returns the values of the variables that are not sensitive.
func (e *evaluator) inputs() map[string]json.RawMessage {
	inputs := map[string]json.RawMessage{}
	for _, v := range e.root.order {
		value := e.get(v.cell)
		if v.sensitive || !value.IsKnown() {
			continue
		}
		if text, err := ctyjson.Marshal(value, value.Type()); err == nil {
			inputs[v.name] = text
		}
	}
	return inputs
}

// empty reports whether an expression is null or a text without characters.
func empty(x hclsyntax.Expression) bool {
	v, diags := x.Value(nil)
	return !diags.HasErrors() && (v.IsNull() || v.RawEquals(cty.StringVal("")))
}
