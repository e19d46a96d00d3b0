package discover

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// The two forms of an inventory of Ansible: lines with groups in brackets, and a tree.

// isINI reports whether the first line that says something is none of YAML or JSON.
func isINI(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' || line == "---" {
			continue
		}
		return line[0] == '[' || line[0] != '{' && !yamlKey.MatchString(line) || ansibleHeader.MatchString(line)
	}
	return false
}

// yamlKey is what follows a key of YAML.
var yamlKey = regexp.MustCompile(`:(\s|$)`)

// ansibleHeader is a line that begins a section: [group], [group:vars] or [group:children].
var ansibleHeader = regexp.MustCompile(`^\[([^:\[\]\s]+)(?::([a-z]+))?\]\s*(?:[#;].*)?$`)

// lines reads an inventory in lines.
func (inv *ansibleInventory) lines(text string) {
	group, part, n := "ungrouped", "", 0
	for line := range strings.Lines(text) {
		n++
		where := fmt.Sprintf("line %d", n)
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if m := ansibleHeader.FindStringSubmatch(line); m != nil {
			group, part = m[1], m[2]
			inv.group(group)
			switch part {
			case "", "vars", "children":
				continue
			}
			inv.refuse(where, "there are [GROUP], [GROUP:vars] and [GROUP:children]", "%s is no section that Ansible has", line)
			continue
		}
		if line[0] == '[' {
			inv.refuse(where, "an IPv6 address is written with a name: st1 ansible_host=2001:db8::11", "%q is neither a group nor a host", line)
			continue
		}
		switch words := shellWords(line); part {
		case "vars":
			name, value, _ := strings.Cut(line, "=")
			value, _, _ = strings.Cut(value, " #")
			inv.set(inv.group(group).vars, strings.TrimSpace(name), unquoted(value), where)
		case "children":
			child := inv.group(words[0])
			child.parents = append(child.parents, group)
		case "":
			h := inv.host(words[0], group, where)
			for _, w := range words[1:] {
				name, value, _ := strings.Cut(w, "=")
				inv.set(h.vars, name, value, where)
			}
		}
	}
}

func unquoted(text string) string { return strings.Trim(strings.TrimSpace(text), `"'`) }

// shellWords are the words of a line as a shell has them: what stands between quotes is one,
// and # begins a comment. There is at least one.
func shellWords(line string) (list []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			list = append(list, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			end()
		case r == '#' && !begun:
			return list
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if end(); len(list) == 0 {
		return []string{""}
	}
	return list
}

// tree reads an inventory in YAML, or as ansible-inventory --list writes it: there all groups
// stand side by side, name their children, and the variables of hosts stand in _meta.
func (inv *ansibleInventory) tree(root any) {
	if root == nil {
		return
	}
	groups, ok := root.(map[string]any)
	if !ok {
		inv.refuse("the inventory", "ansible-inventory --list --yaml writes one", "it is %s, and no mapping of groups", kindOf(root))
		return
	}
	for _, name := range mapKeys(groups) {
		if name != "_meta" {
			inv.readGroup(name, groups[name], 0)
		}
	}
	meta, _ := groups["_meta"].(map[string]any)
	vars, _ := meta["hostvars"].(map[string]any)
	for _, name := range mapKeys(vars) {
		if inv.hosts[name] != nil {
			inv.readVars(inv.hosts[name].vars, vars[name], "_meta, host "+name)
		}
	}
}

func (inv *ansibleInventory) readGroup(name string, value any, depth int) {
	where := "group " + name
	g := inv.group(name)
	body, ok := value.(map[string]any)
	if depth > mostAnsibleDepth || value == nil {
		return // its depth is refused later
	}
	if list, is := value.([]any); is { // JSON of old scripts: hosts alone
		body, ok = map[string]any{"hosts": list}, true
	}
	if !ok {
		inv.refuse(where, "where it is the configuration of an inventory plugin: ansible-inventory --list writes what comes of it", "it is %s, and no mapping with hosts, vars or children", kindOf(value))
		return
	}
	inv.readVars(g.vars, body["vars"], where)
	for host, vars := range inv.named(body["hosts"], where+", hosts") {
		at := fmt.Sprintf("group %s, host %s", name, host)
		inv.readVars(inv.host(host, name, at).vars, vars, at)
	}
	for child, body := range inv.named(body["children"], where+", children") {
		c := inv.group(child)
		c.parents = append(c.parents, name)
		inv.readGroup(child, body, depth+1)
	}
}

// named are the hosts or groups of a mapping, of a list, or of a text, which is one.
func (inv *ansibleInventory) named(value any, where string) iter.Seq2[string, any] {
	out := map[string]any{}
	switch v := value.(type) {
	case nil:
	case string:
		out[v] = nil
	case map[string]any:
		out = v
	case map[any]any: // a key is a number
		for k, body := range v {
			out[nameText(k)] = body
		}
	case []any:
		for _, one := range v {
			out[nameText(one)] = nil
		}
	default:
		inv.refuse(where, "write a mapping of names", "it is %s", kindOf(value))
	}
	return func(yield func(string, any) bool) {
		for _, name := range mapKeys(out) {
			if !yield(name, out[name]) {
				return
			}
		}
	}
}

func (inv *ansibleInventory) readVars(vars ansibleVars, value any, where string) {
	body, ok := value.(map[string]any)
	if !ok && value != nil {
		inv.refuse(where, "write a mapping of variables", "its variables are %s", kindOf(value))
	}
	for _, name := range mapKeys(body) {
		inv.set(vars, name, body[name], where)
	}
}

// nameText is the text of a name, which may be a number. Of a list or mapping it is no name
// of a host, and short.
func nameText(value any) string {
	switch value.(type) {
	case []any, map[string]any, map[any]any:
		return "(" + kindOf(value) + ")"
	}
	return fmt.Sprint(value)
}

func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	}
	return clip(fmt.Sprint(value), longestWord)
}

func mapKeys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.SortFunc(list, natural)
	return list
}
