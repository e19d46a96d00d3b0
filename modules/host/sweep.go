package host

import (
	"context"
	"fmt"

	"weft/modules/claim"
	"weft/plan"
)

// An apply that is killed may leave a lease, and files that were on their way to
// their place. Nobody would ever ask for them again: what was left is swept by the
// next transaction on the server, under its lease.

// leavings are what an apply that did not end has left.
type leavings struct {
	lease string   // who held it, for people; "": none was left
	files []string // half or whole uploads
}

// leftOf is what was left. Nothing is left of anybody while someone is at work, or
// may be.
func leftOf(m Memorized, me claim.Holder) leavings {
	l := leavings{files: m.Left}
	for _, held := range m.Leases {
		who, left := held.by()
		if !held.Known || left > 0 && !me.Outlived(who.Holder) {
			return leavings{}
		}
		l.lease = who.describe()
	}
	return l
}

// changes are what it takes to sweep them.
func (l leavings) changes(lease string) (d plan.Diff) {
	if l.lease != "" {
		d.Changes = append(d.Changes, plan.Change{Path: "lease", Before: "left by " + l.lease})
		d.Send = append(d.Send, "remove "+lease)
	}
	if n := len(l.files); n > 0 {
		d.Changes = append(d.Changes, plan.Change{Path: "uploads", Before: fmt.Sprintf("%d left by an apply that did not end", n)})
	}
	d.Sweeps = []string{"lease", "uploads"}
	for _, f := range l.files {
		d.Send = append(d.Send, "remove "+f)
	}
	return d
}

// sweep removes the uploads. The lease is the transaction's own by now.
func (d *Machine) sweep(ctx context.Context) error {
	files := d.left.files
	d.left = leavings{}
	if len(files) == 0 {
		return nil
	}
	if err := d.os.Memory.Sweep(ctx, d.behind(d.host), files); err != nil {
		return fmt.Errorf("remove what an apply that did not end has left: %w", err)
	}
	return nil
}
