package report

import (
	"fmt"
	"strings"

	"weft/plan"
)

// longScript is from how many bytes on a script that steps send again and again is told once.
const longScript = 120

// scripts are the long scripts of a plan that several lines run, with other arguments each.
type scripts struct {
	List   []string
	number map[string]int // from 1
}

// scriptsOf finds them, in the order of steps.
func scriptsOf(steps []plan.PlannedStep) (out scripts) {
	out.number = map[string]int{}
	seen := map[string]bool{}
	for _, s := range steps {
		for _, lines := range [][]string{s.Send, s.Undo} {
			for _, line := range lines {
				_, script, _ := cutScript(line)
				switch {
				case len(script) < longScript || out.number[script] > 0:
				case seen[script]:
					out.List = append(out.List, script)
					out.number[script] = len(out.List)
				default:
					seen[script] = true
				}
			}
		}
	}
	return out
}

// named is a line with the number of its script in place of that, where there is one.
func (all scripts) named(line string) string {
	before, script, after := cutScript(line)
	if n := all.number[script]; n > 0 {
		return fmt.Sprintf("%s‹script %d›%s", before, n, after)
	}
	return line
}

// cutScript cuts a line in three round the script that a shell is given in quotes; "" in the
// middle: there is none. A quote within it is written as '\”.
func cutScript(line string) (before, script, after string) {
	const opens, quote = "sh -c '", `'\''`
	begin := strings.Index(line, opens)
	if begin < 0 {
		return line, "", ""
	}
	begin += len(opens)
	end := begin
	for {
		n := strings.IndexByte(line[end:], '\'')
		if n < 0 {
			return line, "", ""
		}
		if end += n; !strings.HasPrefix(line[end:], quote) {
			return line[:begin-1], line[begin:end], line[end+1:]
		}
		end += len(quote)
	}
}
