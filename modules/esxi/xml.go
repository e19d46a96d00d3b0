package esxi

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
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

// parseXML reads one document of esxcli: <output><root>VALUE</root></output>. The
// zero value is an empty root, which commands that only change something print.
func parseXML(text []byte) (value, error) {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return value{}, errors.New("esxcli printed nothing")
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	output, err := begins(d)
	if err == nil && output != "output" {
		err = fmt.Errorf("it begins with <%s>", output)
	}
	if err != nil {
		return value{}, fmt.Errorf("this is no document of esxcli: %w: %.120q", err, text)
	}
	root, err := begins(d)
	if err == nil && root != "root" {
		err = fmt.Errorf("<%s> stands in place of <root>", root)
	}
	var all []value
	if err == nil {
		all, err = values(d, deepest)
	}
	if err == nil && len(all) > 1 {
		err = fmt.Errorf("it has %d values", len(all))
	}
	if err == nil {
		err = ends(d)
	}
	if err != nil {
		return value{}, fmt.Errorf("the document of esxcli cannot be read: %w", err)
	}
	if len(all) == 0 {
		return value{}, nil
	}
	return all[0], nil
}

// begins is the name of the next element.
func begins(d *xml.Decoder) (string, error) {
	for {
		t, err := d.Token()
		switch t := t.(type) {
		case xml.StartElement:
			return t.Name.Local, nil
		case xml.EndElement:
			return "", fmt.Errorf("</%s> comes too early", t.Name.Local)
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return "", errors.New("text stands before it")
			}
		}
		if err != nil {
			return "", whole(err)
		}
	}
}

// ends demands that nothing follows but the end of <output>.
func ends(d *xml.Decoder) error {
	for closed := false; ; {
		t, err := d.Token()
		switch t := t.(type) {
		case xml.StartElement:
			return fmt.Errorf("<%s> follows it", t.Name.Local)
		case xml.EndElement:
			closed = true
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return errors.New("text follows it")
			}
		}
		if errors.Is(err, io.EOF) && closed {
			return nil
		}
		if err != nil {
			return whole(err)
		}
	}
}

// whole says of an end that it came too early.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// values reads values up to the end of the element that they stand in.
func values(d *xml.Decoder, depth int) (list []value, err error) {
	if depth == 0 {
		return nil, errors.New("too many elements stand in one another")
	}
	for {
		t, err := d.Token()
		if err != nil {
			return nil, whole(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			return list, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, fmt.Errorf("text stands beside elements: %.40q", t)
			}
		case xml.StartElement:
			v := value{kind: t.Name.Local}
			switch v.kind {
			case "structure":
				v.fields, err = fields(d, depth-1)
			case "list":
				v.items, err = values(d, depth-1)
			case "field", "root", "output":
				err = fmt.Errorf("<%s> stands in a wrong place", v.kind)
			default:
				v.text, err = content(d)
			}
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
	}
}

// fields reads the fields of a structure.
func fields(d *xml.Decoder, depth int) (list []field, err error) {
	for {
		t, err := d.Token()
		if err != nil {
			return nil, whole(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			return list, nil
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, fmt.Errorf("text stands beside fields: %.40q", t)
			}
		case xml.StartElement:
			if t.Name.Local != "field" {
				return nil, fmt.Errorf("<%s> stands in place of a field", t.Name.Local)
			}
			f := field{}
			for _, a := range t.Attr {
				if a.Name.Local == "name" {
					f.name = a.Value
				}
			}
			all, err := values(d, depth)
			switch {
			case err != nil:
				return nil, err
			case len(all) > 1:
				return nil, fmt.Errorf("the field %s has %d values", f.name, len(all))
			case len(all) == 1:
				f.value = all[0]
			}
			list = append(list, f)
		}
	}
}

// content is the text up to the end of its element.
func content(d *xml.Decoder) (string, error) {
	var b strings.Builder
	for {
		t, err := d.Token()
		if err != nil {
			return "", whole(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			return strings.TrimSpace(b.String()), nil
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			return "", fmt.Errorf("<%s> stands in a text", t.Name.Local)
		}
	}
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
			fail(err, "%s: a list of %s stands in place of structures", of, item.kind)
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
		for _, item := range f.items {
			list = append(list, item.text)
		}
		return list
	}
	for _, word := range strings.Split(f.value.text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			list = append(list, word)
		}
	}
	return list
}
