//go:build linux

package guest

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/hint"
)

// sources writes apt's configuration below a folder that stands for /etc.
func sources(t *testing.T, files map[string]string) string {
	t.Helper()
	etc := t.TempDir()
	for name, text := range files {
		name = filepath.Join(etc, "apt", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return etc
}

func TestAptSources(t *testing.T) {
	etc := sources(t, map[string]string{
		"sources.list": "# deb http://no.example/ x main\ndeb [arch=amd64 signed-by=/k.gpg] http://one.example/debian bookworm main # why\n" +
			"deb-src http://src.example/debian bookworm main\ndeb cdrom:[Debian]/ bookworm main\n",
		"sources.list.d/b.sources": "Types: deb deb-src\nURIs: http://two.example/debian\n\thttp://three.example/debian\n# note\nSuites: trixie\n\n" +
			"Enabled: no\nTypes: deb\nURIs: http://off.example\n\nTypes: deb-src\nURIs: http://src.example\n",
		"sources.list.d/c.list.save": "deb http://saved.example x main\n",
		"sources.list.d/d.list":      "deb http://one.example/debian bookworm-updates main\n",
	})
	got, err := aptSources(etc)
	if want := []string{"http://one.example/debian", "http://two.example/debian", "http://three.example/debian"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzAptSources(f *testing.F) {
	f.Add("deb [a b] http://x y z\n")
	f.Add("Types: deb\nURIs: http://x\n y\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, uri := range append(oneLine(text), deb822(text)...) {
			if strings.ContainsAny(uri, " \t\n") || !strings.Contains(text, uri) {
				t.Errorf("%q from %q", uri, text)
			}
		}
	})
}

func TestMirror(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked++; r.URL.Path != "/debian/dists/"+Suite+"/Release" {
			http.NotFound(w, r)
		} else if asked == 2 {
			http.Error(w, "busy", http.StatusServiceUnavailable) // and then it answers
		}
	}))
	defer s.Close()
	t.Setenv("NO_PROXY", "127.0.0.1")
	got, err := mirror(t.Context(), sources(t, map[string]string{"sources.list": "deb " + s.URL + "/other x main\ndeb " + s.URL + "/debian x main\n"}))
	if err != nil || got != s.URL+"/debian" {
		t.Errorf("%q, %v", got, err)
	}

	_, err = mirror(t.Context(), sources(t, map[string]string{"sources.list": "deb " + s.URL + "/other x main\n"}))
	if err == nil || !strings.Contains(err.Error(), "/other/dists/"+Suite+"/Release: 404") || hint.Of(err) == "" {
		t.Errorf("no mirror: %v", err)
	}
	if _, err = mirror(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no mirror of Debian") {
		t.Errorf("no sources: %v", err)
	}
}
