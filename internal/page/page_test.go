package page

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/store/dir"
	"weft/plan"
	"weft/plan/rollout"
)

// get asks for something, and returns what is answered.
func (v *visit) get(t testing.TB, method, path string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, v.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(req)
	}
	res, err := v.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestShowsARun(t *testing.T) {
	t.Parallel()
	f := newFabric(t, "leaf", "cn1")
	if err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := visited(t, f).in(t)
	res, text := v.get(t, http.MethodGet, "/", nil)
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	id := f.latest(t)
	has(t, text, "No run is on its way", `href="/run/here/`+id+`"`, "✓ passed", "2/2")
	if res, _ = v.get(t, http.MethodHead, "/", nil); res.StatusCode != http.StatusOK {
		t.Errorf("HEAD is answered with %s", res.Status)
	}

	res, text = v.get(t, http.MethodGet, "/run/here/"+id, nil)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Security-Policy") != policy || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	has(t, text, "rollout.all of test", "Rolled out: every phase is applied and proven", "phase-leaf", "2 of 2", "healthy.drops", "<td>7</td><td>9</td>", "Devices", "✓ 2/2",
		"leaf p0", "<svg", "commit", "setting.p0", `data-events="/events/here/`+id+`"`)
	wellFormed(t, text)
	if strings.Contains(text, "ZgotmplZ") || strings.Contains(text, "<i>why") {
		t.Error("something is not escaped as it should")
	}
	for _, path := range []string{"/run/here/20200101T000000", "/run/there/" + id, "/run/here/..%2f..%2fetc", "/nothing"} {
		if res, _ := v.get(t, http.MethodGet, path, nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered with %s", path, res.Status)
		}
	}
}

