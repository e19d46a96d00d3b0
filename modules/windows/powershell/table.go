// Package powershell writes every script that weft sends to a Windows host, and reads
// what comes back. A script is one of few forms: no text is spliced into it but by
// Quote, and each cmdlet in it, with its parameters, is held to a table taken from
// Microsoft's reference.
package powershell

import (
	_ "embed" // the table
	"fmt"
	"slices"
	"strings"
)

//go:embed cmdlets.txt
var cmdlets string

// A set is one parameter set of a cmdlet.
type set struct {
	name   string
	params []param
}

// A param is one of its parameters.
type param struct {
	name, kind string // Name, String[]; a switch has the kind switch
	needed     bool
}

// sets are those of a cmdlet; none: the table does not have it. Names are compared as
// PowerShell does, whatever the case of their letters.
func sets(cmdlet string) (list []set) {
	for line := range strings.Lines(cmdlets) {
		words := strings.Fields(line)
		if len(words) < 2 || line[0] == '#' || !strings.EqualFold(words[0], cmdlet) {
			continue
		}
		s := set{name: words[1]}
		for _, w := range words[2:] {
			name, kind, _ := strings.Cut(w, "=")
			kind, needed := strings.CutSuffix(kind, "!")
			s.params = append(s.params, param{name, kind, needed})
		}
		list = append(list, s)
	}
	return list
}

// find is a parameter of a set by its whole name: weft writes none short.
func (s set) find(name string) (param, bool) {
	i := slices.IndexFunc(s.params, func(p param) bool { return strings.EqualFold(p.name, name) })
	if i < 0 {
		return param{}, false
	}
	return s.params[i], true
}

// takes says why the set does not take those parameters; "": it does.
func (s set) takes(names []string) string {
	for _, n := range names {
		if _, ok := s.find(n); !ok && !strings.EqualFold(n, "ErrorAction") {
			return "it has no -" + n
		}
	}
	for _, p := range s.params {
		if p.needed && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, p.name) }) {
			return "it needs -" + p.name
		}
	}
	return ""
}

// fits is nil where some parameter set of a cmdlet takes the parameters.
func fits(cmdlet string, names []string) error {
	all := sets(cmdlet)
	if len(all) == 0 {
		return fmt.Errorf("%s is no cmdlet of Microsoft's reference that weft knows", cmdlet)
	}
	for i, n := range names {
		if slices.ContainsFunc(names[:i], func(o string) bool { return strings.EqualFold(o, n) }) {
			return fmt.Errorf("%s: -%s is given twice", cmdlet, n)
		}
	}
	var why []string
	for _, s := range all {
		no := s.takes(names)
		if no == "" {
			return nil
		}
		why = append(why, "of set "+s.name+", "+no)
	}
	return fmt.Errorf("%s: no parameter set takes -%s: %s", cmdlet, strings.Join(names, " -"), strings.Join(why, "; "))
}

// kindOf is the type of a parameter, which is the same in all sets of a cmdlet.
func kindOf(cmdlet, name string) (string, bool) {
	if strings.EqualFold(name, "ErrorAction") {
		return "ActionPreference", true
	}
	for _, s := range sets(cmdlet) {
		if p, ok := s.find(name); ok {
			return p.kind, true
		}
	}
	return "", false
}
