package rdma

import "weft/internal/nvme/rdma/verbs"

// earlyCapsules are received at most before a host has connected, which takes one:
// strangers make this side keep no more memory in place for it than every account
// of the budget has without asking.
const earlyCapsules = 4

func (c *conn) early() int { return min(c.depth, earlyCapsules) }

// grow makes room for all other capsules. The caller holds mu.
func (c *conn) grow() error {
	if c.depth == c.early() || c.dead {
		return nil
	}
	if err := c.capsules[1].open(c.link.Domain(), (c.depth-c.early())*c.stride); err != nil {
		return err
	}
	for i := c.early(); i < c.depth; i++ {
		c.receive(i)
	}
	return nil
}

// room is memory that the hardware receives into.
type room struct {
	bytes []byte
	mem   *verbs.Memory
}

func (r *room) open(d verbs.Domain, n int) (err error) {
	r.bytes = make([]byte, n)
	r.mem, err = d.Register(r.bytes, verbs.LocalWrite)
	return err
}

// capsule is where the command of a slot is received, and how far into it.
func (c *conn) capsule(i int) (in *room, at int) {
	if n := c.early(); i >= n {
		return &c.capsules[1], (i - n) * c.stride
	}
	return &c.capsules[0], i * c.stride
}

// receive has a slot take one more capsule. The caller holds mu.
func (c *conn) receive(i int) {
	in, at := c.capsule(i)
	c.recvs = append(c.recvs, verbs.Work{ID: c.id | workCommand | uint64(i), Local: verbs.Piece{
		Addr: in.mem.Addr + uint64(at), Len: uint32(c.stride), Key: in.mem.Local,
	}})
}
