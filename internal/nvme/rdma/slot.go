package rdma

import "weft/internal/nvme/fabric"

// slot is the place of one command.
type slot struct {
	x     fabric.Exchange
	state slotState
	in    *chunk // memory of x.Data, where it was not in the capsule
	pull  int    // bytes of it
	asked int    // bytes that incoming reckons with

	out      *chunk // data to the host
	pushed   int
	overflow bool // more was pushed than asked for
	broken   bool // there was no memory for it
}

type slotState uint8

const (
	slotFree      slotState = iota // a capsule may be received
	slotParked                     // data is going to be fetched
	slotReading                    // data is on its way
	slotExecuting                  // with the handler
)

// release gives a chunk back, if there is one.
func release(c **chunk) {
	if *c != nil {
		(*c).Release(nil)
		*c = nil
	}
}

func (s *slot) dropIn()  { release(&s.in) }
func (s *slot) dropOut() { release(&s.out) }
