package language

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A Use is an expression that takes something from the machine on which it is
// evaluated: it calls exec, env, file or templatefile, needs a variable that is
// sensitive, or a local or an input that does one of these.
type Use struct {
	Place string    // credential.leaf.password; within a module its directory comes before: net: local.key
	Range hcl.Range // of the attribute
	Text  string    // the expression as it is written
	Calls []Call    // in it
	With  []Given   // what it depends on, and that on; nil: on nothing

	Sensitive []string // the variables of the root that it needs, whose values no plan holds
}

// A Call is one of exec, env, file and templatefile in a Use.
type Call struct {
	Function string
	Text     string // as it is written
	Here     bool   // what it reads is on this machine, and not text that a plan file holds
}

// A Given is something that an expression depends on.
type Given struct {
	Place string // local.host; of a value, var.site
	Text  string // the expression, or the value as JSON
}

// Uses lists what the files of an inventory take from outside of them, in the
// order of files and lines. It evaluates nothing, and passes over files that
// cannot be parsed. values are those of the variables.
func Uses(fsys fs.FS, values map[string]json.RawMessage) []Use {
	w := readPlanned(fsys)
	var list []Use
	for _, at := range w.order {
		if w.reach(at) == inside {
			continue
		}
		x := w.at[at]
		u := Use{Place: at.String(), Range: x.at, Text: x.text, Calls: x.calls}
		for _, need := range w.needs(at) {
			if name, ok := need.variable(); ok && w.sensitive[need] {
				u.Sensitive = append(u.Sensitive, name)
				continue
			}
			if g := w.given(need, values); g.Text != "" { // else nothing is written there
				u.With = append(u.With, g)
			}
		}
		list = append(list, u)
	}
	return list
}

// given shows what stands at a place, or the value of a variable.
func (w *writings) given(at place, values map[string]json.RawMessage) Given {
	g := Given{Place: at.String()}
	if x := w.at[at]; x != nil {
		g.Text = x.text
	}
	if name, ok := at.variable(); ok {
		g.Text = string(values[name])
	}
	return g
}

// A place is where an attribute stands: the directory and the names of blocks
// around it. Files do not matter: blocks may move from one to another.
type place struct{ dir, path string }

// String is the place as messages name it.
func (p place) String() string {
	if p.dir == "." {
		return p.path
	}
	return p.dir + ": " + p.path
}

// variable is the name of the variable of the root whose value the place is.
func (p place) variable() (string, bool) {
	name, ok := strings.CutPrefix(p.path, "var.")
	return name, ok && p.dir == "." && !strings.Contains(name, ".")
}

// A writing is an attribute, or a template, as it stands in its file.
type writing struct {
	text   string
	at     hcl.Range
	calls  []Call
	looks  []hcl.Traversal
	around []place // for_each and count of the blocks around it
	turns  []place // those of them that are of dynamic blocks, whose names hide others
	secret bool    // it is evaluated when weft connects

	template bool // it is a whole file, which templatefile may fill
}

// writings are all attributes of an inventory, unevaluated.
type writings struct {
	at        map[place]*writing
	order     []place
	blocks    map[place][]place  // what stands in a block of the first level
	modules   map[string][]place // the module blocks that lead to a directory
	sensitive map[place]bool     // variables
	reading   bool               // a template reads from this machine
	reaches   map[place]reach
}

// readPlanned reads all that a plan file holds.
func readPlanned(fsys fs.FS) *writings {
	var dirs, others []string
	_ = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error { // what cannot be read holds nothing
		switch dir := path.Dir(name); {
		case err != nil || d.IsDir():
		case !strings.HasSuffix(name, ".weft.hcl"):
			others = append(others, name)
		case !slices.Contains(dirs, dir):
			dirs = append(dirs, dir)
		}
		return nil
	})
	w := readWritings(fsys, dirs)
	w.readTemplates(fsys, others)
	return w
}

func readWritings(fsys fs.FS, dirs []string) *writings {
	w := &writings{at: map[place]*writing{}, blocks: map[place][]place{}, modules: map[string][]place{},
		sensitive: map[place]bool{}, reaches: map[place]reach{}}
	secrets := secretWords()
	for _, dir := range dirs {
		files, err := parseDir(fsys, dir, ".weft.hcl")
		if err != nil {
			continue // it is not there
		}
		for _, f := range files {
			if f.body != nil {
				r := &writingReader{w: w, dir: dir, src: f.file.Bytes, secrets: secrets}
				r.body(f.body, "", writing{})
			}
		}
	}
	return w
}

// readTemplates adds files that may be templates and read from the machine
// that fills them.
func (w *writings) readTemplates(fsys fs.FS, names []string) {
	for _, name := range names {
		src, err := readLimited(fsys, name)
		if err != nil {
			continue
		}
		if tokens, _ := hclsyntax.LexTemplate(src, name, hcl.InitialPos); nestedTooDeep(tokens) != nil {
			continue // templatefile refuses it
		}
		x, diags := hclsyntax.ParseTemplate(src, name, hcl.InitialPos)
		if diags.HasErrors() {
			continue // it is no template
		}
		t := &writing{text: string(src), at: fileStart(name), template: true}
		t.calls = calls(x, src, true)
		t.calls = slices.DeleteFunc(t.calls, func(c Call) bool { return c.Function != "env" })
		if t.calls != nil {
			at := place{".", name}
			w.at[at], w.order, w.reading = t, append(w.order, at), true
		}
	}
}

