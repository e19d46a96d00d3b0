package view

import (
	"bytes"
	"slices"
	"testing"
)

func TestFactsSayOnceWhatIsAlike(t *testing.T) {
	var b bytes.Buffer
	Facts(&b, []Table{
		{Head: []string{"EMPTY"}},
		{Head: []string{"SERVER", "SERIAL", "µ"}, Rows: [][]string{{"server.a", "", "ä"}, {"server.longer", "", ""}}},
	}, []Remark{
		{Device: "server.a", Text: "x.hcl:1  slow"},
		{Device: "server.b", Text: "x.hcl:2  wrong", Hint: "mend it", Refuses: true},
		{Device: "server.longer", Text: "x.hcl:1  slow"},
	}, []Lost{{Device: "server.c", Text: "gone"}, {Device: "server.d", Text: "gone"}}, Style{})
	const want = `SERVER         µ
server.a       ä
server.longer  –

Against the files
  ! server.a, server.longer  x.hcl:1  slow
  ✗ server.b  x.hcl:2  wrong
      hint: mend it

Not reached
  ✗ server.c, server.d  gone
`
	if b.String() != want {
		t.Errorf("shown:\n%s\nwanted:\n%s", b.String(), want)
	}
}

func TestExecSaysOnceWhatIsAlike(t *testing.T) {
	var b bytes.Buffer
	Exec(&b, []Ran{
		{Device: "a", Stdout: []byte("one\r\ntwo\n")},
		{Device: "b", Stdout: []byte("one\ntwo\n"), Code: 2, Stderr: []byte("no")},
		{Device: "c", Stdout: []byte("one\r\ntwo\n")},
		{Device: "d", Error: "gone", Hint: "look"},
	}, Style{})
	const want = `✓ 2: a, c
    one
    two
✗ b  exit 2
    one
    two
  ! no
✗ d  gone
      hint: look

4 devices: 2 done, 1 with another exit status, 1 not run to the end.
`
	if b.String() != want {
		t.Errorf("shown:\n%s\nwanted:\n%s", b.String(), want)
	}
}

func TestLinesOf(t *testing.T) {
	for _, test := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"\n\n", nil},
		{"a\tb\r\n\nc\n", []string{"a\tb", "", "c"}},
	} {
		if got := linesOf([]byte(test.in)); !slices.Equal(got, test.want) {
			t.Errorf("%q is shown as %q, wanted %q", test.in, got, test.want)
		}
	}
}
