package language

import (
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"

	"github.com/zclconf/go-cty/cty"
)

// A valueType says which values an attribute takes.
type valueType struct {
	name  string                // as messages call it: `a duration such as "5m"`
	cty   cty.Type              // what values are converted to; NilType: references
	check func(cty.Value) error // of a known value; a *unitError carries a position
	code  problem.Code          // of what check refuses; "": codeValue
	words []string              // all that it may be, or all that the items of a list may be; nil: not only words
	later []string              // words that are described, not yet managed
	refs  []string              // the types of blocks that a reference may lead to
	many  bool                  // takes several references
	texts bool                  // takes texts, too, where references are taken
}

func anything() valueType { return valueType{name: "a value", cty: cty.DynamicPseudoType} }

func text() valueType { return valueType{name: "a string", cty: cty.String} }

func boolean() valueType { return valueType{name: "true or false", cty: cty.Bool} }

// line is a text that nothing takes for more than one line, or for commands to a
// terminal.
func line() valueType { return matching("a single-line string", plainLine) }

const plainLine = `[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*`

// lineMap is a map of names to lines.
func lineMap() valueType {
	line := line()
	return valueType{name: "a map of strings", cty: cty.Map(cty.String), check: func(v cty.Value) error {
		for it := v.ElementIterator(); it.Next(); {
			key, item := it.Element()
			for _, text := range []cty.Value{key, item} {
				if text.IsNull() {
					continue
				}
				if err := line.check(text); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

func textList() valueType { return valueType{name: "a list of strings", cty: cty.List(cty.String)} }

// ref is a reference to one block of one of the types.
func ref(types ...string) valueType {
	return valueType{name: "a reference to a " + problem.OrList(types), refs: types}
}

// refs is any number of references.
func refs(types ...string) valueType {
	return valueType{name: "references to a " + problem.OrList(types), refs: types, many: true}
}

// refsOr is any number of references or texts.
func refsOr(what string, types ...string) valueType {
	t := refs(types...)
	t.name += " or " + what
	t.texts = true
	return t
}

func aNumber() valueType { return valueType{name: "a number", cty: cty.Number} }

// integer is a whole number from low to high.
func integer(low, high int64) valueType {
	return valueType{
		name:  fmt.Sprintf("a whole number from %d to %d", low, high),
		cty:   cty.Number,
		check: func(v cty.Value) error { return checkInteger(v, low, high) },
	}
}

func integerList(low, high int64) valueType {
	return valueType{
		name:  fmt.Sprintf("a list of whole numbers from %d to %d", low, high),
		cty:   cty.List(cty.Number),
		check: each(func(v cty.Value) error { return checkInteger(v, low, high) }),
	}
}

func checkInteger(v cty.Value, low, high int64) error {
	f := v.AsBigFloat()
	if n, exact := f.Int64(); !f.IsInt() || exact != big.Exact || n < low || n > high {
		return fmt.Errorf("a whole number from %d to %d is required", low, high)
	}
	return nil
}

// oneOf is one of some words.
func oneOf(words ...string) valueType {
	return valueType{name: "one of " + quotedList(words), cty: cty.String, words: words, check: func(v cty.Value) error {
		return checkWord(v.AsString(), words)
	}}
}

// orLater names words that are described, not yet managed.
func (t valueType) orLater(words ...string) valueType {
	t.later = words
	return t
}

// wordList is a list of some words, each at most once.
func wordList(words ...string) valueType {
	return valueType{name: "a list of " + quotedList(words), cty: cty.List(cty.String), words: words, check: func(v cty.Value) error {
		var seen []string
		for _, item := range v.AsValueSlice() {
			if item.IsNull() {
				return errors.New("the list contains null")
			}
			word := item.AsString()
			if err := checkWord(word, words); err != nil {
				return err
			}
			if slices.Contains(seen, word) {
				return fmt.Errorf("%q is in the list twice", word)
			}
			seen = append(seen, word)
		}
		if len(seen) == 0 {
			return errors.New("the list is empty")
		}
		return nil
	}}
}

func checkWord(word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	if other := otherWayOf(word); other != nil {
		return other
	}
	if hint := problem.DidYouMean(word, words); hint != "" {
		return fmt.Errorf("%q is not one of %s.%s", word, quotedList(words), hint)
	}
	return fmt.Errorf("%q is not one of %s", word, quotedList(words))
}

// argumentVector is a command with its arguments, which no shell reads.
func argumentVector() valueType {
	return valueType{name: `a list of a command and its arguments such as ["modprobe", "nvmet"]`, cty: cty.List(cty.String), check: func(v cty.Value) error {
		for i, item := range v.AsValueSlice() {
			if item.IsNull() || strings.ContainsRune(item.AsString(), 0) || i == 0 && item.AsString() == "" {
				return errors.New("each item must be a string, and the first one names the command")
			}
		}
		if v.LengthInt() == 0 {
			return errors.New("the list is empty")
		}
		return nil
	}}
}

// measured is a text with a unit that parse reads.
func measured[T any](name string, parse func(string) (T, error)) valueType {
	return valueType{name: name, cty: cty.String, check: parsed(parse)}
}

func size() valueType { return measured(`a size such as "150KB" or "2TiB"`, parseSize) }

func sizeList() valueType {
	return valueType{name: `a list of sizes such as "4KiB"`, cty: cty.List(cty.String), check: each(parsed(parseSize))}
}

func rate() valueType { return measured(`a rate such as "100G"`, parseRate) }

func bandwidth() valueType { return measured(`a bandwidth such as "1GB"`, parseBandwidth) }

func duration() valueType { return measured(`a duration such as "30us" or "5m"`, parseDuration) }

func percent() valueType { return measured(`a percentage such as "10%"`, parsePercent) }

func window() valueType {
	return measured(`a window such as "Sat,Sun 22:00-04:00 Europe/Berlin"`, inventory.ParseWindow)
}

// durationOr is a duration or one of some words.
func durationOr(words ...string) valueType {
	t := duration()
	t.name += " or " + quotedList(words)
	t.check = func(v cty.Value) error {
		if slices.Contains(words, v.AsString()) {
			return nil
		}
		return parsed(parseDuration)(v)
	}
	return t
}

// matching is a text that a pattern matches.
func matching(name, pattern string) valueType {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) })
	return valueType{name: name, cty: cty.String, check: func(v cty.Value) error {
		if !re().MatchString(v.AsString()) {
			return fmt.Errorf("%q is not %s", v.AsString(), name)
		}
		return nil
	}}
}

// hostSystem is the operating system of a server.
func hostSystem() valueType {
	managed, later := catalogue.HostSystems()
	names := slice.Map(managed, func(o *catalogue.HostOS) string { return o.ID })
	return oneOf(names...).orLater(later...)
}

// machineID is the identity of a machine, on any system that is managed.
func machineID() valueType {
	var patterns, words []string
	managed, _ := catalogue.HostSystems()
	for _, o := range managed {
		patterns = append(patterns, o.MachineID.Value)
		if !slices.Contains(words, o.Identity.Value) {
			words = append(words, o.Identity.Value)
		}
	}
	return matching("a machine id of "+strings.Join(words, ", or of "), strings.Join(patterns, "|"))
}

// hostName is what goes into command lines, paths and files that are read by
// words: names, aliases of an ssh_config, and addresses, with a zone.
func hostName() valueType {
	t := matching("a host name or an address", `[A-Za-z0-9_:\[][A-Za-z0-9_.:%\[\]-]*`)
	word := t.check
	t.check = func(v cty.Value) error {
		if err := word(v); err != nil {
			return err
		}
		text := v.AsString()
		if _, err := netip.ParseAddr(strings.Trim(text, "[]")); strings.Contains(text, ":") && err != nil {
			return fmt.Errorf("%q is not %s: set a port in the connection, or in ~/.ssh/config", text, t.name)
		}
		if inventory.IsNumber(text) {
			return fmt.Errorf("%q is not %s: an IPv4 address has four numbers", text, t.name)
		}
		return nil
	}
	return t
}

// userName is one that a shell, a configuration and a path take as one word, also
// of a domain: user@realm or DOMAIN\user.
func userName() valueType {
	return matching("a user name", `[A-Za-z0-9_][A-Za-z0-9_.@\\-]*`)
}

// absolutePath is a path without ".", "..", "//" and what a terminal or a file of
// lines would take for something else.
const absolutePath = `(?:/(?:[^/.\p{Cc}\p{Cf}\p{Zl}\p{Zp}][^/\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*|` +
	`\.[^/.\p{Cc}\p{Cf}\p{Zl}\p{Zp}][^/\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*|\.\.[^/\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+))+`

// moduleOptions are parameters of a kernel module, as a line of modprobe.d takes
// them: see modprobe.d(5). A backslash would join lines.
func moduleOptions() valueType {
	t := valueType{name: "a map of strings (options of a kernel module)", cty: cty.Map(cty.String)}
	name := matching("a parameter of it", `[A-Za-z0-9_][A-Za-z0-9_.-]*`)
	value := matching("one word, or in quotes, of ASCII without a backslash",
		`[!#-\[\]-~]*|"[ !#-\[\]-~]*"`)
	t.check = func(v cty.Value) error {
		var all []error
		for it := v.ElementIterator(); it.Next(); {
			k, item := it.Element()
			all = append(all, name.check(k))
			if item.IsKnown() && !item.IsNull() {
				if err := value.check(item); err != nil {
					all = append(all, fmt.Errorf("%s: %w", k.AsString(), err))
				}
			}
		}
		return errors.Join(all...)
	}
	return t
}

// listMatching is a list of texts that a pattern matches.
func listMatching(name, pattern string) valueType {
	return valueType{name: "a list with each item " + name, cty: cty.List(cty.String), check: each(matching(name, pattern).check)}
}

// limit is a number, or a text with a duration.
func limit() valueType {
	return valueType{name: `a number or a duration such as "30us"`, cty: cty.DynamicPseudoType, check: func(v cty.Value) error {
		switch v.Type() {
		case cty.Number:
			return nil
		case cty.String:
			return parsed(parseDuration)(v)
		}
		return fmt.Errorf("a number or a duration is required, not %s", v.Type().FriendlyName())
	}}
}

func parsed[T any](parse func(string) (T, error)) func(cty.Value) error {
	return func(v cty.Value) error {
		_, err := parse(v.AsString())
		return err
	}
}

// each checks all items of a list.
func each(check func(cty.Value) error) func(cty.Value) error {
	return func(v cty.Value) error {
		for _, item := range v.AsValueSlice() {
			if item.IsNull() {
				return errors.New("the list contains null")
			}
			if err := check(item); err != nil {
				return err
			}
		}
		return nil
	}
}

func quotedList(words []string) string {
	quoted := slice.Map(words, func(w string) string { return fmt.Sprintf("%q", w) })
	return problem.OrList(quoted)
}

// prefix is an address with the length of its subnet.
func prefix() valueType {
	return measured(`an address with a prefix length such as "10.40.1.11/24"`, netip.ParsePrefix)
}

// hardware says how an RDMA NIC is found.
func hardware() valueType {
	pci := matching("a PCI address such as 0000:41:00.0", `(?i)[0-9a-f]{4}:[0-9a-f]{2}:[0-1][0-9a-f]\.[0-7]`)
	mac := matching("a MAC address such as 02:00:00:00:00:01", `(?i)[0-9a-f]{2}(:[0-9a-f]{2}){5}`)
	port := matching("the number of a port, such as 1", `0|[1-9][0-9]?`)
	return valueType{name: "an object with pci or mac", cty: cty.Map(cty.String), check: func(v cty.Value) error {
		if v.LengthInt() == 0 {
			return errors.New("pci or mac is required")
		}
		for key, item := range v.AsValueMap() {
			switch {
			case item.IsNull():
				return fmt.Errorf("%s is null", key)
			case key == "pci" && pci.check(item) != nil:
				return pci.check(item)
			case key == "mac" && mac.check(item) != nil:
				return mac.check(item)
			case key == "port" && port.check(item) != nil:
				return port.check(item)
			case key == "port" && !v.HasIndex(cty.StringVal("pci")).True():
				return errors.New("port requires pci: it selects a port of a PCI function")
			case key != "pci" && key != "mac" && key != "port":
				return fmt.Errorf("%q is not pci, port or mac", key)
			}
		}
		return nil
	}}
}

// CheckHost refuses what is no host name or address where files would: what is typed
// on a command line goes into the same command lines and paths.
func CheckHost(text string) error { return hostName().check(cty.StringVal(text)) }

// CheckUser refuses what is no user name where files would.
func CheckUser(text string) error { return userName().check(cty.StringVal(text)) }

// CheckOwner refuses what cannot stand as name in weft { }.
func CheckOwner(text string) error { return ownerName().check(cty.StringVal(text)) }
