package put

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/plan"
)

// A Reader splits the content of a file into its attributes: paths and values as people
// read them. Values of secrets are replaced by "(sensitive)".
type Reader func(content string) (map[string]string, error)

// mostChanges is how many changes of one file a plan lists; the rest is counted.
const mostChanges = 24

// FileChanges compares two contents of a file that weft generates, attribute by attribute;
// "" is a file that does not exist. A file that appears or disappears, and the rest of a long
// list, is one change that counts the attributes and carries the digest of both contents. So
// is a content that read cannot split, or that differs in form alone: its lines are not shown,
// because they may hold a secret. Without a reader, the lines are the attributes.
func FileChanges(path, have, want string, read Reader, impact plan.Impact) []plan.Change {
	if have == want {
		return nil
	}
	summary := plan.Change{Path: path, Impact: impact, Digest: Short(Sum(have)) + ">" + Short(Sum(want))}
	before, after := lines(have, want), lines(want, have)
	if read != nil {
		a, err := read(have)
		b, errWanted := read(want)
		switch {
		case err != nil || errWanted != nil:
			summary.Before, summary.After = "unreadable content", "as declared"
			return []plan.Change{summary}
		case maps.Equal(a, b):
			summary.Before, summary.After = "same settings in another form", "as weft writes them"
			return []plan.Change{summary}
		}
		before, after = settings(a), settings(b)
	}
	if have == "" || want == "" {
		summary.Before, summary.After = before.count(), after.count()
		return []plan.Change{summary}
	}
	var out []plan.Change
	for _, key := range keysOf(before, after) {
		out = append(out, redacted(plan.Changed(path+"."+key, before.values[key], after.values[key], impact), summary.Digest)...)
	}
	if len(out) > mostChanges {
		summary.Path += ".more"
		summary.Before, summary.After = "", fmt.Sprintf("%d further changes", len(out)-mostChanges)
		out = append(out[:mostChanges], summary)
	}
	return out
}

// redacted hides secrets in values that were compared as they are. A value that hides one
// keeps the digest of both files, by which a stale plan is recognised.
func redacted(changes []plan.Change, digest string) []plan.Change {
	for i, c := range changes {
		changes[i].Before, changes[i].After = remote.Redact(c.Before), remote.Redact(c.After)
		if changes[i].Before != c.Before || changes[i].After != c.After {
			changes[i].Digest = digest
		}
	}
	return changes
}

// content is a file as a plan compares it.
type content struct {
	values map[string]string
	keys   []string // in the order in which they are shown
	unit   string   // what one of them is called
}

func (c content) count() string {
	switch len(c.keys) {
	case 0:
		return ""
	case 1:
		return "1 " + c.unit
	}
	return fmt.Sprintf("%d %ss", len(c.keys), c.unit)
}

func settings(values map[string]string) content {
	return content{values, slices.Sorted(maps.Keys(values)), "setting"}
}

// lines are the numbered lines of a content that another one lacks, or all of them where
// the two differ in the order or the number of equal lines alone.
func lines(of, other string) content {
	c := content{values: map[string]string{}, unit: "line"}
	others := map[string]bool{}
	for line := range strings.Lines(other) {
		others[line] = true
	}
	all := !onlyHere(of, others) && !onlyHere(other, lineSet(of))
	n := 0
	for line := range strings.Lines(of) {
		if n++; all || !others[line] {
			key := fmt.Sprintf("line[%d]", n)
			c.values[key], c.keys = strings.TrimSuffix(line, "\n"), append(c.keys, key)
		}
	}
	return c
}

func lineSet(text string) map[string]bool {
	set := map[string]bool{}
	for line := range strings.Lines(text) {
		set[line] = true
	}
	return set
}

func onlyHere(text string, others map[string]bool) bool {
	for line := range strings.Lines(text) {
		if !others[line] {
			return true
		}
	}
	return false
}

// keysOf merges the keys of both contents, in their order.
func keysOf(before, after content) []string {
	keys := slices.Clone(before.keys)
	for _, key := range after.keys {
		if _, ok := before.values[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, compareKeys)
	return keys
}

// compareKeys sorts line[9] before line[10], and everything else by its text.
func compareKeys(a, b string) int {
	if strings.HasPrefix(a, "line[") && strings.HasPrefix(b, "line[") && len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// UnitSettings reads a unit of systemd: "Service.ExecStart" and its value. Settings that are
// given several times are joined in their order.
func UnitSettings(text string) (map[string]string, error) {
	values, section := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := strings.Cut(line, "=")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[' && line[len(line)-1] == ']':
			section = line[1 : len(line)-1]
		case !ok || section == "" || strings.HasSuffix(value, `\`):
			return nil, fmt.Errorf("line %q is no setting of a section", line)
		default:
			path := section + "." + strings.TrimSpace(key)
			if old, twice := values[path]; twice {
				value = old + ", " + strings.TrimSpace(value)
			}
			values[path] = strings.TrimSpace(value)
		}
	}
	return values, nil
}
