package discover

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"weft/internal/hint"
)

// mostHosts is how many machines one source may name.
const mostHosts = 10000

// ParseCSV reads machines from a table whose first line names its columns: host, which
// is dialled, and name, which may be left out. Without such a line the first column is
// host and the second is name. Empty lines, and those that begin with #, say nothing.
func ParseCSV(text []byte) ([]Named, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	r.Comment, r.FieldsPerRecord, r.TrimLeadingSpace = '#', -1, true
	host, name := 0, 1
	var list []Named
	for first := true; ; first = false {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the table cannot be read: %w", err)
		}
		if first {
			if h := column(record, "host", "address", "ip"); h >= 0 {
				host, name = h, column(record, "name", "hostname")
				continue
			}
			if column(record, "name", "hostname") >= 0 {
				return nil, hint.Wrap(errors.New("the first line names columns, and none of them is host"), "name the column with what is dialled host")
			}
		}
		line, _ := r.FieldPos(0)
		m := Named{Host: field(record, host), Name: field(record, name)}
		if m.Host == "" && m.Name == "" {
			continue
		}
		if list, err = appendNamed(list, m, fmt.Sprintf("line %d", line)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func column(record []string, names ...string) int {
	for _, n := range names {
		if i := slices.IndexFunc(record, func(f string) bool { return strings.EqualFold(strings.TrimSpace(f), n) }); i >= 0 {
			return i
		}
	}
	return -1
}

func field(record []string, i int) string {
	if i < 0 || i >= len(record) {
		return ""
	}
	return strings.TrimSpace(record[i])
}

// appendNamed adds a machine, once.
func appendNamed(list []Named, m Named, where string) ([]Named, error) {
	switch {
	case !dialable(m.Host):
		return nil, hint.Wrap(fmt.Errorf("%s: %q is no host", where, m.Host), "a host is a name or an address, such as st1.mgmt.example.net")
	case len(list) >= mostHosts:
		return nil, fmt.Errorf("%s: more than %d machines", where, mostHosts)
	case slices.ContainsFunc(list, func(x Named) bool { return x.Host == m.Host }):
		return list, nil
	}
	return append(list, m), nil
}

// dialable reports whether a text can be the name or address of a host. One that begins
// with a dash would be an option to others.
func dialable(host string) bool {
	if host == "" || host[0] == '-' || len(host) > 255 {
		return false
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_:%", r))
	})
}

// ParseHosts reads --hosts: names between commas.
func ParseHosts(text string) ([]Named, error) {
	var list []Named
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		var err error
		if list, err = appendNamed(list, Named{Host: part}, "--hosts"); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ParseAnsible reads machines from an inventory of Ansible: YAML, or lines with groups
// in brackets. Of the variables only ansible_host counts. Ranges such as st[1:9] are
// refused: weft would have to guess.
func ParseAnsible(text []byte) ([]Named, error) {
	if isINI(text) {
		return ansibleLines(string(text))
	}
	var root map[string]*ansibleGroup
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("the inventory cannot be read as YAML: %w", err)
	}
	var list []Named
	err := ansibleGroups(root, &list, 0)
	return list, err
}

type ansibleGroup struct {
	Hosts    map[string]map[string]any `yaml:"hosts"`
	Children map[string]*ansibleGroup  `yaml:"children"`
}

func ansibleGroups(groups map[string]*ansibleGroup, list *[]Named, depth int) error {
	if depth > 20 {
		return errors.New("its groups are nested more than 20 deep")
	}
	for _, name := range mapKeys(groups) {
		g := groups[name]
		if g == nil {
			continue
		}
		for _, host := range mapKeys(g.Hosts) {
			m := Named{Host: host, Name: host}
			if at, ok := g.Hosts[host]["ansible_host"].(string); ok {
				m.Host = at
			}
			var err error
			if *list, err = appendNamed(*list, m, fmt.Sprintf("group %s, host %s", name, host)); err != nil {
				return err
			}
		}
		if err := ansibleGroups(g.Children, list, depth+1); err != nil {
			return err
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

func ansibleLines(text string) ([]Named, error) {
	var list []Named
	section, n := "", 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			continue
		case strings.HasSuffix(section, ":vars"), strings.HasSuffix(section, ":children"):
			continue
		}
		words := strings.Fields(line)
		m := Named{Host: words[0], Name: words[0]}
		for _, w := range words[1:] {
			if at, ok := strings.CutPrefix(w, "ansible_host="); ok {
				m.Host = strings.Trim(at, `"'`)
			}
		}
		var err error
		if list, err = appendNamed(list, m, fmt.Sprintf("line %d", n)); err != nil {
			return nil, err
		}
	}
	return list, nil
}
