// Package selector is the one definition of how devices and resources are selected: by
// --target and --exclude, by commands that take a SELECTOR, and by labels in select of files.
package selector

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Help describes selectors in the help of commands.
const Help = `A SELECTOR is one of
  server.node["st1"]    a device by its address; * and ? stand for characters
  server.node           a block with all of its instances, or a module
  st1.example.net       a device by its host; * and ? stand for characters
  server                all devices of a kind: server, switch or vcenter
  @role=storage         servers by a label; * and ? stand for characters in the value`

// A Device is what selectors know of a device.
type Device struct {
	Address, Kind, Host string
	Labels              map[string]string
}

// A Selector selects devices, or resources on devices.
type Selector struct {
	text     string
	device   string
	resource string // kind.name; "": devices
	key      string // of a label; "": by name
	value    string
}

// Parse reads a selector. A resource is DEVICE/KIND.NAME, in which * and ? stand for
// characters.
func Parse(text string) (Selector, error) {
	s := Selector{text: text}
	s.device, s.resource = split(text)
	if s.device == "" {
		return s, errors.New("a selector is empty")
	}
	word, explicit := strings.CutPrefix(s.device, "@")
	key, value, isLabel := strings.Cut(word, "=")
	switch {
	case explicit:
		var err error
		s.key, s.value, err = Label(s.device)
		return s, err
	case isLabel && key != "" && !strings.ContainsAny(key, `."[*?`):
		s.key, s.value = key, value
	}
	return s, nil
}

// Label reads @KEY=VALUE. VALUE is a pattern of path.Match.
func Label(text string) (key, value string, err error) {
	word, ok := strings.CutPrefix(text, "@")
	key, value, whole := strings.Cut(word, "=")
	_, bad := path.Match(value, "")
	if !ok || !whole || key == "" || value == "" || bad != nil {
		return "", "", fmt.Errorf(`%q is not of the form "@KEY=VALUE"`, text)
	}
	return key, value, nil
}

// MatchesLabel reports whether a value matches the pattern of a label.
func MatchesLabel(pattern, value string) bool {
	ok, err := path.Match(pattern, value)
	return ok || err != nil && pattern == value
}

// split separates the address of a device from a resource on it: keys of instances may
// contain slashes.
func split(text string) (device, resource string) {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"' && (i == 0 || text[i-1] != '\\'):
			quoted = !quoted
		case text[i] == '/' && !quoted:
			return text[:i], text[i+1:]
		}
	}
	return text, ""
}

// Devices reports whether it selects devices, and not resources on them.
func (s Selector) Devices() bool { return s.resource == "" }

// Matches reports whether it selects a device, or resources on it.
func (s Selector) Matches(d Device) bool {
	if s.key != "" {
		have, set := d.Labels[s.key]
		return set && MatchesLabel(s.value, have)
	}
	return Covers(s.device, d.Address) || s.device == d.Kind || Glob(s.device, d.Address) || d.Host != "" && Glob(s.device, d.Host)
}

// MatchesResource reports whether it selects a resource, KIND.NAME, on a device.
func (s Selector) MatchesResource(d Device, resource string) bool {
	return s.Matches(d) && (s.resource == "" || Glob(s.resource, resource))
}

// Covers reports whether an address is that of a block, a module or a device, or of something
// within it.
func Covers(block, address string) bool {
	rest, ok := strings.CutPrefix(address, block)
	return ok && block != "" && (rest == "" || rest[0] == '[' || rest[0] == '.')
}

// Glob reports whether a text matches a pattern, in which * stands for any characters and ?
// for one. Brackets are literal: addresses have them.
func Glob(pattern, text string) bool {
	if !strings.ContainsAny(pattern, "*?") {
		return pattern == text
	}
	p, t := []rune(pattern), []rune(text)
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	return !slices.ContainsFunc(p[i:], func(r rune) bool { return r != '*' })
}

// Choose returns the addresses of the devices that selectors select, in the order of the
// devices; all of them without selectors. Selectors that select nothing are returned too.
func Choose(selectors []string, devices []Device) (chosen, unused []string, err error) {
	parsed := make([]Selector, len(selectors))
	for i, text := range selectors {
		if parsed[i], err = Parse(text); err == nil && !parsed[i].Devices() {
			err = fmt.Errorf("%s selects a resource, and devices are meant", text)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	used := make([]bool, len(parsed))
	for _, d := range devices {
		take := len(parsed) == 0
		for i, s := range parsed {
			if s.Matches(d) {
				take, used[i] = true, true
			}
		}
		if take {
			chosen = append(chosen, d.Address)
		}
	}
	for i, text := range selectors {
		if !used[i] {
			unused = append(unused, text)
		}
	}
	return chosen, unused, nil
}

// A Resource is a declared resource: KIND.NAME on the device of an address.
type Resource struct{ Device, Name string }

// Expand replaces selectors by addresses of devices, and DEVICE/KIND.NAME of resources. An
// address stays as it is: it may be of an object that only a ledger still has.
func Expand(selectors []string, devices []Device, resources []Resource) ([]string, error) {
	at := make(map[string]Device, len(devices))
	for _, d := range devices {
		at[d.Address] = d
	}
	var out []string
	for _, text := range selectors {
		s, err := Parse(text)
		if err != nil {
			return nil, err
		}
		address := s.key == "" && !strings.ContainsAny(text, "*?") &&
			slices.ContainsFunc(devices, func(d Device) bool { return Covers(s.device, d.Address) })
		var found []string
		switch {
		case s.Devices():
			for _, d := range devices {
				if s.Matches(d) && !(address && Covers(s.device, d.Address)) {
					found = append(found, d.Address)
				}
			}
		case !address:
			for _, r := range resources {
				if s.MatchesResource(at[r.Device], r.Name) {
					found = append(found, r.Device+"/"+r.Name)
				}
			}
		}
		if address || found == nil {
			out = append(out, text)
		}
		out = append(out, found...)
	}
	return out, nil
}
