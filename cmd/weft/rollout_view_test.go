package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/hub"
	"weft/plan"
)

// A said is what a command has written so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A hub shows the runs of all its owners, by TLS with its own certificate: whoever has
// the token and asks for one of its names is let in.
func TestHubShowsRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "h")
	p, err := hub.Found(hub.Founding{Dir: dir, Name: "hub1", Hosts: []string{"hub.example.net"}})
	if err != nil {
		t.Fatal(err)
	}
	out := new(said)
	parts := newServices(nil, out, io.Discard, nil)
	parts.opts.json = true
	h := &hubCommand{opts: parts.opts, out: parts.out, pages: parts.pages}
	shown := &showing{addr: "0.0.0.0:0"}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- h.served(ctx, p, hub.Serving{Listen: "127.0.0.1:0", Ready: func(string) {}}, shown)
	}()
	token := ""
	for end := time.Now().Add(2 * time.Minute); token == ""; time.Sleep(5 * time.Millisecond) {
		if m := regexp.MustCompile(`"token":"([^"]+)"`).FindStringSubmatch(out.String()); m != nil {
			token = m[1]
		}
		if time.Now().After(end) {
			t.Fatalf("no token: %s", out)
		}
	}
	s, err := p.Reach()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := s.Store(ctx, "pilot")
	if err != nil {
		t.Fatal(err)
	}
	head, err := json.Marshal(map[string]any{"format": 1, "id": "20260101T000000Z", "owner": "pilot", "state": "waiting", "rollout": "rollout.all", "begun": time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Create(ctx, "run/r", head); err != nil {
		t.Fatal(err)
	}
	mine.Close()

	ca, err := os.ReadFile(filepath.Join(dir, "tls", "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(shown.ln.Addr().String(), "]:")
	if port == "" {
		_, port, _ = strings.Cut(shown.ln.Addr().String(), ":")
	}
	at := "https://127.0.0.1:" + port
	client := &http.Client{Jar: jar, Timeout: 2 * time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	res, err := client.PostForm(at+"/login", url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), `href="/run/pilot/20260101T000000Z"`) {
		t.Errorf("%s %v %s", res.Status, err, text)
	}
	for host, want := range map[string]int{"hub.example.net": 200, "hub.example.net:8443": 200, "evil.example": 421} {
		req, err := http.NewRequest(http.MethodGet, at+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s is answered with %s", host, res.Status)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The files of a plan are those of a stranger: what they would run is not run, no secret
// of this machine is read, and nobody is shown one.
func TestShownFilesAreNotTrusted(t *testing.T) {
	t.Setenv("WEFT_CANARY", "canary-of-the-environment")
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	const head = "weft {\n  name = \"x\"\n}\nvariable \"key\" {\n  sensitive = true\n}\ncredential \"all\" {\n  user     = \"u\"\n  password = env(\"WEFT_CANARY\")\n}\n"
	m, err := shownFiles(&plan.Plan{Sources: map[string]string{"main.weft.hcl": head}})
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "x" {
		t.Errorf("the files are of %q", m.Name)
	}
	for name, text := range map[string]string{
		"exec": head + "locals {\n  a = exec(\"touch\", \"" + ran + "\")\n}\noutput \"a\" {\n  value = local.a\n}\n",
		"env":  head + "output \"a\" {\n  value = env(\"WEFT_CANARY\")\n}\n",
		"file": head + "output \"a\" {\n  value = file(\"/etc/hostname\")\n}\n",
	} {
		if _, err := shownFiles(&plan.Plan{Sources: map[string]string{"main.weft.hcl": text}}); err == nil || strings.Contains(err.Error(), "canary-of") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the plan was run")
	}
	if _, err := shownFiles(&plan.Plan{}); err == nil {
		t.Error("a plan without files has some")
	}
}
