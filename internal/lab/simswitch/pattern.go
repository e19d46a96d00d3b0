package simswitch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The patterns of the grammar tables:
//
//	word             a keyword, which may be abbreviated
//	{a|b} {x:a|b}    one of several keywords, captured (as x)
//	[a <b>]          may be left out; captured as a whole when it is named: [x: a <b>]
//	<kind> <x:kind>  a parameter, captured (as x, else as its kind)
//
// Kinds of parameters are in the table of [parameter].

// An element is one place of a pattern in which all options are decided.
type element struct {
	words  []string // a keyword, or several to choose from
	name   string   // captured under this name; empty: not captured
	option string   // belongs to this named option
	param  param    // nil for keywords
	kind   string   // of the parameter
}

// A param takes one or more tokens from the front and returns them in the form
// that the device stores, and how many they were; none: no match.
type param func(tokens []string) (canon string, n int)

// A variant is a pattern in which each option is either there or not.
type variant struct{ elements []element }

// portNames are the two kinds of parameters that depend on the OS.
type portNames struct{ one, several param }

// compile takes a pattern apart. A pattern is part of the program, so one that
// cannot be compiled is a programming error and panics.
func compile(pattern string, ports portNames) []variant {
	variants := []variant{{}}
	for rest := strings.TrimSpace(pattern); rest != ""; rest = strings.TrimSpace(rest) {
		if rest[0] != '[' {
			var e element
			e, rest = oneElement(rest, pattern, ports)
			for i := range variants {
				variants[i].elements = append(variants[i].elements, e)
			}
			continue
		}
		end := strings.IndexByte(rest, ']')
		if end < 0 {
			panic(fmt.Sprintf("pattern %q: [ without ]", pattern))
		}
		name, inner := label(rest[1:end])
		rest = rest[end+1:]
		var with []variant
		for _, v := range variants {
			with = append(with, variant{slices.Clone(v.elements)})
			for body := inner; body != ""; body = strings.TrimSpace(body) {
				var e element
				e, body = oneElement(body, pattern, ports)
				e.option = name
				v.elements = append(slices.Clone(v.elements), e)
			}
			with = append(with, v)
		}
		variants = with
	}
	return variants
}

// label splits "name: rest"; a label is a word directly followed by a colon.
func label(s string) (name, rest string) {
	before, after, found := strings.Cut(s, ":")
	if !found || strings.ContainsAny(before, " <{|") {
		return "", strings.TrimSpace(s)
	}
	return before, strings.TrimSpace(after)
}

func oneElement(rest, pattern string, ports portNames) (element, string) {
	closing := map[byte]string{'{': "}", '<': ">"}[rest[0]]
	if closing == "" {
		word, after, _ := strings.Cut(rest, " ")
		return element{words: []string{word}}, after
	}
	body, after, found := strings.Cut(rest[1:], closing)
	if !found {
		panic(fmt.Sprintf("pattern %q: %c without %s", pattern, rest[0], closing))
	}
	name, body := label(body)
	if closing == "}" {
		return element{words: strings.Split(body, "|"), name: name}, after
	}
	name = cmp.Or(name, body)
	p := parameter(body, ports)
	if p == nil {
		panic(fmt.Sprintf("pattern %q: unknown kind of parameter %q", pattern, body))
	}
	return element{name: name, param: p, kind: body}, after
}

// parameter is the reader of a kind of parameter, or nil.
func parameter(kind string, ports portNames) param {
	switch kind {
	case "name", "word":
		return func(t []string) (string, int) { return t[0], 1 }
	case "text":
		return func(t []string) (string, int) { return strings.Join(t, " "), len(t) }
	case "port":
		return ports.one
	case "ports":
		return ports.several
	case "queue": // Comware's names for 0 to 7
		return queueName
	}
	if span, ok := strings.CutPrefix(kind, "list "); ok { // 1,3-5
		low, high := bounds(span)
		return func(t []string) (string, int) { return numberList(t[0], low, high) }
	}
	if span, ok := strings.CutPrefix(kind, "numbers "); ok { // 4 5 6
		low, high := bounds(span)
		return func(t []string) (string, int) { return numbers(t, low, high) }
	}
	if low, high := bounds(kind); high >= 0 {
		return func(t []string) (string, int) {
			n, err := strconv.Atoi(t[0])
			if err != nil || n < low || n > high {
				return "", 0
			}
			return strconv.Itoa(n), 1
		}
	}
	return nil
}

// bounds reads "low-high"; high is -1 for anything else.
func bounds(span string) (low, high int) {
	a, b, _ := strings.Cut(span, "-")
	low, err1 := strconv.Atoi(a)
	high, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil {
		return 0, -1
	}
	return low, high
}

// numberList checks a list such as 1,3-5 and keeps it as it was typed.
func numberList(s string, low, high int) (string, int) {
	for _, part := range strings.Split(s, ",") {
		a, b, span := strings.Cut(part, "-")
		if !span {
			b = a
		}
		from, err1 := strconv.Atoi(a)
		to, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil || from < low || to > high || from > to {
			return "", 0
		}
	}
	return s, 1
}

// numbers takes all numbers from the front, separated by spaces.
func numbers(t []string, low, high int) (string, int) {
	n := 0
	for n < len(t) {
		v, err := strconv.Atoi(t[n])
		if err != nil {
			break
		}
		if v < low || v > high {
			return "", 0
		}
		n++
	}
	return strings.Join(t[:n], " "), n
}

func queueName(t []string) (string, int) {
	names := []string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"}
	if n, err := strconv.Atoi(t[0]); err == nil && n >= 0 && n < len(names) {
		return names[n], 1
	}
	if slices.Contains(names, strings.ToLower(t[0])) {
		return strings.ToLower(t[0]), 1
	}
	return "", 0
}
