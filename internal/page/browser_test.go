package page

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/internal/require"
)

// A browser that is driven through pipes, by the protocol of its developer tools.
type browser struct {
	t       *testing.T
	to      *os.File
	session string

	mu      sync.Mutex
	next    int
	answers map[int]chan json.RawMessage
	said    []string // what its console says
}

func browse(t *testing.T, flags ...string) *browser {
	t.Helper()
	require.Long(t, "seconds")
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		require.Missing(t, require.Chromium, "no chromium: its part is not run")
	}
	theirs, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	cmd := exec.CommandContext(ctx, program, append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--no-first-run",
		"--remote-debugging-pipe", "--user-data-dir="+filepath.Join(home, "profile"), "--window-size=1000,1400", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "about:blank")...)
	cmd.Env = append(os.Environ(), "HOME="+home)
	cmd.ExtraFiles = []*os.File{theirs, answers}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	answers.Close()
	b := &browser{t: t, to: to, answers: map[int]chan json.RawMessage{}}
	var reading sync.WaitGroup
	reading.Go(func() { b.listen(from) })
	t.Cleanup(func() {
		b.send("Browser.close", nil, "")
		_ = cmd.Wait()
		cancel()
		to.Close()
		reading.Wait()
		from.Close()
		if t.Failed() {
			t.Logf("the browser says: %s", stderr.String())
		}
	})
	var made struct {
		TargetID string `json:"targetId"`
	}
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	b.call("Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// listen reads what the browser answers, and what it tells by itself.
func (b *browser) listen(from *os.File) {
	in := bufio.NewReader(from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			defer b.mu.Unlock()
			for id, answer := range b.answers {
				close(answer)
				delete(b.answers, id)
			}
			return
		}
		var m struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(bytes.TrimRight(text, "\x00"), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch m.Method {
		case "":
			if answer := b.answers[m.ID]; answer != nil {
				if m.Error != nil {
					m.Result = m.Error
				}
				answer <- m.Result
				delete(b.answers, m.ID)
			}
		case "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown":
			b.said = append(b.said, m.Method+" "+string(m.Params))
		}
		b.mu.Unlock()
	}
}

// send orders something; nil: the browser is gone.
func (b *browser) send(method string, params any, session string) <-chan json.RawMessage {
	b.mu.Lock()
	b.next++
	id, answer := b.next, make(chan json.RawMessage, 1)
	b.answers[id] = answer
	b.mu.Unlock()
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	if err != nil {
		return nil
	}
	return answer
}

func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	select {
	case text, ok := <-b.send(method, params, b.session):
		if !ok {
			b.t.Fatalf("%s: the browser is gone", method)
		}
		if result != nil {
			if err := json.Unmarshal(text, result); err != nil {
				b.t.Fatalf("%s: %v: %s", method, err, text)
			}
		}
	case <-time.After(2 * time.Minute):
		b.t.Fatalf("%s: the browser does not answer", method)
	}
}

// eval is what an expression comes to in the page, as text.
func (b *browser) eval(expression string) string {
	b.t.Helper()
	var out struct {
		Result struct {
			Value any `json:"value"`
		} `json:"result"`
		Failed *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &out)
	if out.Failed != nil {
		return "?" // the page is just being changed
	}
	return fmt.Sprint(out.Result.Value)
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); b.eval(expression) != "true"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("it never came true: %s\n%s", expression, b.eval("document.body.innerText"))
		}
	}
}

func (b *browser) picture() []byte {
	b.t.Helper()
	var out struct {
		Data []byte `json:"data"`
	}
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &out)
	return out.Data
}

// A browser logs in and follows a run to its end: nothing is reloaded, what somebody has
// opened stays open, the keyboard stays where it is, and the console says nothing.
func TestBrowserFollowsARun(t *testing.T) {
	b := browse(t)
	f := newFabric(t, "leaf", "cn1", `st["<img src=x>"]`)
	looked, goOn := make(chan bool, 10), make(chan bool)
	f.gate = func(ctx context.Context) prove.Verdict {
		looked <- true
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return prove.Pass
	}
	v := visited(t, f)
	text := func(id string) string { return `document.getElementById("` + id + `").innerText` }

	b.call("Page.navigate", map[string]any{"url": v.URL + "/"}, nil)
	b.until(`location.pathname === "/login" && document.activeElement.id === "token"`)
	b.eval(`document.getElementById("token").value = ` + string(quoted(t, v.token())) + `; document.querySelector("button").click()`)
	b.until(`location.pathname === "/" && document.querySelector("h1").innerText === "Runs"`)
	b.until(text("list") + `.includes("No run is on its way")`)

	ended := make(chan error, 1)
	go func() { ended <- f.run(context.Background()) }()
	<-looked
	b.until(`document.querySelector("td a") !== null`) // the list, too, follows
	b.eval(`document.querySelector("td a").click()`)
	b.until(`location.pathname.startsWith("/run/here/") && ` + text("phases") + `.includes("gating")`)
	b.until(text("live") + `.includes("live")`)
	b.eval(`document.getElementById("links-rows").open = true; document.querySelector("#links summary").focus(); window.stays = 1`)
	light := b.picture()
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
	if dark := b.picture(); len(light) < 10_000 || bytes.Equal(light, dark) {
		t.Errorf("pictures of %d and %d bytes are the same, or blank", len(light), len(dark))
	}
	if dir := os.Getenv("WEFT_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "page.png"), light, 0o600); err != nil {
			t.Error(err)
		}
	}

	close(goOn)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	b.until(text("says") + `.includes("every phase is applied and proven")`)
	b.until(text("devices") + `.split("✓ 2/2").length === 4`)
	for what, want := range map[string]string{
		`window.stays`: "1",
		`document.getElementById("links-rows").open`:               "true",
		`document.activeElement.tagName`:                           "SUMMARY",
		`document.images.length`:                                   "0",
		`document.cookie`:                                          "",
		`location.search + location.hash`:                          "",
		`document.documentElement.scrollWidth <= 1000`:             "true",
		`document.querySelectorAll("#links-rows tbody tr").length`: "1",
	} {
		if got := b.eval(what); got != want {
			t.Errorf("%s is %q, wanted %q", what, got, want)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the console says %s", strings.Join(b.said, "\n"))
	}
}

func quoted(t *testing.T, text string) []byte {
	t.Helper()
	out, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
