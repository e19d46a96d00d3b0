package page

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// press presses a key and lets it go. shift: with the other held.
func (b *browser) press(key string, code int, text string, shift bool) {
	b.t.Helper()
	event := map[string]any{"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
	if text != "" {
		event["text"] = text
	}
	if shift {
		event["modifiers"] = 8
	}
	b.call("Input.dispatchKeyEvent", event, nil)
	event["type"] = "keyUp"
	delete(event, "text")
	b.call("Input.dispatchKeyEvent", event, nil)
}

func (b *browser) tab()   { b.press("Tab", 9, "", false) }
func (b *browser) enter() { b.press("Enter", 13, "\r", false) }

// focused is what has the focus, by the name that it says to people, and whether they can
// see that it has: it is in the window, and there is a line around it.
const focused = `(() => {
  const e = document.activeElement, at = e.getBoundingClientRect(), line = getComputedStyle(e);
  const name = e.getAttribute("aria-label") || e.innerText || e.id;
  const seen = at.width > 0 && at.height > 0 && at.right > 0 && at.left < innerWidth && at.bottom > 0 && at.top < innerHeight;
  return name + (seen ? "" : " OUT OF SIGHT") + (line.outlineStyle !== "none" && parseFloat(line.outlineWidth) >= 2 ? "" : " WITHOUT A LINE");
})()`

// Who has no mouse logs in, opens a run and reaches every part of it with Tab and Enter,
// sees at each stop where that is, and goes back with Shift-Tab.
func TestBrowserByKeyboard(t *testing.T) {
	b := browse(t)
	f := newFabric(t, "leaf", "cn1")
	if err := f.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	v := visited(t, f)
	b.call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	stops := func(names ...string) {
		t.Helper()
		for _, want := range names {
			b.tab()
			if got := b.eval(focused); got != want {
				t.Fatalf("Tab leads to %q, wanted %q", got, want)
			}
		}
	}

	b.call("Page.navigate", map[string]any{"url": v.URL + "/"}, nil)
	b.until(`location.pathname === "/login" && document.activeElement.id === "token"`)
	b.call("Input.insertText", map[string]any{"text": v.token()}, nil)
	stops("Log in")
	b.enter()
	b.until(`location.pathname === "/" && document.readyState === "complete" && document.querySelector("td a") !== null`)

	stops("To the content", "All runs", "Over", strings.TrimSpace(b.eval(`document.querySelector("td a").innerText`)))
	b.enter()
	b.until(`location.pathname.startsWith("/run/here/") && document.readyState === "complete" && document.getElementById("live").innerText.includes("live")`)

	stops("To the content")
	b.enter() // over what is on every page
	b.until(`document.activeElement.id === "main"`)
	stops("phases", "gate of phase-leaf", "gate of phase-cn1", "All 1 in words")
	b.enter()
	b.until(`document.getElementById("links-rows").open`)
	stops("links", "devices", "journal")
	b.press("Tab", 9, "", true)
	if got := b.eval(focused); got != "devices" {
		t.Errorf("Shift-Tab leads to %q", got)
	}
	// Nothing that is wider or higher than its place is left out.
	for name, query := range map[string]string{"scrolls": `[...document.querySelectorAll(".wide, .tail")].filter((e) => e.tabIndex < 0 && !e.querySelector("a"))`, "answers": `[...document.querySelectorAll("a, summary, button")].filter((e) => e.tabIndex < 0)`} {
		if got := b.eval(fmt.Sprintf("%s.length", query)); got != "0" {
			t.Errorf("%s of what %s cannot be reached", got, name)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the console says %s", strings.Join(b.said, "\n"))
	}
}
