package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory/problem"
	"weft/plan"
)

// hostile is what files and devices may say to do something on a forge.
const hostile = "`` @ops [x](https://evil.example) ![i](https://evil.example/i.png) <img src=x onerror=y> </details>\n/close\n::error::x\n| a | \u202e\x1b[31m \xff www.evil.example #1 !2 ```"

func hostilePlan(steps int) *plan.Plan {
	at := hcl.Range{Filename: "main.weft.hcl", Start: hcl.Pos{Line: 3, Column: 1}}
	p := &plan.Plan{Owner: "demo", Devices: []plan.PlannedDevice{
		{Address: "server.a", Items: steps, Identity: plan.Identity{NotUnderstood: []string{hostile}}},
		{Address: hostile, Error: hostile},
	}}
	for i := range steps {
		p.Steps = append(p.Steps, plan.PlannedStep{ID: plan.ID{Device: "server.a", Kind: "file", Name: fmt.Sprint(i, hostile)}, Range: at, Phase: "one" + hostile,
			Changes: []plan.Change{{Path: hostile, Before: hostile, After: hostile, Impact: plan.Impact(i % 3)}}, Send: []string{hostile, "````"}})
	}
	p.Refusals = []plan.Refusal{{ID: p.Steps[0].ID, Range: at, Text: hostile, Hint: hostile}}
	p.Left = []plan.LeftAlone{{Device: hostile, Text: hostile}}
	p.Notes = []plan.Note{{Range: at, Block: hostile, Text: hostile}}
	return p
}

// prose is what of Markdown is not code: CommonMark 6.1 (code spans), 4.5 (fences)
// and the <code> that html writes.
func prose(t *testing.T, text string) string {
	t.Helper()
	fence := regexp.MustCompile("^ *(`{3,})$")
	span := regexp.MustCompile("`+")
	var out []string
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if m := fence.FindStringSubmatch(lines[i]); m != nil {
			for i++; strings.TrimLeft(lines[i], " ") != m[1]; i++ {
				if n := len(strings.Trim(lines[i], " ")); strings.Trim(lines[i], " `") == "" && n >= len(m[1]) {
					t.Fatalf("a line closes its fence early: %q", lines[i])
				}
			}
			continue
		}
		line := lines[i]
		for {
			open := span.FindStringIndex(line)
			if open == nil {
				break
			}
			size, end := open[1]-open[0], -1
			for _, m := range span.FindAllStringIndex(line[open[1]:], -1) {
				if m[1]-m[0] == size {
					end = open[1] + m[1]
					break
				}
			}
			if end < 0 {
				t.Fatalf("quotes are left open: %q", line)
			}
			line = line[:open[0]] + "CODE" + line[end:]
		}
		out = append(out, regexp.MustCompile(`<code>[^<]*</code>`).ReplaceAllStringFunc(line, func(s string) string {
			if strings.ContainsAny(s[6:len(s)-7], "@[]()<>|`!*_~:./") {
				t.Fatalf("not escaped: %q", s)
			}
			return "HTML"
		}))
	}
	return strings.Join(out, "\n")
}

func TestMarkdown(t *testing.T) {
	p := Plan{Plan: hostilePlan(5), Digest: "sha256-00", Phases: []Phase{{Name: "one" + hostile, Window: hostile, Approve: hostile, Gates: []string{hostile}, Soak: "1h"}}, Lines: true}
	var b bytes.Buffer
	if err := p.Markdown(&b, 0); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"@", "](", "<img", "http", "evil", "\u202e", "\x1b", "::", "#1"} {
		if strings.Contains(prose(t, text), bad) {
			t.Errorf("%q is loose", bad)
		}
	}
	if !utf8.ValidString(text) || strings.Contains(text, "\u202e") || strings.Contains(text, "\x1b") || strings.Contains(text, "\n/close") {
		t.Error("something invisible, or a command, is in it")
	}
	lines := strings.SplitN(text, "\n", 3)
	for _, want := range []string{"5 to change", "worst impact **link-flap**", "1 refusal: it cannot be applied", "1 device was not read", "windows: ", "`sha256-00`"} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the first line lacks %q: %s", want, lines[0])
		}
	}
	if lines[1] != "<!-- weft:demo -->" {
		t.Errorf("the second line is %q", lines[1])
	}
	if strings.Count(text, "<details>") != strings.Count(text, "</details>")-strings.Count(text, " </details>⏎") {
		t.Error("folds are not closed")
	}
	if i, j := strings.Index(text, "server.a/file.2"), strings.Index(text, "server.a/file.0"); i < 0 || i > strings.LastIndex(text, "server.a/file.0") || j < 0 {
		t.Error("the worst impact is not first")
	}
}

// A comment keeps to its limit, whole resources are left out, and all are accounted for.
func TestMarkdownCut(t *testing.T) {
	const steps = 300
	p := Plan{Plan: hostilePlan(steps), Digest: "sha256-00"}
	for _, limit := range []int{Shortest, 10_000, 50_000, GitHubComment} {
		var b bytes.Buffer
		if err := p.Markdown(&b, limit); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > limit {
			t.Errorf("%d bytes of %d", len(text), limit)
		}
		left := 0
		m := regexp.MustCompile(`Not shown for want of room:.* ([0-9]+) resource`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("limit %d: it does not say what is missing", limit)
		}
		_, _ = fmt.Sscan(m[1], &left)
		shown := len(regexp.MustCompile(`(?m)^- .* \*\*(none|traffic|link-flap)\*\*`).FindAllString(text, -1))
		if shown+left != steps || shown == 0 && limit > 10_000 {
			t.Errorf("limit %d: %d shown, %d left out, of %d", limit, shown, left, steps)
		}
		if limit > 10_000 && strings.Count(text, "\n<details>") != strings.Count(text, "\n</details>") {
			t.Errorf("limit %d: a fold is not closed", limit)
		}
		prose(t, text)
	}
}

