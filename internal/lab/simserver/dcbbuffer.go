//go:build unix

package simserver

import (
	"fmt"
	"math"
	"strconv"
)

// buffers are the receive buffers of a port, in the form of mlx5.
type buffers struct {
	of   [8]int // of each priority
	size [8]int // bytes
}

const (
	allBuffers = 262016 // bytes
	bufferCell = 128    // bytes: sizes are rounded down to it
)

func buffersAtBoot() buffers { return buffers{size: [8]int{allBuffers}} }

type bufferJSON struct {
	Of    [8]int `json:"prio_buffer"`
	Size  [8]int `json:"buffer_size"`
	Total int    `json:"total_size"`
}

func (b *buffers) shown() bufferJSON { return bufferJSON{b.of, b.size, allBuffers} }

func (b *buffers) text() string {
	var sizes [8]string
	for n, size := range b.size {
		sizes[n] = sizeText(size)
	}
	return named("prio-buffer", b.of) + named("buffer-size", sizes) + "total-size " + sizeText(allBuffers) + " \n"
}

// sizeText is a size as iproute2 prints it: in units where that is about right.
func sizeText(n int) string {
	for _, unit := range []struct {
		size, off float64
		name      string
	}{{1 << 20, 1024, "Mb"}, {1 << 10, 16, "Kb"}} {
		if whole := math.RoundToEven(float64(n) / unit.size); float64(n) >= unit.size && math.Abs(whole*unit.size-float64(n)) < unit.off {
			return fmt.Sprintf("%g%s", whole, unit.name)
		}
	}
	return strconv.Itoa(n) + "b"
}

// setBuffer is dcb buffer set dev NAME { prio-buffer MAP | buffer-size MAP }…
func (c *dcbCall) setBuffer(name string, args []string) int {
	return c.set(name, args, dcbObject{
		take: func(i *iface, word string, values []string) (int, string) {
			switch m := mappings(values); word {
			case "prio-buffer":
				return len(m), mapAll(m, word, "PRIO:BUFFER", &i.buffers.of, number("PRIO:BUFFER", 7))
			case "buffer-size":
				return len(m), mapAll(m, word, "BUFFER:INTEGER", &i.buffers.size, bufferSize)
			}
			return 0, ""
		},
		refuse: func(i *iface) string { return i.buffers.settle(i) },
		keep:   func(now, want *iface) { now.buffers = want.buffers },
	})
}

func bufferSize(s string) (int, string, bool) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), "", err == nil
}

// settle rounds the sizes, and says what the driver does not take: more than
// there is, or a lossless buffer that a packet after a pause would not fit in.
func (b *buffers) settle(i *iface) string {
	sum := 0
	for n := range b.size {
		b.size[n] -= b.size[n] % bufferCell
		sum += b.size[n]
	}
	for prio, n := range b.of {
		if i.pfc[prio] && b.size[n] < i.maxMTU+bufferCell {
			return "Cannot allocate memory"
		}
	}
	if sum > allBuffers {
		return "Invalid argument"
	}
	return ""
}
