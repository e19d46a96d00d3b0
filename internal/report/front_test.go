package report

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/prove"
	"weft/plan"
)

// pod is leaves of two planes, and servers with a NIC in each.
func pod(servers int, direct bool) *Wiring {
	w := &Wiring{Planes: []string{"a", "b"}, Targets: map[string]string{}}
	if !direct {
		w.Switches = []Switch{{`switch.leaf["a"]`, "a"}, {`switch.leaf["b"]`, "b"}}
	}
	for n := range servers {
		name := fmt.Sprintf(`server.node["cn%d"]`, n)
		if n%4 == 0 {
			name = fmt.Sprintf(`server.node["st%d"]`, n/4)
			w.Targets[fmt.Sprintf(`target.nvme["st%d"]`, n/4)] = name
		}
		w.Servers = append(w.Servers, name)
		for i, plane := range w.Planes {
			nic := Plug{name, fmt.Sprintf("p%d", i), true}
			switch {
			case !direct:
				w.Cables = append(w.Cables, Cable{plane, [2]Plug{nic, {w.Switches[i].Name, fmt.Sprintf("Ethernet1/%d", n+1), false}}, 100e9})
			case n%2 == 1:
				w.Cables = append(w.Cables, Cable{plane, [2]Plug{nic, {w.Servers[n-1], nic.Port, true}}, 25e9})
			}
		}
	}
	return w
}

// decided is a report with everything that the first page has.
func decided(t testing.TB, servers int) *Report {
	r := sample()
	r.Wiring = pod(servers, false)
	r.Carried = &Carried{By: "ci of pull request 42", Who: "ann@deploy.example.net", Begun: begun, Commit: "0123456789abcdef0123456789abcdef01234567", Digest: "sha256-" + strings.Repeat("0f", 32)}
	res := measured(3, 2, 60*time.Microsecond, 500)
	for n := range 12 {
		res.Judgements = append(res.Judgements, prove.Judgement{Validation: "a-validation-with-a-long-name", Metric: fmt.Sprintf("metric_number_%d", n), Pair: "server.a p0", Verdict: prove.Pass, Value: 0, Limit: 1e6, Counted: true})
	}
	r.Measured = append(r.Measured, Measured{Time: begun.Add(2 * time.Minute), Result: res})
	for n := range 40 {
		r.Plan.Steps = append(r.Plan.Steps, plan.PlannedStep{ID: plan.ID{Device: fmt.Sprintf(`server.node["cn%d"]`, n), Kind: "mtu", Name: "p0"}, Phase: "plane-a",
			Changes: []plan.Change{{Path: "bytes", Before: "1500", After: "9000", Impact: plan.ImpactLinkFlap}, {Path: "another.attribute.with.a.long.path", Before: "1", After: "2"}}})
	}
	return finished(t, r)
}

func TestFront(t *testing.T) {
	r := decided(t, 8)
	text := write(t, r.HTML)
	strict(t, text)
	for _, want := range []string{"plane a 100G", "plane b 100G", "It covers 12 pairs over 2 planes, 12 flows, 1 of which could not be measured", "41 changes on 2 devices, 40 with impact link-flap, 1 with impact traffic",
		"by ann@deploy.example.net, asked for by ci of pull request 42, from commit 0123456789ab", "sha256-0f0f", "phase plane-a by ann", "rollout.weft.hcl:24", "cn3 … cn7 (4)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if i, j := strings.Index(text, `class="front"`), strings.Index(text, "<main>"); i < 0 || i > j {
		t.Error("the first page does not come first")
	}
	// Nothing of it is made up where nothing is known.
	empty := write(t, finished(t, &Report{Owner: "x"}).HTML)
	for _, not := range []string{"It covers", "What changes", "Gates and limits", "No picture"} {
		if strings.Contains(empty, not) {
			t.Errorf("%q of nothing", not)
		}
	}
}

