package discover

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A loop is how the values of the instances of a block are written.
type loop struct {
	list   []instance
	values [][]piece // by instance, then by slot
	write  []string  // by slot: what stands in the block
	vary   []int     // slots whose value is of each instance
	names  []string  // of those
	at     int
}

func newLoop(list []instance) loop {
	l := loop{list: list}
	var names []string
	for i, one := range list {
		var values []piece
		names = names[:0]
		one.slots("", &values, &names)
		l.values = append(l.values, values)
		if i == 0 {
			l.write = make([]string, len(values))
		}
	}
	for slot := range l.write {
		if l.write[slot] = l.settled(slot); l.write[slot] == "" {
			l.vary = append(l.vary, slot)
		}
	}
	seen := taken{}
	for _, slot := range l.vary {
		name := names[slot]
		if same := slices.IndexFunc(l.vary, func(s int) bool { return s < slot && l.sameColumn(s, slot) }); same >= 0 {
			l.names = append(l.names, l.names[same])
			continue
		}
		l.names = append(l.names, seen.column(name))
	}
	for i, slot := range l.vary {
		l.write[slot] = l.value() + "." + l.names[i]
		if l.single() {
			l.write[slot] = l.value()
		}
	}
	return l
}

// dashed is a label that nothing else has.
func (t taken) dashed(wish string) string {
	name := wish
	for n := 2; t[name]; n++ {
		name = fmt.Sprintf("%s-%d", wish, n)
	}
	t[name] = true
	return name
}

// column is a name in for_each that no other value has.
func (t taken) column(wish string) string {
	name := wish
	for n := 2; t[name]; n++ {
		name = fmt.Sprintf("%s_%d", wish, n)
	}
	t[name] = true
	return name
}

func (l *loop) sameColumn(a, b int) bool {
	return !slices.ContainsFunc(l.values, func(v []piece) bool { return v[a] != v[b] })
}

func (l *loop) single() bool { return len(slices.Compact(slices.Sorted(slices.Values(l.names)))) == 1 }

// settled is how a value is written that is the same in all, or follows from the key;
// "": neither.
func (l *loop) settled(slot int) string {
	first := l.values[0][slot]
	same, key := true, true
	for i, one := range l.list {
		v := l.values[i][slot]
		same = same && v == first
		key = key && v.text == one.key && v.number == one.number
	}
	switch {
	case key && len(l.list) > 1, key && same:
		return l.key()
	case same:
		return first.literal()
	case first.number:
		return ""
	}
	before, after, ok := strings.Cut(first.text, l.list[0].key)
	if !ok || strings.HasSuffix(before, "$") || strings.HasSuffix(before, "%") { // it would escape what follows
		return ""
	}
	for i, one := range l.list {
		if l.values[i][slot].text != before+one.key+after {
			return ""
		}
	}
	return strings.TrimSuffix(quoted(before), `"`) + "${" + l.key() + "}" + strings.TrimPrefix(quoted(after), `"`)
}

func (l *loop) key() string {
	if l.list[0].number {
		return "count.index"
	}
	return "each.key"
}

func (l *loop) value() string {
	if l.list[0].number {
		return fmt.Sprintf("local.%s[count.index]", l.local())
	}
	return "each.value"
}

// local is the name of the list of values of a block with count.
func (l *loop) local() string {
	return strings.ReplaceAll(l.list[0].address.kind+"_"+l.list[0].label, "-", "_")
}

func (l *loop) next() string {
	text := l.write[l.at]
	l.at++
	return text
}

// byKey is a value that each instance finds by its key, where for_each stands elsewhere.
func (l *loop) byKey(slot int) string {
	var parts []string
	for i, one := range l.list {
		v := l.values[i][slot].literal()
		if !one.number {
			v = mapKey(one.key) + " = " + v
		}
		parts = append(parts, v)
	}
	if l.list[0].number {
		return "[" + strings.Join(parts, ", ") + "][count.index]"
	}
	return "{ " + strings.Join(parts, ", ") + " }[each.key]"
}

// row is what for_each holds for an instance.
func (l *loop) row(i int) string {
	if l.single() {
		return l.values[i][l.vary[0]].literal()
	}
	var parts []string
	seen := map[string]bool{}
	for n, slot := range l.vary {
		if name := l.names[n]; !seen[name] {
			seen[name] = true
			parts = append(parts, name+" = "+l.values[i][slot].literal())
		}
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// counted is an error where the keys are not those of count.
func (l *loop) counted() error {
	for i, one := range l.list {
		if one.key != fmt.Sprint(i) {
			return fmt.Errorf("%s is an instance of count, and number %d of them was not read", one.address, i)
		}
	}
	return nil
}

// locals is the list of the values of a block with count.
func (l *loop) locals() string {
	if len(l.vary) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "locals {\n%s = [\n", l.local())
	for i := range l.list {
		b.WriteString(l.row(i) + ",\n")
	}
	return b.String() + "]\n}\n\n"
}

// header is the line with for_each or count.
func (l *loop) header() string {
	if l.list[0].number {
		return fmt.Sprintf("count = %d", len(l.list))
	}
	var b strings.Builder
	if len(l.vary) == 0 {
		b.WriteString("for_each = toset([")
		for i, one := range l.list {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(quoted(one.key))
		}
		return b.String() + "])"
	}
	b.WriteString("for_each = {\n")
	for i, one := range l.list {
		fmt.Fprintf(&b, "%s = %s\n", mapKey(one.key), l.row(i))
	}
	return b.String() + "}"
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func mapKey(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return quoted(key)
}
