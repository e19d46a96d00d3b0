package language

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weft/inventory"
	"weft/inventory/problem"
)

// FuzzLoad puts arbitrary bytes into a file, alone and beside good ones.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(base), []byte("x = 1"))
	names, err := filepath.Glob("../../examples/*/*.weft.hcl")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, []byte("storage = {}"))
	}
	for _, m := range slices.Concat(languageMistakes(), ruleMistakes(), variableMistakes(), blockMistakes()) {
		text := base
		for i := 0; i < len(m.edits); i += 2 {
			text = strings.Replace(text, m.edits[i], m.edits[i+1], 1)
		}
		f.Add([]byte(text), []byte(""))
	}
	for _, text := range []string{
		"", "\x00", "\xff\xfe", "\xef\xbb\xbfweft {}", "weft {", "}", "a = <<X\n", `x "${`, "locals { a = a }",
		"locals {\n a = local.a[local.a]\n}", "locals {\n a = [for server in [null] : server.x]\n}",
		"server \"x\" {\n for_each = null\n host = each.value\n}",
		"server \"x\" {\n count = 2\n host = server.x[*].host[5]\n}",
		"locals {\n a = null[null]\n b = {}.x\n c = []...\n}",
		"locals {\n a = switch.x.port\n b = switch.x.port[null]\n}\nswitch \"x\" {\n host = local.b\n}",
	} {
		f.Add([]byte(text), []byte(text))
	}
	f.Add([]byte("weft { name = \"m\" }\nmodule \"m\" {\n  source   = \"./m\"\n  for_each = { a = 1 }\n  host     = each.key\n}\nlocals { x = module.m[\"a\"].host }\n"), []byte(""))
	f.Add([]byte("module \"m\" {\n  source = \"./m\"\n  count = module.m[0].host\n}\nremoved { from = module.m[1].server.x }\n"), []byte(""))
	f.Fuzz(func(t *testing.T, text, values []byte) {
		dir := fstest.MapFS{
			"a.weft.hcl":    {Data: text},
			"m/a.weft.hcl":  {Data: []byte("variable \"host\" { default = \"h\" }\nserver \"s\" { host = var.host }\noutput \"host\" { value = server.s.host }\n")},
			"weft.weftvars": {Data: values},
		}
		m, diags := Load(dir, Options{})
		if m == nil {
			t.Fatal("no model")
		}
		for _, d := range diags {
			if d.Subject == nil || d.Context == nil || problem.CodeOf(d) == "" {
				t.Errorf("incomplete: %+v", d)
			}
		}
		_ = diagText(m, diags)
		for _, c := range m.Credentials {
			if c.Password != nil && !bytes.Contains(text, []byte("exec")) { // which would run
				_, _ = c.Password.Read() // must not panic; it may well fail
			}
		}
	})
}

// FuzzUnits feeds arbitrary texts to the parsers of units.
func FuzzUnits(f *testing.F) {
	for _, s := range []string{"150KB", "2TiB", "100G", "100Gbit/s", "1GB/s", "30us", "1h30m", "10%", "", "-1s", "9999999999999999999999h", "1.5.5KB", "0", "µs", "1µs", "\xff", "Sat,Sun 22:00-04:00 Europe/Berlin", "00:00-24:00 UTC"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		check := func(n int64, err error) {
			if err == nil && n < 0 {
				t.Errorf("%q is %d", s, n)
			}
			if u, ok := err.(*unitError); ok && (u.offset < 0 || u.offset > len(s)) {
				t.Errorf("%q: an error at %d", s, u.offset)
			}
		}
		check(parseSize(s))
		check(parseBandwidth(s))
		check(parseRate(s))
		d, err := parseDuration(s)
		check(int64(d), err)
		if w, err := inventory.ParseWindow(s); err == nil {
			now := time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC)
			if next := w.Next(now); next.Before(now) || next.After(now.AddDate(0, 0, 9)) {
				t.Errorf("%q begins next at %s", s, next)
			}
		}
		_, err = parsePercent(s)
		check(0, err)
		_, _ = portRange(s)
		_, _ = satisfies(Version, s)
	})
}
