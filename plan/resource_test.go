package plan

import "testing"

func TestParseID(t *testing.T) {
	good := []ID{
		{`server.node["st1"]`, "mtu", "p0"},
		{`server.node["a/b"]`, "file", "/etc/hosts.d/x.conf"},
		{`server.node["a\"/b"]`, "file", "x"},
		{"switch.leaf-a", "port", "Ethernet1/1.100"},
	}
	for _, id := range good {
		got, err := ParseID(id.String())
		if err != nil || got != id {
			t.Errorf("ParseID(%q) = %+v, %v", id.String(), got, err)
		}
	}
	for _, s := range []string{"", "/", "/a.b", "a/b", "a/b.", "a/.b", `a["/b.c`, "a.b"} {
		if got, err := ParseID(s); err == nil {
			t.Errorf("ParseID(%q) = %+v, want an error", s, got)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{`server.node["st1"]/mtu.p0`, `a["\"/"]/b.c/d.e`, "a/b", "/", `"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseID(s)
		if err != nil {
			return
		}
		if id.String() != s {
			t.Fatalf("%q was printed as %q", s, id.String())
		}
		if again, err := ParseID(id.String()); err != nil || again != id {
			t.Fatalf("%q: %+v, then %+v, %v", s, id, again, err)
		}
	})
}
