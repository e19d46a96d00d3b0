// Package language reads HCL files into an inventory: it parses them, evaluates
// what stands there (variables, functions, modules, for_each, dynamic blocks),
// holds blocks against their schemas, and has the rules check what comes out.
package language

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"weft/inventory"
	"weft/inventory/problem"
	"weft/inventory/rules"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// Version is the version of weft, which required_version is compared with.
const Version = inventory.Version

// Options are what Load takes from outside of the directory.
type Options struct {
	// Blocks are those in a server that kinds of resources declare for themselves.
	Blocks []*inventory.BlockType

	Vars      []string                    // "name=value" from --var, in order
	VarFiles  []VarFile                   // contents of --var-file, in order
	LookupEnv func(string) (string, bool) // os.LookupEnv; nil: an empty environment

	// Values are those of a saved plan: the Inputs of its model. They replace
	// values from all other sources, and where they are not nil the environment
	// gives values to sensitive variables only.
	Values map[string]json.RawMessage

	// Secrets is where Secret.Read finds files; nil: where Load does.
	Secrets fs.FS

	// Untrusted: whoever wrote the files may be anybody. env and exec are refused
	// where they stand, the environment gives no variable a value, no secret is
	// read, and a sensitive variable without a value is not known. That no file
	// leads out of fsys is for the caller to see to.
	Untrusted bool
}

// A VarFile is a file with values of variables.
type VarFile struct {
	Name    string
	Content []byte
}

// Load reads every *.weft.hcl file in the root of fsys and in the directories
// that module blocks name, evaluates and checks them, and returns what they describe. Values of variables come, from the
// weakest source to the strongest, from defaults, WEFT_VAR_name, weft.weftvars,
// *.auto.weftvars, --var-file and --var.
//
// All problems of all files are reported at once, each with a Code. The model
// is never nil, so that diagnostics can be shown with its Files; after an
// error nothing else in it may be relied upon.
//
// Secrets are not read before Secret.Read is called; LookupEnv and fsys must
// work until then.
func Load(fsys fs.FS, o Options) (*inventory.Model, hcl.Diagnostics) {
	env := o.LookupEnv
	if env == nil || o.Untrusted {
		env = func(string) (string, bool) { return "", false }
	}
	secrets := o.Secrets
	if secrets == nil {
		secrets = fsys
	}
	e := newEvaluator(fsys, secrets, env, o.Blocks)
	if o.Untrusted {
		e.denied = map[hcl.Range]bool{}
	}
	m := &inventory.Model{Files: map[string]*hcl.File{}, Sources: map[string][]byte{}, Evaluator: e}
	files, err := parseDir(fsys, ".", ".weft.hcl")
	if err != nil {
		e.report(problem.New(problem.File, fileStart("."), "cannot read the inventory", "%v.", err))
		return m, e.finish()
	}
	if len(files) == 0 {
		e.report(problem.New(problem.File, fileStart("."), "no inventory here", "The directory has no file whose name ends in .weft.hcl. weft init writes some to begin with, and weft -C DIR works in another directory."))
		return m, e.finish()
	}
	values := e.valueFiles(o.VarFiles)
	e.root.from.files = files
	e.discover(fsys, e.root.from, nil)
	files = e.sourceFiles()
	e.take(m, files)
	e.root.collect()
	if e.anySensitive() || broken(files) {
		// A snippet of such a file might show a secret.
		for _, f := range values {
			f.file = nil
		}
	}
	e.take(m, values)
	if broken(files) || broken(values) {
		// What a broken file would have declared is missing everywhere.
		return m, e.finish()
	}
	e.give(values, o.Vars, o.Values)
	e.checkVersion()
	var bad hcl.Diagnostics
	m.Store, bad = storeOf(files)
	e.report(bad...)
	e.checkSecrets()
	b := &builder{evaluator: e, m: m}
	if b.build(); e.full {
		return m, e.finish()
	}
	e.finishValues()
	m.Name = e.ownerName()
	m.Inputs = e.inputs()
	e.keepSources(m, files)
	e.report(rules.Check(m)...)
	return m, e.finish()
}

// valueFiles reads the files of values, the weakest first.
func (e *evaluator) valueFiles(given []VarFile) []*sourceFile {
	files, err := parseDir(e.outside.fsys, ".", ".weftvars")
	if err != nil {
		e.report(problem.New(problem.File, fileStart("."), "cannot read the values", "%v.", err))
	}
	files = slices.DeleteFunc(files, func(f *sourceFile) bool {
		return f.name != "weft.weftvars" && !strings.HasSuffix(f.name, ".auto.weftvars")
	})
	slices.SortStableFunc(files, func(a, b *sourceFile) int {
		return boolOrder(a.name != "weft.weftvars") - boolOrder(b.name != "weft.weftvars")
	})
	for _, v := range given {
		f := &sourceFile{name: v.Name, given: true}
		if len(v.Content) > maxFileSize {
			f.diags = hcl.Diagnostics{problem.New(problem.File, fileStart(f.name), "cannot read "+f.name, "It is larger than %d MiB.", maxFileSize>>20)}
		} else {
			f.parse(v.Content)
		}
		files = append(files, f)
	}
	return files
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// sourceFiles are those of all directories.
func (e *evaluator) sourceFiles() []*sourceFile {
	var files []*sourceFile
	for _, path := range slices.Sorted(maps.Keys(e.directories)) {
		files = append(files, e.directories[path].files...)
	}
	return files
}

// take puts files into the model and reports what is wrong with them.
func (e *evaluator) take(m *inventory.Model, files []*sourceFile) {
	for _, f := range files {
		if f.file != nil {
			m.Files[f.name] = f.file
		}
		e.report(f.diags...)
	}
}

func (e *evaluator) anySensitive() bool {
	return slices.ContainsFunc(e.root.order, func(v *variable) bool { return v.sensitive })
}

// finishValues computes what nothing has asked for, to find what is wrong
// with it.
func (e *evaluator) finishValues() {
	for _, m := range e.contents().modules {
		for _, name := range slices.Sorted(maps.Keys(m.locals)) {
			e.get(m.locals[name])
		}
		e.validateVariables(m)
	}
	e.get(e.connecting)
}

func (e *evaluator) ownerName() string {
	if v := e.owner(); v.IsKnown() && !v.IsNull() {
		return v.AsString()
	}
	return ""
}

// keepSources copies into the model what Load has read besides values of
// variables. Secrets are not in there: checkSecrets has made sure.
func (e *evaluator) keepSources(m *inventory.Model, files []*sourceFile) {
	maps.Copy(m.Sources, e.outside.read)
	for _, f := range files {
		m.Sources[f.name] = f.file.Bytes
	}
}

// Evaluate computes an expression of a Check or an Output. Observed attributes
// come from observed.
func (e *evaluator) Evaluate(x hcl.Expression, observed inventory.Observed) (cty.Value, hcl.Diagnostics) {
	e.afresh()
	v, diags := x.Value(e.withObserved(observed))
	return v, problem.Coded(problem.Expr, diags)
}
