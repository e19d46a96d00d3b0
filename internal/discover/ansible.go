package discover

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"weft/internal/hint"
)

// ParseAnsible reads machines from an inventory of Ansible: YAML, the JSON of
// ansible-inventory --list, or lines with groups in brackets. A machine is the same in every
// group that names it. Of the variables those of ansibleWords count, of hosts and of groups.
// Entries that weft would have to guess are refused by name: ranges, templates, ports.
func ParseAnsible(text []byte) ([]Named, error) {
	inv := &ansibleInventory{hosts: map[string]*ansibleHost{}, groups: map[string]*ansibleGroup{}}
	if isINI(text) {
		inv.lines(string(text))
		return inv.machines(inv.order)
	}
	if n := yamlParts(text); n > mostAnsibleParts {
		return nil, fmt.Errorf("the inventory has more than %d values: name the hosts that weft is to read in an inventory of their own", mostAnsibleParts)
	}
	var root any
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("the inventory cannot be read as YAML: %w", err)
	}
	inv.tree(root)
	slices.SortFunc(inv.order, natural)
	return inv.machines(inv.order)
}

// Bounds of an inventory: what it may cost to read does not depend on what it says.
const (
	mostAnsibleParts  = 2_000_000 // values in YAML
	mostAnsibleMerges = 2_000_000 // groups of all hosts, with the groups that these are in
	mostAnsibleErrors = 100
	longestWord       = 200 // of the inventory in a message
)

// yamlParts estimates how many values a document has, without building them: aliases
// count where they are written, and yaml bounds what they expand to.
func yamlParts(text []byte) (n int) {
	for _, c := range text {
		if c == '\n' || c == ',' || c == '[' || c == '{' || c == '&' || c == '*' {
			n++
		}
	}
	return n
}

// An ansibleInventory is what an inventory says of hosts and groups.
type ansibleInventory struct {
	hosts  map[string]*ansibleHost
	groups map[string]*ansibleGroup
	order  []string // names of hosts, as they first come
	wrong  []error
	more   int // errors beyond mostAnsibleErrors
	merges int // that were done
}

type ansibleHost struct {
	where  string // it is first named
	vars   ansibleVars
	groups []string
}

type ansibleGroup struct {
	vars    ansibleVars
	parents []string
}

// ansibleVars are the variables that count, by the newer of their names.
type ansibleVars map[string]string

// The variables of Ansible that count.
const (
	ansibleAddress  = "ansible_host"
	ansibleUser     = "ansible_user"
	ansiblePort     = "ansible_port"
	ansiblePriority = "ansible_group_priority"
)

// ansibleWords are the names of the variables that count, with the newer name of each.
func ansibleWords() map[string]string {
	return map[string]string{
		ansibleAddress: ansibleAddress, "ansible_ssh_host": ansibleAddress, ansibleUser: ansibleUser, "ansible_ssh_user": ansibleUser,
		ansiblePort: ansiblePort, "ansible_ssh_port": ansiblePort, ansiblePriority: ansiblePriority,
	}
}

func (inv *ansibleInventory) refuse(where, todo, format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = clip(text, longestWord)
		}
	}
	inv.fail(hint.Wrap(fmt.Errorf("%s: %w", clip(where, longestWord), fmt.Errorf(format, args...)), "%s", todo))
}

func (inv *ansibleInventory) fail(err error) {
	if len(inv.wrong) == mostAnsibleErrors {
		inv.more++
		return
	}
	inv.wrong = append(inv.wrong, err)
}

// host is that of a name, in a group.
func (inv *ansibleInventory) host(name, group, where string) *ansibleHost {
	h := inv.hosts[name]
	if h == nil {
		h = &ansibleHost{where: where, vars: ansibleVars{}}
		inv.hosts[name], inv.order = h, append(inv.order, name)
	}
	if group != "" && !slices.Contains(h.groups, group) {
		h.groups = append(h.groups, group)
	}
	return h
}

func (inv *ansibleInventory) group(name string) *ansibleGroup {
	if inv.groups[name] == nil {
		inv.groups[name] = &ansibleGroup{vars: ansibleVars{}}
	}
	return inv.groups[name]
}

