//go:build unix

package simwindows

import (
	"fmt"
	"strings"
)

// toJSON is ConvertTo-Json -Compress of 5.1: what is deeper than depth is the text of it,
// and < > & ' are written as escapes.
func toJSON(b *strings.Builder, v any, depth int64) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case int64:
		fmt.Fprint(b, v)
	case []any:
		if depth < 0 {
			jsonText(b, text(v))
			return
		}
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			toJSON(b, e, depth-1)
		}
		b.WriteByte(']')
	case *object:
		if depth < 0 {
			jsonText(b, v.kind)
			return
		}
		b.WriteByte('{')
		for i, f := range v.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			jsonText(b, f.name)
			b.WriteByte(':')
			toJSON(b, f.value, depth-1)
		}
		b.WriteByte('}')
	default:
		jsonText(b, text(v))
	}
}

func jsonText(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteRune('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ' || strings.ContainsRune("<>&'", r):
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
