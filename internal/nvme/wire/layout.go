package wire

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"
)

// A tagged structure says of each field at which offset it stands: at:"80". A
// string says how many bytes it has, too, and what fills them up:
// at:"4,20,spaces" or at:"768,256,zeros". Structures that every command needs
// have code of their own instead, which does not allocate.

// appendTagged appends the n bytes of the structure that s points to.
func appendTagged(b []byte, n int, s any) ([]byte, error) {
	b, w := grow(b, n)
	for f, v := range reflect.ValueOf(s).Elem().Fields() {
		at, length, fill := place(f)
		switch {
		case v.Kind() != reflect.String:
			if _, err := binary.Encode(w[at:], le, v.Interface()); err != nil {
				return b, err // a field of no fixed size
			}
		case fill == "spaces":
			putPadded(w[at:at+length], v.String())
		default:
			putName(w[at:at+length], v.String())
		}
	}
	return b, nil
}

// readTagged reads the structure that s points to, a what of n bytes.
func readTagged(b []byte, n int, what string, s any) error {
	if err := need(b, n, what); err != nil {
		return err
	}
	for f, v := range reflect.ValueOf(s).Elem().Fields() {
		at, length, fill := place(f)
		switch {
		case v.Kind() != reflect.String:
			if _, err := binary.Decode(b[at:], le, v.Addr().Interface()); err != nil {
				return err
			}
		case fill == "spaces":
			v.SetString(padded(b[at : at+length]))
		default:
			v.SetString(name(b[at : at+length]))
		}
	}
	return nil
}

// place is what the tag of a field says.
func place(f reflect.StructField) (at, length int, fill string) {
	offset, rest, _ := strings.Cut(f.Tag.Get("at"), ",")
	size, fill, _ := strings.Cut(rest, ",")
	at, _ = strconv.Atoi(offset)
	length, _ = strconv.Atoi(size)
	return at, length, fill
}
