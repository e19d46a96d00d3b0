package language

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"weft/inventory/problem"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"aligned", "a=1\nlong =  2 # x\n", "a    = 1\nlong = 2 # x\n"},
		{"indented", "a \"b\" {\n\tc {\n d=1\n}\n}\n", "a \"b\" {\n  c {\n    d = 1\n  }\n}\n"},
		{"lines of Windows", "a=1\r\nbb=2\r\n", "a  = 1\r\nbb = 2\r\n"},
		{"no line end", "a=1", "a = 1"},
		{"heredocs are content", "a=<<E\n  x   y\n\tz\nE\n", "a = <<E\n  x   y\n\tz\nE\n"},
	} {
		before, after, diags := Format("x.weft.hcl", strings.NewReader(c.in))
		if diags.HasErrors() || string(before) != c.in || string(after) != c.want {
			t.Errorf("%s: %q became %q, wanted %q; %v", c.name, before, after, c.want, diags)
		}
	}
}

func TestFormatRefuses(t *testing.T) {
	for _, c := range []struct {
		name, want string
		in         func() (string, error)
	}{
		{"broken", "x.weft.hcl:3", func() (string, error) { return "a = 1\nb = [\n", nil }},
		{"binary", "x.weft.hcl", func() (string, error) { return "\x00\xff\x7fELF", nil }},
		{"too large", "larger than 4 MiB", func() (string, error) { return strings.Repeat("# x\n", 2<<20), nil }},
		{"too deep", "nested", func() (string, error) { return "a = " + strings.Repeat("[", 1e5), nil }},
		{"unreadable", "the disk is gone", func() (string, error) { return "", errors.New("the disk is gone") }},
	} {
		text, err := c.in()
		r := iotest.ErrReader(err)
		if err == nil {
			r = strings.NewReader(text)
		}
		_, after, diags := Format("x.weft.hcl", r)
		if !diags.HasErrors() || after != nil || !strings.Contains(diags.Error(), c.want) {
			t.Errorf("%s: no error about %q but %v and %.40q", c.name, c.want, diags, after)
		}
		for _, d := range diags {
			if _, ok := d.Extra.(problem.Code); !ok {
				t.Errorf("%s: no code in %v", c.name, d)
			}
		}
	}
}

func TestWithoutValues(t *testing.T) {
	const in = "a={k=\"sec ret\", n = 4711} # was geheim\nb = <<E\nsecret\n two\n\nE\n/* geheim\n  x */\nc = true"
	const want = "a={k=\"…\", n = …} …\nb = <<E\n…\n…\n\nE\n…\n…\nc = true"
	if got := string(WithoutValues([]byte(in))); got != want {
		t.Errorf("got\n%s\nwanted\n%s", got, want)
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{
		"", "a=1", "a {b=1}\n", "x = -1\ny = 1 -1\nz=a-b\nq = \"${ -1 }%{ if true }x%{ else }y%{ endif }\"\n",
		"\ta=[\n1,\n2,\n]\n", "a = 1 /* x */\n/* b\n c */ b=2\n", "a = <<-E\n   ${x}\n  E\n", "a=1\r\nb=\"\\u00e9\" // x\r\n",
		"a = [for k,v in {a=1} : v if v!=1]\nb=a[*].b.0.c\nc=a ? b:c\nd=f(x...)\ne = !a&&b\n", "a = provider::f(1)\n", "a\t=\t1\n\n\n\nb =2\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		before, after, diags := Format("fuzz", bytes.NewReader(src))
		if diags.HasErrors() {
			return
		}
		if !bytes.Equal(before, src) || bytes.Count(src, []byte("\n")) != bytes.Count(after, []byte("\n")) {
			t.Fatalf("%q became %q", src, after)
		}
		_, again, diags := Format("fuzz", bytes.NewReader(after))
		if diags.HasErrors() || !bytes.Equal(again, after) {
			t.Fatalf("%q became %q, then %q; %v", src, after, again, diags)
		}
		if bytes.Count(WithoutValues(src), []byte("\n")) != bytes.Count(src, []byte("\n")) {
			t.Fatalf("%q has other lines without values", src)
		}
	})
}

// TestRightIsRight checks that what pages advise is HCL in weft's own layout.
func TestRightIsRight(t *testing.T) {
	for _, c := range problem.Codes() {
		_, text, _ := problem.Explain(string(c.Code))
		_, right, _ := strings.Cut(text, "Right:\n")
		var lines []string
		for _, line := range strings.Split(right, "\n") {
			if line, ok := strings.CutPrefix(line, "    "); ok && !strings.HasPrefix(line, "weft -") && !strings.HasPrefix(line, "weft plan") && !strings.HasPrefix(line, "weft apply") && !strings.HasPrefix(line, "weft rollout") {
				lines = append(lines, line)
			} else if ok || line == "" {
				lines = append(lines, "")
			} else {
				t.Errorf("%s: %q comes after the last example", c.Code, line)
			}
		}
		before, after, diags := Format("page", strings.NewReader(strings.Join(lines, "\n")))
		if diags.HasErrors() {
			t.Errorf("%s: %v", c.Code, diags)
		} else if string(before) != string(after) {
			t.Errorf("%s is not in canonical layout:\n%s", c.Code, after)
		}
	}
}
