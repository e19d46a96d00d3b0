package put

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/quick"

	"weft/plan"
)

func showChanges(changes []plan.Change) string {
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s: %q → %q\n", c.Path, c.Before, c.After)
		if (c.Digest != "") != (c.Path == "f" || c.Path == "f.more") {
			b.WriteString("  a digest stands where values are only counted\n")
		}
	}
	return b.String()
}

func TestFileChanges(t *testing.T) {
	broken := func(string) (map[string]string, error) { return nil, errors.New("broken") }
	many := strings.Repeat("a\n", 1) + strings.Repeat("b%d\n", 30)
	for _, tt := range []struct {
		name, have, want string
		read             Reader
		out              string
	}{
		{"equal", "a\n", "a\n", nil, ""},
		{"new", "", "a\nb\n", nil, "f: \"\" → \"2 lines\"\n"},
		{"removed", "a\n", "", nil, "f: \"1 line\" → \"\"\n"},
		{"one line", "a\nb\nc\n", "a\nB\nc\n", nil, "f.line[2]: \"b\" → \"B\"\n"},
		{"a line more", "a\nc\n", "a\nb\nc\n", nil, "f.line[2]: \"\" → \"b\"\n"},
		{"a line less", "a\nb\nc\n", "a\nc\n", nil, "f.line[2]: \"b\" → \"\"\n"},
		{"order", "a\nb\n", "b\na\n", nil, "f.line[1]: \"a\" → \"b\"\nf.line[2]: \"b\" → \"a\"\n"},
		{"a secret on the device", "a\nconnect --password=abcdefgh1234\n", "a\nconnect\n", nil, "f.line[2]: \"connect --password=REDACTED\" → \"connect\"\n  a digest stands where values are only counted\n"},
		{"two secrets", "connect --password=abcdefgh1234\n", "connect --password=efghabcd1234\n", nil, "f.line[1]: \"connect --password=REDACTED\" → \"connect --password=REDACTED\"\n  a digest stands where values are only counted\n"},
		{"a setting", "[S]\nX=1\nY=2\n", "[S]\nX=1\nY=3\n", UnitSettings, "f.S.Y: \"2\" → \"3\"\n"},
		{"form", "[S]\nX=1\n", "# c\n[S]\nX=1\n", UnitSettings, "f: \"same settings in another form\" → \"as weft writes them\"\n"},
		{"unreadable", "secret\n", "[S]\nX=1\n", UnitSettings, "f: \"unreadable content\" → \"as declared\"\n"},
		{"unreadable want", "x", "y", broken, "f: \"unreadable content\" → \"as declared\"\n"},
		{"many", "a\n", fmt.Sprintf(many, numbers(30)...), nil, "6 further changes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := showChanges(FileChanges("f", tt.have, tt.want, tt.read, plan.ImpactNone))
			if got != tt.out && (tt.name != "many" || !strings.Contains(got, tt.out)) {
				t.Errorf("got\n%swant\n%s", got, tt.out)
			}
		})
	}
}

func numbers(n int) (list []any) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// Two contents differ in a plan if and only if they differ.
func TestFileChangesMissNothing(t *testing.T) {
	text := func(words []uint8) string {
		var b strings.Builder
		for _, w := range words {
			b.WriteString([]string{"a\n", "b\n", "\n", "[S]\n", "X=1\n", "X=2\n", "c"}[w%7])
		}
		return b.String()
	}
	check := func(a, b []uint8) bool {
		have, want := text(a), text(b)
		for _, read := range []Reader{nil, UnitSettings} {
			if (have == want) != (len(FileChanges("f", have, want, read, plan.ImpactNone)) == 0) {
				t.Logf("%q and %q", have, want)
				return false
			}
		}
		return true
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}
