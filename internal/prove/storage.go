package prove

import (
	"context"
	"fmt"

	"weft/inventory"
)

// StorageUsed is the metric of what kernels of initiators get from subsystems.
const StorageUsed = "storage"

// An Idle is a live connection that gives its host no storage.
type Idle struct{ NQN, Why string }

// storage judges what kernels of initiators get from each subsystem that they connect to.
// While a rollout is under way connections may be to come; one that is there has to serve.
func (r *run) storage(ctx context.Context) (out []Judgement) {
	if r.in.Attached == nil {
		return nil
	}
	there := func(i *inventory.Initiator, t *inventory.Target) bool {
		return r.in.There == nil || r.in.There(i.Server, t)
	}
	var list []*inventory.Initiator
	var addrs []string
	for _, i := range r.in.Model.Initiators {
		if i.Engine != "kernel" || i.Server == nil {
			continue
		}
		for _, t := range i.Reaches() {
			if there(i, t) {
				list, addrs = append(list, i), append(addrs, i.Addr)
				break
			}
		}
	}
	o := r.observer(ctx)
	o.askAhead(addrs)
	for _, i := range list {
		has, err := o.ask[i.Addr]()
		for _, t := range i.Reaches() {
			for _, sub := range t.Subsystems {
				if there(i, t) {
					out = append(out, r.judgeStorage(i, t, sub, has, err)...)
				}
			}
		}
	}
	return out
}

// judgeStorage judges one subsystem; nothing is said where connections may be to come.
func (r *run) judgeStorage(i *inventory.Initiator, t *inventory.Target, sub *inventory.Subsystem, has *Attached, err error) []Judgement {
	j := Judgement{Validation: pathName, Metric: StorageUsed, Pair: fmt.Sprintf("%s %s.%s", i.Server.Addr, t.Addr, sub.Name), Counted: true, Verdict: Pass}
	idle := ""
	if err == nil {
		for _, x := range has.Idle {
			if idle == "" && x.NQN == sub.NQN {
				idle = x.Why
			}
		}
	}
	switch {
	case err != nil:
		j.Verdict, j.Why, j.Absence = NotMeasured, "its connections could not be read: "+err.Error(), r.absentAt(i.Server.Addr)
	case has.Live[sub.NQN] > 0:
	case idle != "":
		j.Verdict, j.Value, j.Where, j.Why = Fail, 1, "at "+i.Server.Addr, idle
	case r.in.There != nil:
		return nil
	default:
		j.Verdict, j.Value, j.Where, j.Why = Fail, 1, "at "+i.Server.Addr, "it has no live connection to "+sub.NQN
	}
	return []Judgement{j}
}
