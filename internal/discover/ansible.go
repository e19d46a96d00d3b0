package discover

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParseAnsible reads machines from an inventory of Ansible: YAML, or lines with groups
// in brackets. Of the variables ansible_host and ansible_user count, the latter of groups,
// too. Ranges such as st[1:9] are refused: weft would have to guess.
func ParseAnsible(text []byte) ([]Named, error) {
	if isINI(text) {
		return ansibleLines(string(text))
	}
	var root map[string]*ansibleGroup
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("the inventory cannot be read as YAML: %w", err)
	}
	var list []Named
	err := ansibleGroups(root, &list, "", 0)
	return list, err
}

type ansibleGroup struct {
	Hosts    map[string]map[string]any `yaml:"hosts"`
	Vars     map[string]any            `yaml:"vars"`
	Children map[string]*ansibleGroup  `yaml:"children"`
}

// The variables of Ansible that count.
const (
	ansibleHost = "ansible_host"
	ansibleUser = "ansible_user"
)

func ansibleText(vars map[string]any, name string) string {
	text, _ := vars[name].(string)
	return text
}

// ansibleGroups reads groups whose hosts are logged in to by a user, where they say nobody
// else.
func ansibleGroups(groups map[string]*ansibleGroup, list *[]Named, user string, depth int) error {
	if depth > 20 {
		return errors.New("its groups are nested more than 20 deep")
	}
	for _, name := range mapKeys(groups) {
		g := groups[name]
		if g == nil {
			continue
		}
		who := cmp.Or(ansibleText(g.Vars, ansibleUser), user)
		if err := ansibleGroups(g.Children, list, who, depth+1); err != nil { // what stands deeper says more
			return err
		}
		for _, host := range mapKeys(g.Hosts) {
			vars := g.Hosts[host]
			m := Named{Host: cmp.Or(ansibleText(vars, ansibleHost), host), Name: host, User: cmp.Or(ansibleText(vars, ansibleUser), who)}
			var err error
			if *list, err = appendNamed(*list, m, fmt.Sprintf("group %s, host %s", name, host)); err != nil {
				return err
			}
		}
	}
	return nil
}

func mapKeys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.SortFunc(list, natural)
	return list
}

// isINI reports whether the first line that says something is none of YAML.
func isINI(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' || line == "---" {
			continue
		}
		return line[0] == '[' || !strings.Contains(line, ":")
	}
	return false
}

// An ansibleTree is what lines say of groups.
type ansibleTree struct {
	users   map[string]string // by group
	parents map[string]string // groups of which a group is a child
}

// user is who logs in to the hosts of a group.
func (t ansibleTree) user(group string) string {
	for range 20 {
		if t.users[group] != "" {
			return t.users[group]
		}
		if group = t.parents[group]; group == "" {
			break
		}
	}
	return t.users["all"]
}

func ansibleLines(text string) ([]Named, error) {
	var list []Named
	tree := ansibleTree{map[string]string{}, map[string]string{}}
	groups := map[string]string{} // of hosts that do not say themselves who logs in
	section, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		group, part, _ := strings.Cut(section, ":")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			continue
		case part == "vars":
			if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == ansibleUser {
				tree.users[group] = unquoted(value)
			}
			continue
		case part == "children":
			tree.parents[strings.Fields(line)[0]] = group
			continue
		}
		words := strings.Fields(line)
		m := Named{Host: words[0], Name: words[0]}
		for _, w := range words[1:] {
			switch name, value, _ := strings.Cut(w, "="); name {
			case ansibleHost:
				m.Host = unquoted(value)
			case ansibleUser:
				m.User = unquoted(value)
			}
		}
		if groups[m.Host] == "" {
			groups[m.Host] = group
		}
		var err error
		if list, err = appendNamed(list, m, fmt.Sprintf("line %d", n)); err != nil {
			return nil, err
		}
	}
	for i := range list {
		list[i].User = cmp.Or(list[i].User, tree.user(groups[list[i].Host]))
	}
	return list, nil
}

func unquoted(text string) string { return strings.Trim(strings.TrimSpace(text), `"'`) }