func TestTopologyStates(t *testing.T) {
	w := pod(2, false)
	cable := w.Cables[0] // st0 p0, plane a
	ok := row(`server.node["cn1"]`, `target.nvme["st0"]`, "a", "rdma", 4096, 50*time.Microsecond, 10)
	slow := row(`server.node["cn9"]`, `target.nvme["st0"]`, "a", "rdma", 4096, 90*time.Microsecond, 10)
	failed := row(`server.node["cn1"]`, `target.nvme["st0"]`, "a", "rdma", 4096, 50*time.Microsecond, 10)
	failed.Errors, failed.FirstErr = 1, "no route"
	other := row(`server.node["cn1"]`, `target.nvme["st0"]`, "b", "rdma", 4096, 50*time.Microsecond, 10)
	for name, c := range map[string]struct {
		res  *prove.Result
		want string
	}{
		"nothing":         {nil, "open"},
		"another plane":   {&prove.Result{Rows: []*prove.Row{other}}, "open"},
		"measured":        {&prove.Result{Rows: []*prove.Row{ok, slow}}, "pass"},
		"a read failed":   {&prove.Result{Rows: []*prove.Row{ok, failed}}, "fail"},
		"its port drops":  {&prove.Result{Rows: []*prove.Row{ok}, Judgements: []prove.Judgement{{Verdict: prove.Fail, Pair: `switch.leaf["a"] Ethernet1/1 priority 3 (rdma)`}}}, "fail"},
		"another port":    {&prove.Result{Rows: []*prove.Row{ok}, Judgements: []prove.Judgement{{Verdict: prove.Fail, Pair: `switch.leaf["a"] Ethernet1/11 priority 3 (rdma)`}}}, "pass"},
		"the fault there": {&prove.Result{Rows: []*prove.Row{ok}, Judgements: []prove.Judgement{{Verdict: prove.Fail, Pair: "x", Where: `at server.node["st0"] p0`}}}, "fail"},
	} {
		if got := measuredOver(c.res, w, cable); got.class != c.want || got.class == "pass" && got.p99 != slow.P99 && name == "measured" {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

func TestTopology(t *testing.T) {
	for name, c := range map[string]struct {
		w     *Wiring
		wires int
		why   string
	}{
		"two servers and cables between them": {pod(2, true), 2, ""},
		"a pod":                               {pod(6, false), 4, ""}, // storage and compute, each wired alike
		"64 servers":                          {pod(64, false), 4, ""},
		"one switch per server":               {racks(30), 0, "too many"},
		"no cable":                            {&Wiring{}, 0, "no cable"},
	} {
		picture, why := topology(c.w, nil)
		if got := strings.Count(string(picture), `class="wire`); got != c.wires || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %d wires, want %d; %q, want %q\n%s", name, got, c.wires, why, c.why, picture)
		}
	}
}

// racks are servers that differ in how they are wired.
func racks(n int) *Wiring {
	w := pod(n, false)
	w.Switches = nil
	for i := range w.Cables {
		name := fmt.Sprintf("switch.leaf-%d", i)
		w.Switches = append(w.Switches, Switch{name, w.Cables[i].Plane})
		w.Cables[i].Ends[1].Device = name
	}
	return w
}

// looker opens each page in a frame, as wide as its name begins, unfolds it, and says which texts of its
// pictures overlap or are cut off, what is wider than its place or the page, and how high the
// first page is.
const looker = `<!DOCTYPE html><link rel="icon" href="data:,"/><body style="margin:0"><script>
function look(path) {
  const frame = document.createElement("iframe");
  frame.width = parseInt(path); frame.height = 1200; frame.src = path;
  const say = (...words) => console.log("look:", path, ...words);
  frame.onload = () => requestAnimationFrame(() => {
    const page = frame.contentDocument;
    if (frame.width < 1000) page.body.style.cssText = "font-size: 10pt; padding: 0"; // as on paper
    for (const e of page.querySelectorAll("main > section")) e.style.contentVisibility = "visible"; // also what is far below
    for (const e of page.querySelectorAll("details")) e.open = true;
    for (const svg of page.querySelectorAll("svg[role=img]")) {
      const edge = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
      texts.forEach(([text, r], i) => {
        if (r.left < edge.left - 1 || r.right > edge.right + 1 || r.top < edge.top - 1 || r.bottom > edge.bottom + 1) say("cut off:", text);
        for (const [other, o] of texts.slice(i + 1))
          if (r.left < o.right - 1 && o.left < r.right - 1 && r.top < o.bottom - 2 && o.top < r.bottom - 2) say("overlap:", text, "and", other);
      });
    }
    for (const box of page.querySelectorAll(".front rect.device")) {
      const b = box.getBoundingClientRect(), r = box.nextElementSibling.getBoundingClientRect();
      if (r.right > b.right || r.left < b.left) say("out of its box:", box.nextElementSibling.textContent);
    }
    for (const e of page.querySelectorAll("p, td, th, h2, h3, h4, li, summary"))
      if (e.scrollWidth > e.clientWidth + 1) say("clipped:", e.textContent.slice(0, 60));
    const wide = page.documentElement.scrollWidth;
    if (wide > page.documentElement.clientWidth) say("the page is wider than the window:", wide);
    say("front", Math.ceil(page.querySelector(".front").getBoundingClientRect().bottom), "high");
  });
  document.body.append(frame);
}
%q.split(" ").forEach(look);
</script>`

// In a browser no text of any page lies over another one or is cut off, whatever the
// fabric, and on paper the first is one page: A4 less its margins is 182 by 263 mm.
func TestFrontInBrowser(t *testing.T) {
	const across, down = 688, 994 // in units of 1/96 inch
	pages := map[string]string{}
	for _, width := range []int{across, 1000} { // with all there is to a report
		pages[fmt.Sprintf("%d-rolled-out", width)] = write(t, rolled(t).HTML)
	}
	for name, w := range map[string]*Wiring{"two-servers": pod(2, true), "64-servers": pod(64, false), "differently-wired": racks(mostBoxes)} {
		r := decided(t, 8)
		r.Wiring = w
		for _, width := range []int{across, 1000} {
			pages[fmt.Sprintf("%d-%s", width, name)] = write(t, r.HTML)
		}
	}
	names := slices.Sorted(maps.Keys(pages))
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
		if page, ok := pages[strings.TrimPrefix(q.URL.Path, "/")]; ok {
			serve(rw, page)
			return
		}
		serve(rw, fmt.Sprintf(looker, strings.Join(names, " ")))
	}))
	defer server.Close()
	said := browse(t, server.URL+"/", "--screenshot="+filepath.Join(t.TempDir(), "page.png"))
	high := map[string]int{}
	for line := range strings.Lines(said) {
		_, text, _ := strings.Cut(line, "look: ")
		name, text, _ := strings.Cut(text, " ")
		n := 0
		if found, err := fmt.Sscanf(text, "front %d high", &n); found != 1 || err != nil {
			t.Error(line)
		}
		high[name] = n
	}
	for _, name := range names {
		if n := high[name]; n == 0 || strings.HasPrefix(name, strconv.Itoa(across)) && !strings.HasSuffix(name, "wired") && n > down {
			t.Errorf("%s: the first page is %d high, %d are a page\n%s", name, n, down, said)
		}
	}
}
