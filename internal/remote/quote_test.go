package remote

import "testing"

func TestQuote(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"ip", "link", "set", "dev", "ens1f0", "mtu", "9000"}, "ip link set dev ens1f0 mtu 9000"},
		{[]string{"echo", "", "a b", "it's", "$HOME", "ü"}, `echo '' 'a b' 'it'\''s' '$HOME' 'ü'`},
		{[]string{"cat", "/sys/x:1.0/%s@+=,._-"}, "cat /sys/x:1.0/%s@+=,._-"},
		{[]string{"=x", "~", "*", "\n"}, "'=x' '~' '*' '\n'"},
		{[]string{"a=b", "--c=d"}, "'a=b' --c=d"},
		{nil, ""},
	} {
		if got := Quote(test.args...); got != test.want {
			t.Errorf("%q: got %s; want %s", test.args, got, test.want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	f.Add("it's $HOME\n`x`\\ \"")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		if got := unquote(Quote(s)); got != s {
			t.Errorf("%q came back as %q from %s", s, got, Quote(s))
		}
	})
}

// unquote reads one word as a POSIX shell does: quoted by single quotes, or
// escaped by a backslash outside of them.
func unquote(word string) string {
	var out []byte
	quoted := false
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '\'':
			quoted = !quoted
		case c == '\\' && !quoted:
			i++
			out = append(out, word[i])
		default:
			out = append(out, c)
		}
	}
	return string(out)
}
