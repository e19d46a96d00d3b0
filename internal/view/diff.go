package view

import (
	"fmt"
	"strings"
)

const diffContext = 3 // unchanged lines around a change

// LineDiff is the unified diff of two texts of one file that have equally
// many lines, as a change of layout leaves them: line n is compared with line
// n. It is empty when the two are the same.
func LineDiff(s Style, name, before, after string) string {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	n := min(len(a), len(b))
	if n > 0 && a[n-1] == "" && b[n-1] == "" {
		n-- // what follows the last line end is no line
	}
	var out strings.Builder
	for at := 0; at < n; {
		first := at
		for first < n && a[first] == b[first] {
			first++
		}
		if first == n {
			break
		}
		end := hunkEnd(a[:n], b[:n], first)
		from, to := max(first-diffContext, at), min(end+diffContext, n)
		if out.Len() == 0 {
			out.WriteString(s.dress(bold, "--- a/"+name) + "\n" + s.dress(bold, "+++ b/"+name) + "\n")
		}
		out.WriteString(s.dress(cyan, fmt.Sprintf("@@ -%d,%d +%d,%d @@", from+1, to-from, from+1, to-from)) + "\n")
		writeHunk(&out, s, a[from:to], b[from:to])
		at = to
	}
	return out.String()
}

// hunkEnd is the line after the last change that belongs to one hunk: changes
// whose context would touch are one.
func hunkEnd(a, b []string, first int) int {
	end := first + 1
	for i := end; i < len(a) && i <= end+2*diffContext; i++ {
		if a[i] != b[i] {
			end = i + 1
		}
	}
	return end
}

// writeHunk writes each run of changed lines as what goes, then what comes.
func writeHunk(out *strings.Builder, s Style, a, b []string) {
	for i := 0; i < len(a); {
		if a[i] == b[i] {
			out.WriteString(diffLine(" ", a[i]) + "\n")
			i++
			continue
		}
		end := i
		for end < len(a) && a[end] != b[end] {
			end++
		}
		for _, line := range a[i:end] {
			out.WriteString(s.dress(red, diffLine("-", line)) + "\n")
		}
		for _, line := range b[i:end] {
			out.WriteString(s.dress(green, diffLine("+", line)) + "\n")
		}
		i = end
	}
}

func diffLine(mark, line string) string {
	text, whole := strings.CutSuffix(line, "\n")
	if !whole {
		text += "\n\\ No newline at end of file"
	}
	return mark + text
}
