//go:build unix

package simesxi

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
)

// grep looks for a text, not a pattern, in one file or in its input.
func grep(x *call) int {
	flags, names, ok := x.operands("F")
	if !ok || flags != "F" || len(names) < 1 || len(names) > 2 {
		return x.fail("this SIMULATED host looks for a text with -F only, in one file at most")
	}
	in := x.in
	if len(names) == 2 {
		f, err := x.s.h.root.Open(inside(names[1]))
		if err != nil {
			return x.fail("%s: %v", names[1], plain(err)) + 1
		}
		defer f.Close()
		in = f
	}
	status := 1
	for s := bufio.NewScanner(in); s.Scan(); {
		if strings.Contains(s.Text(), names[0]) {
			fmt.Fprintln(x.out, s.Text())
			status = 0
		}
	}
	return status
}

// tail is the last line of its input.
func tail(x *call) int {
	if !slices.Equal(x.args, []string{"-n", "1"}) {
		return x.fail("this SIMULATED host prints the last line of its input only")
	}
	text, err := io.ReadAll(x.in)
	if err != nil {
		return x.fail("%v", err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; last > 0 && lines[last] == "" {
		lines = lines[:last]
	}
	fmt.Fprint(x.out, lines[len(lines)-1])
	return 0
}
