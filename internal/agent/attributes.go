package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// identifying names the keys that tell the tables of one array apart.
func identifying(table string) []string {
	switch table {
	case "portal":
		return []string{"transport", "address"}
	case "ana":
		return []string{"portal", "group"}
	case "subsystem":
		return []string{"nqn"}
	case "namespace":
		return []string{"id"}
	case "auth", "tls":
		return []string{"host"}
	}
	return nil
}

// asWritten names settings as the language of weft writes them.
func asWritten(key string) string {
	switch key {
	case "iops", "bandwidth":
		return "limits." + key
	}
	return key
}

// Attributes lists the settings of a configuration of weft-target by their paths, such as
// subsystem[nqn.2026-11.net.example:data].namespace[1].limits.iops, with their values as
// text. Elements of lists of words are paths of their own with the value "yes". Keys that are
// secrets have the value "(sensitive)". Only the syntax is checked.
func Attributes(config string) (map[string]string, error) {
	var tree map[string]any
	if err := toml.Unmarshal([]byte(config), &tree); err != nil {
		return nil, fmt.Errorf("configuration of weft-target: %w", err)
	}
	out := map[string]string{}
	flatten(out, "", tree, nil)
	return out, nil
}

func flatten(out map[string]string, at string, table map[string]any, skip []string) {
	for key, value := range table {
		if slices.Contains(skip, key) {
			continue
		}
		path := strings.TrimPrefix(at+"."+asWritten(key), ".")
		if key == "key" || key == "subsystem_key" {
			out[path] = "(sensitive)"
			continue
		}
		switch v := value.(type) {
		case map[string]any:
			flatten(out, path, v, nil)
		case []any:
			for _, element := range v {
				flattenElement(out, path, key, element)
			}
		default:
			out[path] = fmt.Sprint(v)
		}
	}
}

func flattenElement(out map[string]string, path, key string, element any) {
	table, ok := element.(map[string]any)
	if !ok {
		out[fmt.Sprintf("%s[%v]", path, element)] = "yes"
		return
	}
	var names []string
	keys := identifying(key)
	for _, k := range keys {
		names = append(names, fmt.Sprint(table[k]))
	}
	at := path + "[" + strings.Join(names, " ") + "]"
	if len(table) == len(keys) {
		out[at] = "yes" // nothing but its name
	}
	flatten(out, at, table, keys)
}
