package language

import (
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weft/inventory"
	"weft/inventory/problem"
)

// The shortest and the longest lease that makes sense: it is renewed six times in its
// time, and whoever comes after one who died waits for it.
const (
	shortestLease = "5s"
	longestLease  = "1h"
)

// storeSchema is where runs are kept. It is read before anything has a value.
func storeSchema() *schema {
	return &schema{label: "kind", attrs: attrs{
		"url":      opt(text()),
		"creds":    opt(text()),
		"path":     opt(text()),
		"replicas": opt(integer(1, 5)),
		"lease":    opt(duration()),
	}}
}

// ReadStore finds out where the runs of the files in the root of fsys are kept, and
// whose they are, and reads nothing else of them. Both are the zero value where the
// files do not say it, or say it in a way that is an error when they are loaded.
func ReadStore(fsys fs.FS) (s *inventory.Store, owner string, diags hcl.Diagnostics) {
	files, err := parseDir(fsys, ".", ".weft.hcl")
	if err != nil {
		return nil, "", nil // there are no files, or whoever loads them says why not
	}
	for _, f := range files {
		if f.body == nil {
			continue
		}
		for _, b := range f.body.Blocks {
			if name := b.Body.Attributes["name"]; b.Type == "weft" && name != nil {
				if v, bad := name.Expr.Value(nil); !bad.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
					owner = v.AsString()
				}
			}
		}
	}
	s, diags = storeOf(files)
	return s, owner, diags
}

// storeOf reads the store block of files.
func storeOf(files []*sourceFile) (s *inventory.Store, diags hcl.Diagnostics) {
	for _, f := range files {
		if f.body == nil {
			continue
		}
		for _, b := range f.body.Blocks {
			switch {
			case b.Type != "store" || len(b.Labels) != 1:
			case s != nil:
				diags = append(diags, problem.New(problem.Twice, b.DefRange(), "duplicate store", "The run store is already declared at %s.", problem.Where(s.Range)))
			default:
				var bad hcl.Diagnostics
				s, bad = oneStore(b)
				diags = append(diags, bad...)
			}
		}
	}
	return s, diags
}

func oneStore(b *hclsyntax.Block) (*inventory.Store, hcl.Diagnostics) {
	s := &inventory.Store{Kind: b.Labels[0], Range: b.DefRange()}
	var diags hcl.Diagnostics
	wants := map[string][]string{"nats": {"url", "creds", "replicas", "lease"}, "directory": {"path", "lease"}}[s.Kind]
	if wants == nil {
		return s, hcl.Diagnostics{problem.New(problem.Value, b.LabelRanges[0], "unknown store", `The label must be "nats" or "directory", not %q.`, s.Kind)}
	}
	for _, name := range sortedNames(b.Body.Attributes) {
		a := b.Body.Attributes[name]
		v, bad := a.Expr.Value(nil)
		if bad.HasErrors() || !v.IsWhollyKnown() || v.IsNull() {
			diags = append(diags, problem.New(problem.Value, a.Expr.Range(), "not a constant", "The run store is read before all other blocks: write a literal value, without variables, functions and references. For different values per user or pipeline, use --store or WEFT_STORE."))
			continue
		}
		if _, known := storeSchema().attrs[name]; !known {
			continue // it is said where attributes are
		}
		if err := setStore(s, name, v); err != nil {
			diags = append(diags, problem.New(problem.Value, a.Expr.Range(), "not a value for "+name, "%v.", err))
		} else if !slices.Contains(wants, name) {
			diags = append(diags, problem.New(problem.Value, a.NameRange, name+" does not go with store "+s.Kind, "It takes %s.", strings.Join(wants, ", ")))
		}
	}
	switch {
	case diags.HasErrors():
	case s.Kind == "nats" && s.URL == "" && s.Creds == "":
		diags = append(diags, problem.New(problem.Missing, b.DefRange(), `store "nats" lacks its url`, "Set url, or set creds to the file that weft hub credential add created, which contains the address."))
	case s.Kind == "directory" && s.Path == "":
		diags = append(diags, problem.New(problem.Missing, b.DefRange(), `store "directory" lacks its path`, "Write path."))
	}
	return s, diags
}

func setStore(s *inventory.Store, name string, v cty.Value) error {
	if name == "replicas" {
		if v.Type() != cty.Number {
			return fmt.Errorf("it is a number from 1 to 5")
		}
		n, exact := v.AsBigFloat().Int64()
		if exact != 0 || n < 1 || n > 5 {
			return fmt.Errorf("it is a number from 1 to 5")
		}
		s.Replicas = int(n)
		return nil
	}
	if v.Type() != cty.String {
		return fmt.Errorf("it must be a string")
	}
	text := v.AsString()
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("it contains invisible characters")
	}
	switch name {
	case "url":
		s.URL = text
		return CheckStoreURL(text)
	case "creds":
		s.Creds = text
	case "path":
		s.Path = text
	case "lease":
		return setLease(s, text)
	}
	return nil
}

// CheckStoreURL refuses what is no address of a hub, or of several servers of it.
func CheckStoreURL(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(one)
		if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Hostname() == "" || strings.ContainsAny(one, " \"'$<>\\") {
			return fmt.Errorf("%q is not the address of a hub: use tls://HOST:PORT, or nats://HOST:PORT on this machine", one)
		}
	}
	return nil
}

func setLease(s *inventory.Store, text string) (err error) {
	least, err := parseDuration(shortestLease)
	if err != nil {
		return err
	}
	most, err := parseDuration(longestLease)
	if err != nil {
		return err
	}
	s.Lease, err = parseDuration(text)
	if err == nil && (s.Lease < least || s.Lease > most) {
		err = fmt.Errorf("a lease lasts from %s to %s", shortestLease, longestLease)
	}
	return err
}
