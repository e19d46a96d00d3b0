package esxi

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// A Parameter is one of a module of the VMkernel.
type Parameter struct {
	Module, Name string
	Value        string // "" is the default
}

// ParametersKind is the kind module_parameters, a resource for each parameter.
func ParametersKind() *host.Kind[Parameter] {
	return &host.Kind[Parameter]{
		Name: "module_parameters", Lasting: true,
		Declares: &inventory.BlockType{
			Name: "module_parameters", About: "Driver parameters of an ESXi host, active after its next restart.", Label: "module",
			Named: inventory.Form{Is: "the name of a module: nmlx5_core", Pattern: `[A-Za-z0-9_]+`},
			Attributes: []inventory.Attribute{{Name: "set", About: "The parameters, NAME=VALUE, separated by spaces; other parameters do not change.", Needed: true,
				Form: inventory.Form{Is: "words NAME=VALUE", Pattern: ` *[A-Za-z0-9_]+=[A-Za-z0-9_.,:+-]+( +[A-Za-z0-9_]+=[A-Za-z0-9_.,:+-]+)* *`}}},
		},
		Blocks: func(s *inventory.Server) (list []host.Block[Parameter]) {
			for _, b := range s.Declared("module_parameters") {
				for _, word := range strings.Fields(b.Values["set"]) {
					name, value, _ := strings.Cut(word, "=")
					list = append(list, host.Block[Parameter]{Block: &b.Block, Name: b.Label + "." + name, Also: b.Label + ".set", Want: &Parameter{b.Label, name, value}})
				}
			}
			return list
		},
		Looks: (*Parameter).Looks, Parse: (*Parameter).Parse, Diff: (*Parameter).Diff, Steps: (*Parameter).Steps,
	}
}

func parametersLook(module string) remote.Look {
	return ask("system", "module", "parameters", "list", "-m", module)
}

func (p *Parameter) Looks() []remote.Look { return []remote.Look{parametersLook(p.Module)} }

func (p *Parameter) Parse(s remote.Seen) (*Parameter, error) {
	all, err := readParameters(s, p.Module)
	if err != nil {
		return nil, err
	}
	value, ok := all[p.Name]
	if !ok {
		return nil, fmt.Errorf("the module %s has no parameter %s on this host: esxcli system module parameters list -m %[1]s", p.Module, p.Name)
	}
	return &Parameter{p.Module, p.Name, value}, nil
}

func readParameters(s remote.Seen, module string) (all map[string]string, err error) {
	all = map[string]string{}
	for _, r := range table(s, parametersLook(module), &err) {
		name, value := r.text("Name"), r.text("Value")
		if strings.ContainsAny(value, " \t\"'") {
			fail(&err, "the parameter %s of %s is %q, which has a space: weft could not write it again as it is", name, module, value)
		}
		all[name] = value
	}
	return all, err
}

func shown(value string) string {
	if value == "" {
		return "default"
	}
	return value
}

// Diff: a driver reads its parameters when it is loaded.
func (p *Parameter) Diff(have *Parameter) []plan.Change {
	return plan.Changed("value", shown(have.Value), shown(p.Value), plan.ImpactReboot)
}

// Steps: the host replaces all parameters of a module at once. What nobody here speaks
// of is read when the step is taken, and written again.
func (p *Parameter) Steps(have *Parameter) []remote.Step {
	if have.Value == p.Value {
		return nil
	}
	return []remote.Step{host.Run("esxcli", "system", "module", "parameters", "set", "-m", p.Module, "-p", "{as they are, "+p.Name+"="+p.Value+"}")}
}

var merged = regexp.MustCompile(`^\{as they are, ([A-Za-z0-9_]+)=(.*)\}$`)

// merge gives the argument of such a step all that the module has now.
func (t transport) merge(ctx context.Context, args []string) ([]string, error) {
	last := len(args) - 1
	if last < 2 {
		return args, nil
	}
	m := merged.FindStringSubmatch(args[last])
	if m == nil {
		return args, nil
	}
	module := args[last-2]
	seen, err := t.Read(ctx, []remote.Look{parametersLook(module)})
	if err != nil {
		return nil, err
	}
	all, err := readParameters(seen, module)
	if err != nil {
		return nil, err
	}
	all[m[1]] = m[2]
	var set []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] != "" {
			set = append(set, name+"="+all[name])
		}
	}
	return append(slices.Clone(args[:last]), strings.Join(set, " ")), nil
}