// secretWords are the attributes that are read when weft connects.
func secretWords() map[string]bool {
	words := map[string]bool{}
	var walk func(*schema)
	walk = func(s *schema) {
		for name, a := range s.attrs {
			words[name] = words[name] || a.secret
		}
		for _, b := range s.blocks {
			walk(b.schema)
		}
	}
	for _, s := range language(nil) { // no text of a kind's own block is secret
		walk(s)
	}
	return words
}

// A writingReader reads the attributes of one file.
type writingReader struct {
	w       *writings
	dir     string
	src     []byte
	secrets map[string]bool
}

// body reads a body. prefix names the blocks around it, and around says how
// often those are repeated.
func (r *writingReader) body(b *hclsyntax.Body, prefix string, around writing) {
	dynamic := b.Attributes["for_each"] != nil && strings.Contains(prefix, ".dynamic.")
	for _, name := range []string{"for_each", "count", "iterator"} {
		at := place{r.dir, prefix + name}
		if dynamic && name != "count" {
			around.turns = append(slices.Clip(around.turns), at) // also where no iterator is written
		}
		if b.Attributes[name] != nil || dynamic && name == "iterator" {
			around.around = append(slices.Clip(around.around), at)
		}
	}
	for _, a := range sortedAttributes(b) {
		r.attribute(b.Attributes[a], prefix, around)
	}
	seen := map[string]int{}
	for _, block := range b.Blocks {
		name := block.Type
		for _, label := range block.Labels {
			name += "." + step(label)
		}
		switch {
		case prefix != "":
			if seen[name]++; seen[name] > 1 { // blocks without a label
				name += fmt.Sprintf("[%d]", seen[name])
			}
		case block.Type == "locals":
			name = "local"
		case block.Type == "variable":
			name = "var" + strings.TrimPrefix(name, block.Type)
			r.variable(block, name)
		case block.Type == "module":
			r.module(block, name)
		}
		r.body(block.Body, prefix+name+".", around)
	}
}

// step is a label as a part of a path: one that is no name stands in quotes, so
// that no two places look alike.
func step(label string) string {
	if isName(label) {
		return label
	}
	return strconv.Quote(label)
}

// variable notes whether a variable is sensitive; in doubt it is.
func (r *writingReader) variable(block *hclsyntax.Block, name string) {
	if a := block.Body.Attributes["sensitive"]; a != nil {
		flag, diags := a.Expr.Value(nil)
		r.w.sensitive[place{r.dir, name}] = diags.HasErrors() || !flag.IsKnown() || flag.IsNull() || !flag.RawEquals(cty.False)
	}
}

func (r *writingReader) module(block *hclsyntax.Block, name string) {
	if a := block.Body.Attributes["source"]; a != nil {
		if source, plain := plainText(a.Expr); plain {
			to := path.Join(r.dir, source)
			r.w.modules[to] = append(r.w.modules[to], place{r.dir, name})
		}
	}
}

func (r *writingReader) attribute(a *hclsyntax.Attribute, prefix string, around writing) {
	at := place{r.dir, prefix + a.Name}
	first, rest, _ := strings.Cut(prefix, ".")
	block := place{r.dir, prefix}
	if label, _, ok := strings.Cut(rest, "."); ok {
		block.path = first + "." + label
	}
	secret := r.secrets[a.Name] || first == "module"
	x := &writing{
		text: strings.TrimSpace(string(r.src[a.EqualsRange.End.Byte:a.SrcRange.End.Byte])),
		at:   a.SrcRange, looks: a.Expr.Variables(), around: around.around, turns: around.turns, secret: secret,
		calls: calls(a.Expr, r.src, secret),
	}
	if r.w.at[at] != nil { // refused where it is loaded: nothing there is what it seems
		x.text = r.w.at[at].text + "\n" + x.text
		x.looks, x.calls = append(x.looks, r.w.at[at].looks...), append(x.calls, r.w.at[at].calls...)
	} else {
		r.w.order = append(r.w.order, at)
	}
	r.w.at[at] = x
	r.w.blocks[block] = append(r.w.blocks[block], at)
}

// calls lists what an expression calls of the functions that look outside.
func calls(x hclsyntax.Node, src []byte, secret bool) []Call {
	var list []Call
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics { // the visitor never fails
		c, ok := n.(*hclsyntax.FunctionCallExpr)
		if ok && (readsSecrets(c.Name) || c.Name == "templatefile") {
			list = append(list, Call{c.Name, string(c.Range().SliceBytes(src)), secret || c.Name == "env" || c.Name == "exec"})
		}
		return nil
	})
	return list
}
