package plan

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/selector"
	"weft/internal/slice"
)

// CheckAllow refuses a pattern of resources that may lose data unless it names a device and a
// kind: * stands for any text in a name and in the key of an instance.
func CheckAllow(pattern string) error {
	id, err := ParseID(pattern)
	block, _, _ := strings.Cut(id.Device, "[")
	if err == nil && id.Device != "" && id.Kind != "" && id.Name != "" && !strings.Contains(block+id.Kind, "*") {
		return nil
	}
	return hint.Wrap(fmt.Errorf("%q does not name a device and a kind", pattern),
		`write device/kind.name; * may stand for a name, or for the key of an instance: server.node["st1"]/volume.*, server.node[*]/volume.flash.data`)
}

// allows reports whether a pattern allows a resource to lose data.
func allows(pattern string, id ID) bool {
	want, err := ParseID(pattern)
	if err != nil || want.Kind != id.Kind || !glob(want.Name, id.Name) {
		return false
	}
	return selector.Covers(want.Device, id.Device) || glob(want.Device, id.Device)
}

// glob is selector.Glob without ?, so that a key that has one allows nothing else.
func glob(pattern, text string) bool {
	return pattern == text || !strings.Contains(pattern, "?") && selector.Glob(pattern, text)
}

// allow resolves patterns to the resources of the plan that lose data.
func (p *Plan) allow(patterns []string) {
	for _, s := range p.losing() {
		if slices.ContainsFunc(patterns, func(pattern string) bool { return allows(pattern, s.ID) }) {
			p.AllowDestroy = append(p.AllowDestroy, s.ID.String())
		}
	}
}

// Allows reports whether a pattern names a resource that the plan allows to lose data.
func (p *Plan) Allows(pattern string) bool {
	return slices.ContainsFunc(p.AllowDestroy, func(name string) bool {
		id, err := ParseID(name)
		return err == nil && (name == pattern || allows(pattern, id))
	})
}

// Unallowed lists the patterns of the input that allow nothing in the plan, which may be
// misspelt. What is on devices that were not read is not known.
func (in *Input) Unallowed(p *Plan) []string {
	return slice.Filter(in.AllowDestroy, func(pattern string) bool {
		unread := slices.ContainsFunc(p.Unreachable(), func(d PlannedDevice) bool {
			id, err := ParseID(pattern)
			return err == nil && (selector.Covers(id.Device, d.Address) || glob(id.Device, d.Address))
		})
		refused := slices.ContainsFunc(p.Refusals, func(r Refusal) bool { return allows(pattern, r.ID) }) // which says more
		return !unread && !refused && !p.Allows(pattern)
	})
}