func TestSARIF(t *testing.T) {
	at := hcl.Range{Filename: "a b.weft.hcl", Start: hcl.Pos{Line: 3, Column: 2}, End: hcl.Pos{Line: 3, Column: 9}}
	log := func(line int) map[string]any {
		l := Log{Version: "1", Path: func(n string) string { return "fabric/" + n }, First: "main.weft.hcl"}
		moved := at
		moved.Start.Line, moved.End.Line = line, line
		l.Problems(nil, hcl.Diagnostics{problem.New(problem.AddrTwice, moved, "an address twice", "it is there %s", hostile), problem.New(problem.AddrTwice, moved, "an address twice", "again")})
		l.Plan(hostilePlan(4))
		var b bytes.Buffer
		if err := l.Write(&b); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal(b.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		return v["runs"].([]any)[0].(map[string]any)
	}
	run, later := log(3), log(30)
	rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
	prints := map[string]bool{}
	for i, r := range run["results"].([]any) {
		r := r.(map[string]any)
		if id := rules[int(r["ruleIndex"].(float64))].(map[string]any)["id"]; id != r["ruleId"] {
			t.Errorf("result %d: the rule %v is %v", i, r["ruleId"], id)
		}
		print := r["partialFingerprints"].(map[string]any)["weft/v1"].(string)
		if prints[print] {
			t.Errorf("result %d has the fingerprint of another", i)
		}
		prints[print] = true
		if other := later["results"].([]any)[i].(map[string]any)["partialFingerprints"].(map[string]any)["weft/v1"]; other != print {
			t.Errorf("result %d is another one once its line moves", i)
		}
	}
	first := run["results"].([]any)[0].(map[string]any)
	if first["ruleId"] != string(problem.AddrTwice) || first["level"] != "error" {
		t.Errorf("%v", first)
	}
	where := first["locations"].([]any)[0].(map[string]any)["physicalLocation"].(map[string]any)
	if uri := where["artifactLocation"].(map[string]any)["uri"]; uri != "fabric/a%20b.weft.hcl" {
		t.Errorf("uri %v", uri)
	}
}

func TestAnnotations(t *testing.T) {
	var diags hcl.Diagnostics
	for range 12 {
		diags = append(diags, problem.New(problem.AddrTwice, hcl.Range{Filename: "a:b,c.hcl", Start: hcl.Pos{Line: 3, Column: 2}, End: hcl.Pos{Line: 3, Column: 9}}, "50%: a, b", "one\r\n::error::two"))
	}
	var b strings.Builder
	if err := Annotations(&b, func(n string) string { return n }, diags); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != perStep {
		t.Fatalf("%d lines", len(lines))
	}
	if want := "::error file=a%3Ab%2Cc.hcl,line=3,endLine=3,col=2,endColumn=9,title=WF-NET-002%3A 50%25%3A a%2C b::one%0D%0A::error::two"; lines[0] != want {
		t.Errorf("%s\nwant %s", lines[0], want)
	}
	if !strings.Contains(lines[9], "3 more problems") {
		t.Errorf("the last does not say what is missing: %s", lines[9])
	}
}

func TestGitLab(t *testing.T) {
	p := hostilePlan(3)
	p.Steps[1].Changes[0].Before, p.Steps[2].Prune = "", true
	var b strings.Builder
	if err := GitLab(&b, p); err != nil || b.String() != `{"create":1,"update":1,"delete":1}`+"\n" {
		t.Errorf("%s %v", b.String(), err)
	}
}

func FuzzCode(f *testing.F) {
	f.Add(hostile)
	f.Add("`")
	f.Add(" ` ")
	f.Fuzz(func(t *testing.T, text string) {
		if got := prose(t, code(text)); got != "CODE" && got != "–" {
			t.Errorf("%q leaves %q", code(text), got)
		}
		if strings.Contains(code(text), "\n") {
			t.Error("more than one line")
		}
		prose(t, html(text))
	})
}

// A phase that restarts hosts says so where it stands folded.
func TestMarkdownRestarts(t *testing.T) {
	p := &plan.Plan{Restarts: []plan.Restart{{Device: "server.a", Phase: "one", Rolling: true}, {Device: "server.b", Phase: "one", Rolling: true}, {Device: "server.a", Phase: "two"}}}
	for _, phase := range []string{"one", "two"} {
		p.Steps = append(p.Steps, plan.PlannedStep{ID: plan.ID{Device: "server.a", Kind: "k", Name: phase}, Phase: phase, Changes: []plan.Change{{Path: "x", Impact: plan.ImpactReboot}}})
	}
	var b bytes.Buffer
	if err := (&Plan{Plan: p}).Markdown(&b, 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Phase <code>one</code>: 1 resource, worst impact reboot, empties and restarts 2 hosts one after another<", "Phase <code>two</code>: 1 resource, worst impact reboot, in force from the next start of 1 host, which nothing restarts<"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, b.String())
		}
	}
}