// wellFormed reads a page as XML, which is stricter than HTML, and refuses what loads or
// runs anything but the page's own files.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	own := map[string]bool{"data:,": true, "/page.css": true, "/live.js": true, "/": true, "#main": true, "/login": true}
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("the page is not well formed: %v\n%s", err, text)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		for _, a := range e.Attr {
			switch name := a.Name.Local; {
			case strings.HasPrefix(name, "on"), name == "style":
				t.Errorf("%s has %s=%q", e.Name.Local, name, a.Value)
			case name == "src" || name == "href" || name == "action":
				if !own[a.Value] && !strings.HasPrefix(a.Value, "/run/here/") {
					t.Errorf("%s leads to %q", e.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	f := newFabric(t, "leaf", "cn1")
	if err := f.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	v := visited(t, f)
	run := "/run/here/" + f.latest(t)
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for _, c := range []struct {
		name, method, path string
		change             func(*http.Request)
		code               int
	}{
		{"no cookie", "GET", "/", nil, 303},
		{"no cookie, a run", "GET", run, nil, 303},
		{"no cookie, a run that is not there", "GET", "/run/here/x", nil, 303},
		{"no cookie, events", "GET", "/events/here/x", nil, 401},
		{"a token in the address", "GET", "/?token=" + v.token(), nil, 303},
		{"a token in the address of the form", "POST", "/login?token=" + v.token(), nil, 403},
		{"a cookie of somebody's own", "GET", "/", func(r *http.Request) { r.Header.Set("Cookie", "weft=x; __Host-weft=") }, 303},
		{"another host", "GET", "/login", host("evil.example"), 421},
		{"another host that begins alike", "GET", "/login", host("127.0.0.1.evil.example:80"), 421},
		{"no host", "GET", "/login", host(":80"), 421},
		{"this machine by another name", "GET", "/login", host("LOCALHOST:9000"), 200},
		{"this machine by IPv6", "GET", "/login", host("[::1]:9000"), 200},
		{"POST elsewhere", "POST", "/", nil, 405},
		{"POST to a run", "POST", run, nil, 405},
		{"DELETE", "DELETE", run, nil, 405},
		{"PUT", "PUT", "/login", nil, 405},
		{"from another site", "POST", "/login", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		{"from another origin", "POST", "/login", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		{"oversized", "POST", "/login", func(r *http.Request) {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = io.NopCloser(strings.NewReader("token=" + strings.Repeat("x", mostOfLogin)))
		}, 413},
		{"oversized headers", "GET", "/login", func(r *http.Request) { r.Header.Set("X", strings.Repeat("x", 40<<10)) }, 431},
	} {
		res, text := v.get(t, c.method, c.path, c.change)
		if res.StatusCode != c.code {
			t.Errorf("%s: %s\n%s", c.name, res.Status, text)
		}
		if strings.Contains(text, "rollout.all") || len(res.Cookies()) > 0 {
			t.Errorf("%s is told of runs, or gets a cookie: %s", c.name, text)
		}
	}

	first := v.token()
	res, err := v.client.PostForm(v.URL+"/login", url.Values{"token": {first}})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	c := res.Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Path != "/" || strings.Contains(c[0].Value, first) {
		t.Errorf("the cookie is %+v", c)
	}
	if res, _ := v.get(t, "GET", "/", nil); res.StatusCode != http.StatusOK {
		t.Errorf("with it: %s", res.Status)
	}
	if res, _ := v.get(t, "GET", "/", host("evil.example")); res.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("with it, and another host: %s", res.Status)
	}
	again := *v.client
	again.Jar = nil
	for token, want := range map[string]int{first: 403, "": 403, v.token(): 303} {
		res, err := again.PostForm(v.URL+"/login", url.Values{"token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want || (len(res.Cookies()) == 1) != (want == 303) {
			t.Errorf("token %q: %s", token, res.Status)
		}
	}
	if v.token() == first {
		t.Error("a token is told twice")
	}
	for to, want := range map[string]string{run: run, "//evil.example": "/", "/run/../login": "/", "https://evil.example/run/here/x": "/", "/run//evil.example": "/", "/run/here/x\r\nSet-Cookie: a=b": "/"} {
		res, err := again.PostForm(v.URL+"/login", url.Values{"token": {v.token()}, "to": {to}})
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := res.Header.Get("Location"); got != want {
			t.Errorf("%q leads to %q", to, got)
		}
	}
}

// Cookies end, and with TLS they are of this host alone.
func TestSessions(t *testing.T) {
	now, token := time.Now(), ""
	d := &Door{Hosts: Loopback, Secure: true, Cookie: "weft4223", Token: func(s string) { token = s }}
	d.Open()
	d.now = func() time.Time { return now }
	c := d.spend(token)
	if c == nil || !c.Secure || c.Name != "__Host-weft4223" {
		t.Fatalf("the cookie is %+v", c)
	}
	r := &http.Request{Header: http.Header{}}
	r.AddCookie(c)
	if !d.knows(r) {
		t.Error("who has the cookie is not known")
	}
	for range sessions {
		if now = now.Add(time.Second); d.spend(token) == nil {
			t.Fatal("a good token is refused")
		}
	}
	if d.knows(r) || len(d.sessions) != sessions {
		t.Errorf("there are %d sessions", len(d.sessions))
	}
	c = d.spend(token)
	r = &http.Request{Header: http.Header{}}
	r.AddCookie(c)
	if now = now.Add(session); d.knows(r) {
		t.Error("the cookie is good for ever")
	}
}

// What a stranger makes the page hold is bounded.
func TestServerIsBounded(t *testing.T) {
	s := server(t.Context(), nil, nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 10*time.Second || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes > 64<<10 {
		t.Errorf("%+v", s)
	}
}

// Hostile text is text, wherever it stands.
func TestHostileText(t *testing.T) {
	t.Parallel()
	const evil = `x"></title></script><script>alert(1)</script><img src=x onerror=alert(1)>'{{.}}` + "\u202e\x1b]0;t\x07"
	device := "[" + strconv.Quote(evil) + "]"
	f := newFabric(t, "leaf"+device, "cn1"+device)
	f.model.Rollouts[0].Addr = "rollout." + evil
	f.gate = func(context.Context) prove.Verdict { return prove.Fail }
	_ = f.run(t.Context()) // it fails, and is rolled back
	s, err := dir.Open(t.Context(), f.dir+"/.weft/store", dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id := f.latest(t)
	e, err := s.Get(t.Context(), "run/"+keyOf(id))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`"by":"ann"`, `"by":"\u003cscript\u003ealert(2)","commit":"\"onload=alert(3) x=\"","authors":["javascript:alert(4)"],"accepted":[{"what":"\u003cscript\u003e","by":"'\"\u003e\u003cb\u003e","time":"2026-01-01T00:00:00Z"}]`).Replace(string(e.Value))
	if _, err := s.Update(t.Context(), e.Key, []byte(text), e.Revision); err != nil {
		t.Fatal(err)
	}
	v := visited(t, f).in(t)
	for _, path := range []string{"/", "/run/here/" + id} {
		res, text := v.get(t, http.MethodGet, path, nil)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %s", path, res.Status, text)
		}
		wellFormed(t, text)
		for _, bad := range []string{"<script>", "<img", "<b>", "\x1b", "\u202e", "onload=\"", "ZgotmplZ"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
		has(t, text, "&lt;script&gt;alert(1)")
	}
	if _, text := v.get(t, http.MethodGet, "/login", func(r *http.Request) { r.Host = evil }); strings.Contains(text, "<script>") {
		t.Error(text)
	}
}

// keyOf is the part of a key that stands for a run.
func keyOf(id string) string {
	return strings.NewReplacer("T", "_54", "Z", "_5a", ".", "_2e").Replace(id)
}

// A browser is told of changes until it goes; then nobody follows the store any more.
func TestEvents(t *testing.T) {
	t.Parallel()
	f := newFabric(t, "leaf", "cn1")
	looked, go1 := make(chan bool, 10), make(chan bool)
	f.gate = func(ctx context.Context) prove.Verdict {
		looked <- true
		select {
		case <-go1:
		case <-ctx.Done():
		}
		return prove.Pass
	}
	ended := make(chan error, 1)
	go func() { ended <- f.run(context.Background()) }()
	<-looked
	v := visited(t, f).in(t)
	id := f.latest(t)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL+"/events/here/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	endless := *v.client
	endless.Timeout = 0
	res, err := endless.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("%s %s", res.Status, kind)
	}
	_, text := v.get(t, http.MethodGet, "/run/here/"+id, nil)
	has(t, text, "phase-leaf", "2 of 2", "gating", "Not measured yet", "at most 0")
	close(go1)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if lines.Text() != "event: changed" {
			continue
		}
		if _, text = v.get(t, http.MethodGet, "/run/here/"+id, nil); strings.Contains(text, "every phase is applied and proven") {
			break
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	cancel()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		v.pages.mu.Lock()
		streams, follows := v.pages.streams, len(v.pages.follows)
		v.pages.mu.Unlock()
		if streams == 0 && follows == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d streams and %d follows are left", streams, follows)
		}
	}
}

// No more browsers follow than there is room for; the page is there all the same.
func TestManyStreams(t *testing.T) {
	f := newFabric(t, "leaf", "cn1")
	v := visited(t, f).in(t)
	var leaves []func()
	for range mostStreams {
		changes, leave := v.pages.join("", "", nil)
		if changes == nil {
			t.Fatal("there is no room")
		}
		leaves = append(leaves, leave)
	}
	res, text := v.get(t, http.MethodGet, "/events", nil)
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, "browsers follow already") {
		t.Errorf("%s %s", res.Status, text)
	}
	if res, _ := v.get(t, http.MethodGet, "/", nil); res.StatusCode != http.StatusOK {
		t.Error(res.Status)
	}
	for _, leave := range leaves {
		leave()
	}
}

// A store that does not answer is said, and what it says is text.
func TestStoreAway(t *testing.T) {
	f := newFabric(t, "leaf", "cn1")
	v := visited(t, f).in(t)
	v.pages.site.Sources = func(context.Context) ([]Source, error) { return nil, errors.New("gone <b>\u202e") }
	res, text := v.get(t, http.MethodGet, "/", nil)
	if res.StatusCode != http.StatusServiceUnavailable || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") || strings.Contains(text, "\u202e") {
		t.Errorf("%s %v %s", res.Status, res.Header, text)
	}
	if got := (change{away: "a\nevent: x\n\n"}).event(); strings.Count(got, "\n") != 3 {
		t.Errorf("it makes an event of its own: %q", got)
	}
}

// A page of many devices stays small and whole.
func TestManyDevices(t *testing.T) {
	text := manyDevices(t, 5000)
	wellFormed(t, text)
	has(t, text, "5000 devices, a square for each", "The worst value of each metric at 10000 looks", "<figcaption>healthy.drops")
	if n := strings.Count(text, "h10v10h-10z"); n != 2*5000 {
		t.Errorf("two phases over 5000 devices have %d squares", n)
	}
	if len(text) > 2<<20 {
		t.Errorf("it has %d bytes", len(text))
	}
}

func manyDevices(t testing.TB, n int) string {
	t.Helper()
	f := newFabric(t)
	v := visited(t, f)
	pic := &run.Picture{Head: &run.Head{ID: "r1", Rollout: "rollout.all"}, Plan: &plan.Plan{}, Run: &rollout.Run{State: rollout.Running, Phases: []rollout.PhaseRun{{Name: "one", State: rollout.Running}, {Name: "two", State: rollout.Pending}}}}
	for i := range n {
		device := `server.node["st` + strings.Repeat("x", 8) + string(rune('a'+i%26)) + time.Duration(i).String() + `"]`
		pic.Plan.Devices = append(pic.Plan.Devices, plan.PlannedDevice{Address: device})
		for _, phase := range []string{"one", "two"} {
			pic.Plan.Steps = append(pic.Plan.Steps, plan.PlannedStep{ID: plan.ID{Device: device, Kind: "mtu", Name: "p0"}, Phase: phase})
		}
	}
	pic.Run.Phases[0].Steps = pic.Plan.Steps[:n/2]
	for i := range 10000 {
		pic.Soak = append(pic.Soak, prove.Look{Time: time.Unix(int64(i), 0), Verdict: prove.Pass, Worst: map[string]float64{"healthy.drops": float64(i % 9)}})
	}
	s, err := v.pages.picture(pic)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.page(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func BenchmarkPage(b *testing.B) {
	for b.Loop() {
		manyDevices(b, 5000)
	}
}

// Of looks that are merged the worst stays.
func TestThinned(t *testing.T) {
	var list []prove.Look
	for i := range 3 * mostLooks {
		l := prove.Look{Verdict: prove.Pass, Worst: map[string]float64{"a": float64(i % 7)}}
		if i == 500 {
			l.Verdict, l.Worst["a"], l.Verdicts = prove.Fail, 99, map[string]prove.Verdict{"a": prove.Fail}
		}
		list = append(list, l)
	}
	out := thinned(list)
	high, fails := 0.0, 0
	for _, l := range out {
		high = max(high, l.Worst["a"])
		if l.Verdict == prove.Fail && l.Verdicts["a"] == prove.Fail {
			fails++
		}
	}
	if len(out) > mostLooks || high != 99 || fails != 1 {
		t.Errorf("%d looks, worst %v, %d fail", len(out), high, fails)
	}
}
