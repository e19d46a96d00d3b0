package report

import (
	"strings"
	"testing"

	"weft/plan"
)

// A long script that several steps run stands on the page once, with its number at each of
// them; what each gives it stays where it is, and so does what only one runs.
func TestScripts(t *testing.T) {
	long := strings.Repeat("read -r v; ", 20) + `printf '\''%s\n'\'' "$1"`
	other := strings.Repeat("echo; ", 40)
	r := sample()
	r.Plan.Steps = nil
	for _, name := range []string{"one", "two"} {
		r.Plan.Steps = append(r.Plan.Steps, plan.PlannedStep{ID: plan.ID{Device: "server.a", Kind: "file", Name: name},
			Send: []string{"$ sh -c '" + long + "' sh " + name, "$ sh -c 'echo short' sh"}, Undo: []string{"$ sudo sh -c '" + long + "' sh no-" + name}})
	}
	r.Plan.Steps[0].Send = append(r.Plan.Steps[0].Send, "$ sh -c '"+other+"'", "it's no script", "$ sh -c 'never closed")
	text := write(t, finished(t, r).HTML)
	strict(t, text)
	for want, times := range map[string]int{"$ sh -c ‹script 1› sh one": 1, "$ sh -c ‹script 1› sh two": 1, "$ sudo sh -c ‹script 1› sh no-two": 1, "<h4>‹script 1›</h4>": 1, "read -r v; read -r v; read -r v; read -r v; read -r v; ": 4,
		"‹script 2›": 0, "echo short": 2, strings.TrimSpace(other): 1, "it&#39;s no script": 1, "never closed": 1, "1 script <": 1} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is there %d times, want %d", want, got, times)
		}
	}
}