// set takes a variable in, if it counts.
func (inv *ansibleInventory) set(vars ansibleVars, name string, value any, where string) {
	word := ansibleWords()[name]
	if word == "" || value == nil {
		return
	}
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case int:
		text = fmt.Sprint(v)
	default:
		inv.refuse(where, "write it as a text", "%s is %s, which is no text", name, fmt.Sprint(value))
		return
	}
	switch before, set := vars[word]; {
	case strings.Contains(text, "{{") || strings.Contains(text, "{%"):
		inv.refuse(where, "ansible-inventory --list does not evaluate it, either: write its value", "%s is a template: %s", name, text)
	case word == ansiblePriority && text != "1":
		inv.refuse(where, "weft merges groups by their depth and name: set the variables on the hosts", "%s is %s", name, text)
	case set && before != text:
		inv.refuse(where, "keep one of them", "%s is %s and, elsewhere, %s", name, text, before)
	default:
		vars[word] = text
	}
}

// mostAnsibleDepth bounds how deep groups are nested.
const mostAnsibleDepth = 20

// levels is how deep each group is below all, by its longest way; "" or the name of a group
// that is nested too deep, or in itself.
func (inv *ansibleInventory) levels() (level map[string]int, tooDeep string) {
	level = map[string]int{"all": 0}
	for name := range inv.groups {
		if name != "all" {
			level[name] = 1
		}
	}
	names := mapKeys(inv.groups)
	for range mostAnsibleDepth + 1 {
		tooDeep = ""
		for _, name := range names {
			for _, p := range inv.groups[name].parents {
				if level[name] < level[p]+1 {
					level[name], tooDeep = level[p]+1, name
				}
			}
		}
		if tooDeep == "" {
			break
		}
	}
	return level, tooDeep
}

// merged are the variables of a host: its own, else those of its groups, of which the deeper
// one and the later name count.
func (inv *ansibleInventory) merged(h *ansibleHost, level map[string]int) ansibleVars {
	in := map[string]bool{"all": true}
	for next := slices.Clone(h.groups); len(next) > 0; next = next[1:] {
		inv.merges++
		if !in[next[0]] {
			in[next[0]] = true
			next = append(next, inv.group(next[0]).parents...)
		}
	}
	out := ansibleVars{}
	for _, g := range slices.SortedFunc(maps.Keys(in), func(a, b string) int { return cmp.Or(level[a]-level[b], strings.Compare(a, b)) }) {
		maps.Copy(out, inv.group(g).vars)
	}
	maps.Copy(out, h.vars)
	return out
}

// machines are the hosts, each once.
func (inv *ansibleInventory) machines(order []string) (list []Named, err error) {
	level, name := inv.levels()
	if name != "" {
		return nil, fmt.Errorf("group %s is nested more than %d deep, or in itself", clip(name, longestWord), mostAnsibleDepth)
	}
	for _, name := range order {
		h := inv.hosts[name]
		vars := inv.merged(h, level)
		if inv.merges > mostAnsibleMerges {
			return nil, fmt.Errorf("the hosts of the inventory are in more than %d groups altogether, with the groups that contain these: name the hosts that weft is to read in an inventory of their own", mostAnsibleMerges)
		}
		if port := vars[ansiblePort]; port != "" && port != "22" {
			inv.refuse(h.where, "write Port for it in ~/.ssh/config, and leave "+ansiblePort+" out", "%s is %s: weft takes the port of a host from ~/.ssh/config", ansiblePort, port)
			continue
		}
		m := Named{Host: cmp.Or(vars[ansibleAddress], name), Name: name, User: vars[ansibleUser]}
		if hostPort.MatchString(m.Host) {
			inv.refuse(h.where, "name the host alone, and write Port for it in ~/.ssh/config", "%q is a host with a port", m.Host)
			continue
		}
		if list, err = appendNamed(list, m, h.where); err != nil {
			inv.fail(err)
		}
	}
	if inv.more > 0 {
		inv.wrong = append(inv.wrong, fmt.Errorf("and %d more errors", inv.more))
	}
	if inv.wrong != nil {
		return nil, errors.Join(inv.wrong...)
	}
	return list, nil
}

// hostPort is a name or an address with a port behind it.
var hostPort = regexp.MustCompile(`^([^:]*|\[.*\]):[0-9]*$`)
