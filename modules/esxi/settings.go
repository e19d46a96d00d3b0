package esxi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// An Option is an advanced option of the host.
type Option struct {
	Path  string // /Net/PVRDMAVmknic
	Value string

	number bool // observed: it is an integer
}

// OptionKind is the kind advanced_option.
func OptionKind() *host.Kind[Option] {
	return &host.Kind[Option]{
		Name: "advanced_option", Lasting: true,
		Declares: &inventory.BlockType{
			Name: "advanced_option", About: "An advanced option of an ESXi host.", Label: "path",
			Named: inventory.Form{Is: "the path of an advanced option: /Net/PVRDMAVmknic", Pattern: `(/[A-Za-z0-9_]+){2,}`},
			Attributes: []inventory.Attribute{{Name: "value", About: "The value: text, or a number for a numeric option.", Needed: true,
				Form: inventory.Form{Is: "a single-line string", Pattern: `[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*`}}},
		},
		Blocks: func(s *inventory.Server) (list []host.Block[Option]) {
			for _, b := range s.Declared("advanced_option") {
				list = append(list, host.Block[Option]{Block: &b.Block, Name: b.Label, Also: b.Label + ".value", Want: &Option{Path: b.Label, Value: b.Values["value"]}})
			}
			return list
		},
		Looks: (*Option).Looks, Parse: (*Option).Parse, Diff: (*Option).Diff, Steps: (*Option).Steps, Check: (*Option).check,
	}
}

// check keeps hands off what weft itself, and the host's way to it, rest on.
func (o *Option) check() error {
	if strings.HasPrefix(o.Path, "/ScratchConfig/") {
		return hint.Wrap(errors.New("where scratch is decides where weft remembers what it did"), "set it by hand, and restart the host, before weft changes anything there")
	}
	return nil
}

func (o *Option) look() remote.Look {
	return ask("system", "settings", "advanced", "list", "-o", o.Path)
}

func (o *Option) Looks() []remote.Look { return []remote.Look{o.look()} }

func (o *Option) Parse(s remote.Seen) (*Option, error) {
	var err error
	r := one(s, o.look(), &err)
	have := &Option{Path: o.Path, number: strings.HasPrefix(strings.ToLower(r.text("Type")), "int")}
	if have.number {
		have.Value = r.text("IntValue")
	} else {
		have.Value = r.text("StringValue")
	}
	if err != nil {
		return nil, err
	}
	if _, bad := strconv.ParseInt(o.Value, 10, 64); have.number && bad != nil {
		return nil, fmt.Errorf("%s is a number on this host, and %q is none", o.Path, o.Value)
	}
	return have, nil
}

func (o *Option) Diff(have *Option) []plan.Change {
	return plan.Changed("value", have.Value, o.Value, plan.ImpactNone)
}

func (o *Option) Steps(have *Option) []remote.Step {
	if have.Value == o.Value {
		return nil
	}
	as := "-s"
	if o.number || have.number {
		as = "-i"
	}
	return []remote.Step{host.Run("esxcli", "system", "settings", "advanced", "set", "-o", o.Path, as, o.Value)}
}

// A Ruleset is one of the host's firewall.
type Ruleset struct {
	Name    string
	Enabled bool
}

// RulesetKind is the kind firewall_ruleset.
func RulesetKind() *host.Kind[Ruleset] {
	return &host.Kind[Ruleset]{
		Name: "firewall_ruleset", Lasting: true,
		Declares: &inventory.BlockType{
			Name: "firewall_ruleset", About: "A firewall ruleset of an ESXi host.", Label: "name",
			Named: inventory.Form{Is: "the name of a ruleset: pvrdma", Pattern: `[A-Za-z0-9_][A-Za-z0-9_-]*`},
			Attributes: []inventory.Attribute{{Name: "enabled", About: "Whether the ruleset allows its traffic.", Default: "true",
				Form: inventory.Form{Is: `"true" or "false"`, Pattern: `true|false`}}},
		},
		Blocks: func(s *inventory.Server) (list []host.Block[Ruleset]) {
			for _, b := range s.Declared("firewall_ruleset") {
				list = append(list, host.Block[Ruleset]{Block: &b.Block, Name: b.Label, Also: b.Label + ".enabled", Want: &Ruleset{b.Label, b.Values["enabled"] == "true"}})
			}
			return list
		},
		Looks: (*Ruleset).Looks, Parse: (*Ruleset).Parse, Diff: (*Ruleset).Diff, Steps: (*Ruleset).Steps, Check: (*Ruleset).check,
	}
}

// check: without it nobody gets in any more, weft included.
func (r *Ruleset) check() error {
	if r.Name == "sshServer" && !r.Enabled {
		return errors.New("without it weft does not get in any more")
	}
	return nil
}

func (r *Ruleset) look() remote.Look {
	return ask("network", "firewall", "ruleset", "list", "-r", r.Name)
}

func (r *Ruleset) Looks() []remote.Look { return []remote.Look{r.look()} }

func (r *Ruleset) Parse(s remote.Seen) (*Ruleset, error) {
	var err error
	have := &Ruleset{r.Name, one(s, r.look(), &err).flag("Enabled")}
	if err != nil {
		return nil, err
	}
	return have, nil
}

func (r *Ruleset) Diff(have *Ruleset) []plan.Change {
	impact := plan.ImpactNone
	if !r.Enabled {
		impact = plan.ImpactTraffic
	}
	return plan.Changed("enabled", have.Enabled, r.Enabled, impact)
}

func (r *Ruleset) Steps(have *Ruleset) []remote.Step {
	if have.Enabled == r.Enabled {
		return nil
	}
	return []remote.Step{host.Run("esxcli", "network", "firewall", "ruleset", "set", "-e", strconv.FormatBool(r.Enabled), "-r", r.Name)}
}
