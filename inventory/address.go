package inventory

import (
	"net/url"
	"strings"
)

// BlockOf is the address of an instance without its index.
func BlockOf(addr string) string {
	_, rest := ModulePath(addr)
	b, _, _ := strings.Cut(rest, "[")
	return strings.TrimSuffix(addr, rest) + b
}

// LabelOf is the name of a block, without type and index: flash of
// pool.flash["st1"], and x[k].flash of module.x["k"].pool.flash. It is a name
// for a file.
func LabelOf(addr string) string {
	in, rest := ModulePath(addr)
	b, _, _ := strings.Cut(rest, "[")
	_, name, _ := strings.Cut(b, ".")
	return strings.Join(append(in, name), ".")
}

// NameOnDevice is the label of a block with its key, unless that is the key of
// what it belongs to: instances that share a server stay apart.
func NameOnDevice(addr, of string) string {
	k := KeyOf(addr)
	if k == "" || k == KeyOf(of) {
		return LabelOf(addr)
	}
	return LabelOf(addr) + "-" + url.PathEscape(k)
}

// KeyOf is the index of an instance: st1 of pool.flash["st1"].
func KeyOf(addr string) string {
	_, rest := ModulePath(addr)
	_, index, _ := strings.Cut(rest, "[")
	return strings.Trim(index, `"]`)
}

// ModulePath takes the modules off an address: those that it names, with their
// keys, and what is left.
func ModulePath(addr string) (in []string, rest string) {
	for strings.HasPrefix(addr, "module.") {
		addr = strings.TrimPrefix(addr, "module.")
		name := addr[:strings.IndexAny(addr, ".[")]
		addr = addr[len(name):]
		if key, found := strings.CutPrefix(addr, `["`); found {
			key, addr, _ = strings.Cut(key, `"]`) // no key contains quotes
			name += "[" + url.PathEscape(key) + "]"
		} else if key, found := strings.CutPrefix(addr, "["); found {
			key, addr, _ = strings.Cut(key, "]")
			name += "[" + key + "]"
		}
		in = append(in, name)
		addr = strings.TrimPrefix(addr, ".")
	}
	return in, addr
}
