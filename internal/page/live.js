// Follows a run: asks for the page again when weft says that something has changed, and
// replaces the sections that are not as they were. Nothing is written here as markup
// but what the page itself is.
"use strict";
(() => {
  const events = document.body.dataset.events;
  const says = document.getElementById("live");
  if (!events) return;
  let busy = false, again = false, source;

  const say = (text) => { says.textContent = text; };

  // replace puts a section in place of the former one, and keeps what somebody did
  // with that: what is open, scrolled or focused.
  const replace = (old, fresh) => {
    const open = [...old.querySelectorAll("details[id]")].map((d) => [d.id, d.open]);
    const scrolled = [...old.querySelectorAll("[tabindex]")].map((e) => [e.scrollLeft, e.scrollTop]);
    const active = old.contains(document.activeElement) ? [...old.querySelectorAll("a, summary, [tabindex]")].indexOf(document.activeElement) : -1;
    fresh.classList.add("fresh");
    old.replaceWith(fresh);
    for (const [id, is] of open) {
      const d = document.getElementById(id);
      if (d) d.open = is;
    }
    fresh.querySelectorAll("[tabindex]").forEach((e, i) => { e.scrollTo(...(scrolled[i] || [0, 0])); });
    if (active >= 0) fresh.querySelectorAll("a, summary, [tabindex]")[active]?.focus({ preventScroll: true });
  };

  const refresh = async () => {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.pathname, { credentials: "same-origin", redirect: "manual", cache: "no-store" });
      if (answer.type === "opaqueredirect") { say("logged out: reload this page"); source.close(); return; }
      if (!answer.ok) { say("not known now, " + new Date().toLocaleTimeString() + ": " + (await answer.text()).trim()); return; }
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const main = document.getElementById("main");
      let last = null;
      const there = new Set();
      for (const fresh of page.querySelectorAll("main > section[id]")) {
        there.add(fresh.id);
        const old = document.getElementById(fresh.id);
        const mine = document.adoptNode(fresh);
        if (!old) { if (last) last.after(mine); else main.prepend(mine); last = mine; continue; }
        if (old.dataset.sum !== mine.dataset.sum) { replace(old, mine); last = mine; } else last = old;
      }
      for (const old of main.querySelectorAll(":scope > section[id]")) if (!there.has(old.id)) old.remove();
      document.title = page.title;
      say(page.getElementById("live").textContent + ", live");
    } catch {
      say("weft does not answer; this is as it was");
    } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  };

  source = new EventSource(events);
  source.addEventListener("changed", refresh);
  source.addEventListener("away", (e) => say("the store does not answer: " + JSON.parse(e.data)));
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) { say("weft does not answer; this is as it was"); return; }
    say("not live: reload this page");
  };
})();
