package nic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// Buffers keeps the receive buffers of one NIC port: one of a declared size for
// each priority that needs headroom, and buffer 0, which has the rest, for all
// others. What fills up a buffer makes the port send a pause.
type Buffers struct {
	PCI       string                  // address of the NIC port: 0000:41:00.0
	Interface string                  `json:"-"` // observed: the name it has today
	Of        [traffic.Priorities]int // the buffer of each priority
	Size      [traffic.Priorities]int // bytes; 0 of buffer 0 is what the others leave of all there are
}

// BuffersKind is the kind buffers.
func BuffersKind() *host.Kind[Buffers] {
	return &host.Kind[Buffers]{
		Name: "buffers", Lasting: true, Risky: true, Port: buffersPort,
		Looks: (*Buffers).Looks, Parse: (*Buffers).Parse, Diff: (*Buffers).Diff, Steps: (*Buffers).Steps,
		About: (*Buffers).About, Boot: (*Buffers).Boot, Advice: (*Buffers).Advice,
	}
}

// newBuffers are the buffers that the classes with headroom ask for; nil: none
// does.
func newBuffers(pci string, classes []*inventory.TrafficClass) *Buffers {
	b := &Buffers{PCI: pci}
	n := 0
	sorted := slices.SortedFunc(slices.Values(classes), func(a, b *inventory.TrafficClass) int { return a.Priority - b.Priority })
	for _, c := range sorted {
		if c.Headroom != nil {
			n++
			b.Of[c.Priority], b.Size[n] = n, int(c.Headroom.Size)
		}
	}
	if n == 0 || n > traffic.MaxPriority {
		return nil
	}
	return b
}

func (b *Buffers) look() remote.Look {
	return remote.Look{PCI: b.PCI, Args: []string{"dcb", "-j", "buffer", "show", "dev", "{if}"}}
}

func (b *Buffers) Looks() []remote.Look { return []remote.Look{b.look()} }

// Parse: a port whose buffers cannot be set, or are too small,
// is refused.
func (b *Buffers) Parse(s remote.Seen) (*Buffers, error) {
	name, err := see.Netdev(s, b.PCI)
	if err != nil {
		return nil, err
	}
	got := s.Of(b.look())
	if got.Err != nil && strings.Contains(string(got.Stderr)+string(got.Content), "Operation not supported") {
		return nil, hint.Wrap(fmt.Errorf("the driver of %s does not let its receive buffers be set", name),
			"take headroom out of the traffic class: the driver then chooses by itself")
	}
	if got.Err != nil {
		return nil, got.Err
	}
	var seen struct {
		Of   []int `json:"prio_buffer"`
		Size []int `json:"buffer_size"`
	}
	if err := see.JSON(got.Content, &seen); err != nil || len(seen.Of) != traffic.Priorities || len(seen.Size) != traffic.Priorities {
		return nil, fmt.Errorf("dcb -j buffer show dev %s answers %q", name, got.Content)
	}
	have := &Buffers{PCI: b.PCI, Interface: name, Of: [traffic.Priorities]int(seen.Of), Size: [traffic.Priorities]int(seen.Size)}
	if rest := b.sizes(have.sum())[0]; rest <= 0 {
		return nil, hint.Wrap(fmt.Errorf("%s has receive buffers of %d bytes together, of which headroom leaves none for all other traffic", name, have.sum()),
			"make the size in headroom smaller")
	}
	return have, nil
}

// sum is what all buffers have together. What a port says to be its total may
// hold what is not for these, so that the sum stays as it was found.
func (b *Buffers) sum() int {
	sum := 0
	for _, n := range b.Size {
		sum += n
	}
	return sum
}

// sizes are those of all buffers of a port that has so many bytes.
func (b *Buffers) sizes(sum int) [traffic.Priorities]int {
	list := b.Size
	if list[0] == 0 {
		list[0] = sum - b.sum()
	}
	return list
}

// Diff: drivers take their channels down and up for it.
func (b *Buffers) Diff(have *Buffers) []plan.Change {
	sum := max(have.sum(), b.sum()) // of the one that was observed
	return append(plan.Changed("prio-buffer", mapping(have.Of), mapping(b.Of), plan.ImpactTraffic),
		plan.Changed("buffer-size", mapping(have.sizes(sum)), mapping(b.sizes(sum)), plan.ImpactTraffic)...)
}

// Steps: all of it in one command, because the sum must fit.
func (b *Buffers) Steps(have *Buffers) []remote.Step {
	if len(b.Diff(have)) == 0 {
		return nil
	}
	return []remote.Step{b.step(cmp.Or(b.Interface, have.Interface), strings.Fields(mapping(b.sizes(max(have.sum(), b.sum())))))}
}

func (b *Buffers) step(name string, sizes []string) remote.Step {
	args := append([]string{"dcb", "buffer", "set", "dev", name, "prio-buffer"}, strings.Fields(mapping(b.Of))...)
	return host.Run(append(append(args, "buffer-size"), sizes...)...)
}

func (b *Buffers) Advice(reply string) string {
	switch {
	case reply == "":
		return "the card has buffers in cells and rounds what it is given: write the size that it reads as headroom"
	case strings.Contains(reply, "Cannot allocate memory"):
		return "the buffer of a lossless class must hold what arrives after a pause, which grows with the MTU and the cable: write a larger size in headroom"
	case strings.Contains(reply, "Invalid argument"):
		return "the sizes are more than the port has: write a smaller size in headroom; see dmesg"
	}
	return ""
}

// Boot: what buffer 0 gets is known on the server only.
func (b *Buffers) Boot() []string {
	sizes := make([]string, 8)
	for i, n := range b.Size {
		sizes[i] = fmt.Sprintf("%d:%d", i, n)
	}
	sizes[0] = "0:" + anyRest
	line := dcbLines(b.PCI, []remote.Step{b.step(anyNIC, sizes)})[0]
	return []string{
		`buffers=$(dcb -j buffer show dev "$(nic ` + remote.Quote(b.PCI) + `)")`,
		`buffers=${buffers##*'"buffer_size":['}`,
		fmt.Sprintf("rest=-%d; IFS=,; for n in ${buffers%%%%]*}; do rest=$((rest + n)); done; unset IFS", b.sum()),
		strings.Replace(line, anyRest, `"$rest"`, 1),
	}
}

// anyRest stands for the size of buffer 0 in a step that becomes a line of a
// boot script.
const anyRest = "weft-rest"

func (b *Buffers) About() string { return b.PCI }

func buffersPort(r *inventory.RNIC) *Buffers {
	if !classful(r) {
		return nil
	}
	return newBuffers(r.Place(), r.Fabric.Classes)
}
