//go:build unix

package simserver

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// grep is a part of grep's: grep [-qslHv] [-m NUM] PATTERN FILE…, with -e PATTERN
// once or more often instead of the first word. It sees /sys and /proc as of
// one moment.
func grep(x *call) int {
	opts, args, ok := x.options("qslHvm:e:", long{"quiet": 'q', "invert-match": 'v', "no-messages": 's', "files-with-matches": 'l', "with-filename": 'H', "regexp": 'e', "max-count": 'm'})
	if !ok {
		return x.notSimulated(2)
	}
	words := opts['e']
	if words == nil && len(args) > 0 {
		words, args = args[:1], args[1:]
	}
	if len(words) == 0 || len(args) == 0 || !opts.has('q') && !opts.has('H') && !opts.has('l') {
		return x.notSimulated(2)
	}
	var patterns []*regexp.Regexp
	for _, w := range words {
		p, err := regexp.CompilePOSIX(w)
		if err != nil {
			return x.notSimulated(2)
		}
		patterns = append(patterns, p)
	}
	most := -1
	if opts.has('m') {
		n, err := strconv.Atoi(opts.last('m'))
		if err != nil || n < 1 {
			return x.notSimulated(2)
		}
		most = n
	}
	v, status := x.view().still(), 1
	for _, name := range args {
		text, err := v.ReadFile(x.abs(name))
		if err != nil {
			if !opts.has('s') {
				x.errorf("%s: %s", name, strerror(err))
			}
			status = 2
			continue
		}
		found := 0
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if found == most || opts.has('v') == slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(line) }) {
				continue
			}
			if opts.has('q') {
				return 0
			}
			found++
			if opts.has('l') {
				fmt.Fprintln(x.stdout, name)
				break
			}
			fmt.Fprintf(x.stdout, "%s:%s\n", name, line)
		}
		if found > 0 && status == 1 {
			status = 0
		}
	}
	return status
}
