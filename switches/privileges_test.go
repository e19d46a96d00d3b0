package switches_test

import (
	"slices"
	"strings"
	"testing"

	"weft/switches/systems"
)

// A role permits each line that weft types to read, and no line that changes.
func TestRoles(t *testing.T) {
	for _, o := range systems.All() {
		t.Run(o.Name, func(t *testing.T) {
			lines := o.Reading("weft-read")
			if (lines == nil) != (o.Role == nil) {
				t.Fatalf("the lines of a role are %q", lines)
			}
			reads := slices.Concat(o.Show, []string{o.Dialect.Running, o.Dialect.Hello})
			if o.Neighbours != nil {
				reads = append(reads, o.Neighbours.Line)
			}
			if o.Files != nil {
				reads = append(reads, o.Files.Clock)
			}
			for _, want := range reads {
				if !slices.Contains(o.Typed(), want) {
					t.Errorf("%q is not typed", want)
				}
				if o.Role == nil {
					continue
				}
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasSuffix(l, " "+want) }) {
					t.Errorf("the role does not permit %q", want)
				}
			}
			for _, c := range o.Conditions {
				if !slices.Contains(o.Typed(), c.Line) {
					t.Errorf("%s is not typed", c.Line)
				}
			}
			for _, line := range o.Typed() {
				for _, bad := range []string{"conf", "system-view", "copy", "save", "mkdir", "delete", "rmdir", "commit", "rollback"} {
					if strings.HasPrefix(line, bad) || line == anything {
						t.Errorf("the role permits %q", line)
					}
				}
			}
		})
	}
}

const anything = "*"
