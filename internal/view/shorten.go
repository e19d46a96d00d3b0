package view

import (
	"fmt"
	"reflect"

	"weft/internal/text"
)

// The longest text and the longest list of texts that are shown of a plan that anybody may
// have written.
const (
	longestText  = 4 << 10 // bytes
	longestTexts = 1_000
)

// Shorten cuts every text that a pointer leads to, so that a field of a plan from elsewhere
// does not fill the terminal. A cut field states how much is missing.
func Shorten(v any) { shorten(reflect.ValueOf(v).Elem()) }

func shorten(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Len() > longestText && v.CanSet() {
			v.SetString(shortened(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				shorten(f)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]string]() && v.Len() > longestTexts {
			more := fmt.Sprintf("… %d more", v.Len()-longestTexts)
			v.Set(reflect.Append(v.Slice3(0, longestTexts, longestTexts), reflect.ValueOf(more)))
		}
		for i := range v.Len() {
			shorten(v.Index(i))
		}
	case reflect.Map:
		for key, x := range v.Seq2() {
			into := reflect.New(x.Type()).Elem()
			into.Set(x)
			shorten(into)
			short := reflect.New(key.Type()).Elem()
			short.Set(key)
			shorten(short)
			if short.String() != key.String() {
				v.SetMapIndex(key, reflect.Value{})
			}
			v.SetMapIndex(short, into)
		}
	}
}

// shortened is the beginning of a text, and how much follows it.
func shortened(s string) string {
	head, missing := text.Head(s, longestText)
	return fmt.Sprintf("%s… (%d bytes more)", head, missing)
}
