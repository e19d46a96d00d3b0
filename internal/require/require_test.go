package require

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// A witness is a test of which it is noted how it ends.
type witness struct {
	testing.TB
	said string
}

func (w *witness) Helper()                           {}
func (w *witness) Fatalf(format string, args ...any) { w.end("fails", format, args) }
func (w *witness) Skipf(format string, args ...any)  { w.end("skips", format, args) }

func (w *witness) end(how, format string, args []any) {
	w.said = how + ": " + fmt.Sprintf(format, args...)
	panic(w)
}

// ending is how a test ends that needs a tool which is not here.
func ending(t *testing.T, words string) string {
	t.Setenv("WEFT_REQUIRE", words)
	w := &witness{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(w) {
				panic(r)
			}
		}()
		Tool(w, OpenSM, "weft-no-such-tool")
	}()
	return w.said
}

// What is missing is named, and only a whole word demands it.
func TestMissing(t *testing.T) {
	for words, want := range map[string]string{
		"": "skips: ", "opensmx,clients": "skips: ", "opensm": "fails: WEFT_REQUIRE demands opensm: ", "lab,opensm": "fails: WEFT_REQUIRE demands opensm: ",
	} {
		if said := ending(t, words); !strings.HasPrefix(said, want) || !strings.Contains(said, "weft-no-such-tool") {
			t.Errorf("WEFT_REQUIRE=%s: %q, wanted %q…", words, said, want)
		}
	}
}

// What takes long is left out of a plain go test, and make test runs it: with the race
// detector, too.
func TestLong(t *testing.T) {
	picked := flag.Lookup("test.run")
	was := picked.Value.String()
	t.Cleanup(func() { _ = picked.Value.Set(was) })
	for _, c := range []struct {
		long, demanded, run string
		wanted              bool
	}{{"", "", "", false}, {"1", "", "", true}, {"", "openssh", "", true}, {"", "", "TestLong", true}} {
		t.Setenv("WEFT_LONG", c.long)
		t.Setenv("WEFT_REQUIRE", c.demanded)
		_ = picked.Value.Set(c.run)
		if AllWanted() != c.wanted {
			t.Errorf("WEFT_LONG=%q WEFT_REQUIRE=%q -run %q: not %v", c.long, c.demanded, c.run, c.wanted)
		}
	}
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, recipe := range []string{"WEFT_LAB=later WEFT_LONG=1 $(GO) test -vet=off", "export WEFT_LAB=later WEFT_LONG=1 CGO_ENABLED=1"} {
		if !strings.Contains(string(text), recipe) {
			t.Errorf("the Makefile has not %q", recipe)
		}
	}
}

// .ci/run demands everything.
func TestCIDemandsAll(t *testing.T) {
	text, err := os.ReadFile("../../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "WEFT_REQUIRE=${WEFT_REQUIRE-")
	list, _, _ = strings.Cut(list, "}")
	for _, word := range []string{Transcripts, Clients, Lab, OpenSSH, Chromium, OpenSM, OpenSSL, GitLab, Agents} {
		if !strings.Contains(","+list+",", ","+word+",") {
			t.Errorf(".ci/run demands %q, and not %s", list, word)
		}
	}
}
