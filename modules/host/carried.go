package host

import (
	"weft/internal/remote"
	"weft/plan"
)

// A carried step is one of a transaction and how far it has come.
type carried struct {
	plan.Step
	begun []remote.Step // what was sent of it
}

// undo reverts what was begun.
func (c *carried) undo() []remote.Step {
	if r, ok := c.Resource.(Thing); ok {
		return r.undoBegun(c.Have, c.begun)
	}
	return nil
}
