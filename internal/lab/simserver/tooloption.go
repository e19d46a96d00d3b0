//go:build unix

package simserver

import (
	"strings"
)

// options reads options as getopt does. short is getopt's string ("m:p"),
// names maps long names to short ones ("mode": 'm'). It has told the user when
// ok is false.
func (x *call) options(short string, names long) (opts options, rest []string, ok bool) {
	opts = options{}
	args := x.args
	for len(args) > 0 {
		a := args[0]
		switch {
		case a == "--":
			return opts, append(rest, args[1:]...), true
		case strings.HasPrefix(a, "--"):
			name, value, has := strings.Cut(a[2:], "=")
			r, known := names[name]
			takes := known && strings.Contains(short, string(r)+":")
			if !known || has && !takes {
				return nil, nil, x.badOption(a)
			}
			if takes && !has {
				if len(args) < 2 {
					return nil, nil, x.badOption(a)
				}
				value, args = args[1], args[1:]
			}
			opts[r] = append(opts[r], value)
		case len(a) > 1 && a[0] == '-':
			n, ok := x.cluster(opts, a[1:], args[1:], short)
			if !ok {
				return nil, nil, x.badOption(a)
			}
			args = args[n:]
		default:
			rest = append(rest, a)
		}
		args = args[1:]
	}
	return opts, rest, true
}

// cluster reads short options that stand together; it returns how many of the
// following arguments it used.
func (x *call) cluster(opts options, letters string, following []string, short string) (int, bool) {
	for i, r := range letters {
		at := strings.IndexRune(short, r)
		if at < 0 || r == ':' {
			return 0, false
		}
		if !strings.HasPrefix(short[at+1:], ":") {
			opts[r] = append(opts[r], "")
			continue
		}
		if value := letters[i+1:]; value != "" {
			opts[r] = append(opts[r], value)
			return 0, true
		}
		if len(following) == 0 {
			return 0, false
		}
		opts[r] = append(opts[r], following[0])
		return 1, true
	}
	return 0, true
}

func (x *call) badOption(a string) bool {
	x.errorf("option %q: not simulated in the lab", a)
	return false
}

// options are what was given, by letter.
type options map[rune][]string

func (o options) has(r rune) bool { return len(o[r]) > 0 }

// last is the value of an option, or "".
func (o options) last(r rune) string {
	if len(o[r]) == 0 {
		return ""
	}
	return o[r][len(o[r])-1]
}

// long are the long names of options, with the short one of each.
type long map[string]rune

// with is a tool that takes options, as [call.options] reads them.
func with(short string, names long, run func(x *call, opts options, rest []string) int) func(*call) int {
	return func(x *call) int {
		opts, rest, ok := x.options(short, names)
		if !ok {
			return 1
		}
		return run(x, opts, rest)
	}
}
