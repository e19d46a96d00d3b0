package windows

import (
	"encoding/json"
	"fmt"

	"weft/modules/windows/powershell"
)

// jsonRows are the objects of a list of a document.
type jsonRows struct{ powershell.List }

// UnmarshalJSON implements json.Unmarshaler.
func (r *jsonRows) UnmarshalJSON(raw []byte) error { return r.List.UnmarshalJSON(raw) }

// rows decodes them. What is none is told by err.
func (r jsonRows) rows(err *error) (list []row) {
	for _, raw := range r.List {
		one := row{err: err}
		if wrong := json.Unmarshal(raw, &one.fields); wrong != nil && *err == nil {
			*err = fmt.Errorf("the host answers %.100q: %w", raw, wrong)
		}
		list = append(list, one)
	}
	return list
}

// A row is an object whose fields are read one by one. One that is missing or of another
// type is told by err.
type row struct {
	fields map[string]json.RawMessage
	err    *error
}

func field[T any](r row, name string) (value T) {
	raw, ok := r.fields[name]
	if !ok {
		raw = json.RawMessage("missing")
	}
	if wrong := json.Unmarshal(raw, &value); wrong != nil && *r.err == nil {
		*r.err = fmt.Errorf("the host answers %.60q as %s: %w", raw, name, wrong)
	}
	return value
}

func (r row) text(name string) string { return field[string](r, name) }
func (r row) number(name string) int  { return field[int](r, name) }
func (r row) flag(name string) bool   { return field[bool](r, name) }
