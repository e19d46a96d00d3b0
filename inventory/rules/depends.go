package rules

import (
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
)

// dependents are the blocks with depends_on.
func (c *checker) dependents() []*inventory.Block {
	all := slices.Concat(blocks(c.Connections), blocks(c.Credentials), blocks(c.Fabrics), blocks(c.Switches), blocks(c.Servers), blocks(c.VCenters), blocks(c.DVSwitches), blocks(c.VMs),
		blocks(c.Links), blocks(c.Pools), blocks(c.Volumes), blocks(c.Targets), blocks(c.Initiators), blocks(c.Validations), blocks(c.Rollouts))
	return slice.Filter(all, func(b *inventory.Block) bool { return len(b.DependsOn) > 0 && !b.Incomplete })
}

func blocks[T interface{ Itself() *inventory.Block }](list []T) []*inventory.Block {
	return slice.Map(list, func(x T) *inventory.Block { return x.Itself() })
}

// A search walks along depends_on, each block once.
type search struct {
	*checker
	blocks map[string]*inventory.Block // those with depends_on
	done   map[*inventory.Block]bool   // false: on the path
	path   []*inventory.Block
	found  int
}

// cycles refuses blocks that wait for each other, each circle as its path.
func (c *checker) cycles() {
	list := c.dependents()
	s := &search{checker: c, blocks: map[string]*inventory.Block{}, done: map[*inventory.Block]bool{}}
	for _, b := range list {
		s.blocks[b.Addr] = b
	}
	for _, b := range list {
		if _, seen := s.done[b]; !seen {
			s.visit(b)
		}
	}
}

func (s *search) visit(b *inventory.Block) {
	s.done[b] = false
	s.path = append(s.path, b)
	for _, addr := range b.DependsOn {
		on := s.blocks[addr]
		if on == nil || s.found == problem.MaxAlike {
			continue
		}
		if done, seen := s.done[on]; !seen {
			s.visit(on)
		} else if !done {
			s.circle(on)
		}
	}
	s.path = s.path[:len(s.path)-1]
	s.done[b] = true
}

// circle reports the path from a block to itself.
func (s *search) circle(from *inventory.Block) {
	s.found++
	var steps []string
	for _, b := range s.path[slices.Index(s.path, from):] {
		steps = append(steps, b.Addr+" ("+problem.Where(b.At("depends_on"))+")")
	}
	const most = 20
	if n := len(steps); n > most {
		steps = slices.Concat(steps[:most/2], []string{"…"}, steps[n-most/2:])
	}
	s.refuse(problem.Cycle, from, "depends_on", "dependency cycle", "Each block depends on the next: %s, which depends on %s.", strings.Join(steps, ", "), from.Addr)
}
