package esxi

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"weft/internal/slice"
)

// A value is what esxcli prints with --formatter=xml: a structure with fields, a
// list, or a text that has a type.
type value struct {
	kind   string // structure, list; else the type of the text: string, integer, boolean …
	text   string
	fields []field // of a structure, in their order
	items  []value // of a list
}

// A field of a structure. Its name is written with and without spaces by different
// releases: it is looked up by its letters and digits.
type field struct {
	name string
	value
}

// deepest is how many elements stand in one another at most.
const deepest = 16

// An element of a document, with all that stands in it.
type element struct {
	XMLName xml.Name
	Name    string    `xml:"name,attr"`
	Text    string    `xml:",chardata"`
	Inner   []element `xml:",any"`
}

// parseXML reads one document of esxcli: <output><root>VALUE</root></output>. The
// zero value is an empty root, which commands that only change something print.
func parseXML(text []byte) (value, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return value{}, errors.New("esxcli printed nothing")
	}
	if text[0] != '<' {
		return value{}, fmt.Errorf("this is no document of esxcli: %.120q", text)
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	var output element
	err := d.Decode(&output)
	if err == nil && output.XMLName.Local != "output" {
		return value{}, fmt.Errorf("this is no document of esxcli: it begins with <%s>: %.120q", output.XMLName.Local, text)
	}
	var v value
	if err == nil {
		v, err = output.inRoot()
	}
	if rest := bytes.TrimSpace(text[d.InputOffset():]); err == nil && len(rest) > 0 {
		err = fmt.Errorf("%.40q follows it", rest)
	}
	if err != nil {
		return value{}, fmt.Errorf("the document of esxcli cannot be read: %w", err)
	}
	return v, nil
}

// inRoot is the value of a document.
func (e element) inRoot() (v value, err error) {
	if len(e.Inner) != 1 || e.Inner[0].XMLName.Local != "root" || strings.TrimSpace(e.Text) != "" {
		return v, fmt.Errorf("%d elements in place of <root>", len(e.Inner))
	}
	return e.Inner[0].only("it", deepest)
}

// only is the one value in an element, of which there may be none.
func (e element) only(what string, depth int) (v value, err error) {
	all, err := e.values(depth)
	if len(all) > 1 {
		return v, fmt.Errorf("%s has %d values", what, len(all))
	}
	if len(all) == 1 {
		v = all[0]
	}
	return v, err
}

// values are those in an element, which has no text beside them.
func (e element) values(depth int) (list []value, err error) {
	if text := strings.TrimSpace(e.Text); text != "" {
		return nil, fmt.Errorf("text next to elements: %.40q", text)
	}
	if depth == 0 {
		return nil, errors.New("XML nested too deeply")
	}
	for _, in := range e.Inner {
		v := value{kind: in.XMLName.Local}
		switch v.kind {
		case "structure":
			v.fields, err = in.fields(depth - 1)
		case "list":
			v.items, err = in.values(depth - 1)
		case "field", "root", "output":
			err = fmt.Errorf("<%s> is in the wrong place", v.kind)
		default:
			if v.text = strings.TrimSpace(in.Text); len(in.Inner) > 0 {
				err = fmt.Errorf("<%s> is inside text", in.Inner[0].XMLName.Local)
			}
		}
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// fields are those of a structure.
func (e element) fields(depth int) (list []field, err error) {
	if text := strings.TrimSpace(e.Text); text != "" {
		return nil, fmt.Errorf("text next to fields: %.40q", text)
	}
	for _, in := range e.Inner {
		if in.XMLName.Local != "field" {
			return nil, fmt.Errorf("<%s> found in place of a field", in.XMLName.Local)
		}
		v, err := in.only("the field "+in.Name, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, field{in.Name, v})
	}
	return list, nil
}

// fold is a name without what releases write differently.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// A row is one structure of a document, whose fields are read by name. What cannot be
// read is noted in err, once, so that fields may be read in a row.
type row struct {
	value
	of  string // the command that printed it
	err *error
}

// rowsOf are the structures of a document.
func rowsOf(v value, of string, err *error) (list []row) {
	items := v.items
	if v.kind == "structure" {
		items = []value{v}
	}
	for _, item := range items {
		if item.kind != "structure" {
			fail(err, "%s: a list of %s in place of structures", of, item.kind)
			return nil
		}
		list = append(list, row{item, of, err})
	}
	return list
}

func fail(err *error, format string, args ...any) {
	if *err == nil {
		*err = fmt.Errorf(format, args...)
	}
}

// find is a field, or nil.
func (r row) find(name string) *field {
	for i := range r.fields {
		if fold(r.fields[i].name) == fold(name) {
			return &r.fields[i]
		}
	}
	return nil
}

// has reports whether this release prints such a field.
func (r row) has(name string) bool { return r.find(name) != nil }

// text is a field that must be there.
func (r row) text(name string) string {
	f := r.find(name)
	if f == nil {
		fail(r.err, "%s: there is no field %q", r.of, name)
		return ""
	}
	return f.value.text
}

// maybe is a field that older releases do not have, or "".
func (r row) maybe(name string) string {
	if f := r.find(name); f != nil {
		return f.value.text
	}
	return ""
}

func (r row) number(name string) int {
	text := r.text(name)
	n, err := strconv.Atoi(text)
	if err != nil {
		fail(r.err, "%s: %s is %q, no number", r.of, name, text)
	}
	return n
}

func (r row) flag(name string) bool {
	switch text := strings.ToLower(r.text(name)); text {
	case "true":
		return true
	case "false":
		return false
	default:
		fail(r.err, "%s: %s is %q, neither true nor false", r.of, name, text)
		return false
	}
}

// list is a field with several values: a list, or a text with commas, as different
// commands have it.
func (r row) list(name string) (list []string) {
	f := r.find(name)
	if f == nil {
		fail(r.err, "%s: there is no field %q", r.of, name)
		return nil
	}
	if f.kind == "list" {
		list = slice.Map(f.items, func(item value) string { return item.text })
		return list
	}
	for _, word := range strings.Split(f.value.text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}

// words are those of a field, which may be a list or a text; nil: there is none.
func (r row) words(name string) (list []string) {
	f := r.find(name)
	if f == nil {
		return nil
	}
	list = slice.Map(f.items, func(item value) string { return item.text })
	return append(list, strings.Fields(f.value.text)...)
}
