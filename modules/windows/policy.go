package windows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A Policy gives RDMA traffic to a NetworkDirect port its 802.1p priority: Windows gives it
// no DSCP.
type Policy struct {
	Name     string
	Port     int
	Priority int

	Idle bool `json:",omitempty"` // observed: it is not in force
}

// PolicyKind is the kind qos_policy.
func PolicyKind() *host.Kind[Policy] {
	return &host.Kind[Policy]{
		Name: "qos_policy", Risky: true,
		Looks: (*Policy).Looks, Parse: (*Policy).Parse, Diff: (*Policy).Diff, Steps: (*Policy).Steps,
	}
}

// The looks at the policies that the host keeps, and at those that are in force, among
// which are those of the domain.
func keptPoliciesLook() remote.Look {
	return query("Name NetDirectPort:int64 PriorityValue:int64", "Get-NetQosPolicy")
}

func activePoliciesLook() remote.Look {
	return query("Name NetDirectPort:int64 PriorityValue:int64", "Get-NetQosPolicy", "-PolicyStore", "ActiveStore")
}

func (p *Policy) Looks() []remote.Look {
	return []remote.Look{intentLook(), keptPoliciesLook(), activePoliciesLook()}
}

func (p *Policy) Parse(s remote.Seen) (*Policy, error) {
	if err := unkept(s); err != nil {
		return nil, err
	}
	type policy struct {
		Name                         string
		NetDirectPort, PriorityValue int
	}
	kept, err := rows[policy](s, keptPoliciesLook())
	if err != nil {
		return nil, err
	}
	active, err := rows[policy](s, activePoliciesLook())
	if err != nil {
		return nil, err
	}
	for _, o := range slices.Concat(kept, active) {
		switch {
		case strings.EqualFold(o.Name, p.Name) || o.NetDirectPort != p.Port:
		case slices.Contains(kept, o):
			return nil, hint.Wrap(fmt.Errorf("the QoS policy %s, which is not weft's, is about NetworkDirect port %d as well", o.Name, p.Port),
				"its creator can remove it: Remove-NetQosPolicy")
		default:
			return nil, hint.Wrap(fmt.Errorf("the QoS policy %s is in force for NetworkDirect port %d, and the host does not keep it: a group policy of the domain owns it", o.Name, p.Port),
				"the administrator of the group policies can remove it; otherwise remove the NIC from the fabric")
		}
	}
	i := slices.IndexFunc(kept, func(o policy) bool { return strings.EqualFold(o.Name, p.Name) })
	if i < 0 {
		return nil, nil
	}
	return &Policy{p.Name, kept[i].NetDirectPort, kept[i].PriorityValue, !slices.Contains(active, kept[i])}, nil
}

func (p *Policy) Diff(have *Policy) []plan.Change {
	if p == nil || have == nil {
		return plan.Changed("present", have != nil, p != nil, plan.ImpactTraffic)
	}
	return slices.Concat(plan.Changed("port", have.Port, p.Port, plan.ImpactTraffic),
		plan.Changed("priority", have.Priority, p.Priority, plan.ImpactTraffic),
		plan.Changed("in_force", !have.Idle || p.Idle, true, plan.ImpactTraffic))
}

func (p *Policy) Steps(have *Policy) (steps []remote.Step) {
	if p != nil && len(p.Diff(have)) == 0 {
		return nil
	}
	if have != nil {
		steps = append(steps, host.Run("Remove-NetQosPolicy", "-Name", have.Name, "-Confirm:$false"))
	}
	if p != nil {
		steps = append(steps, host.Run("New-NetQosPolicy", "-Name", p.Name, "-NetDirectPortMatchCondition", strconv.Itoa(p.Port),
			"-PriorityValue8021Action", strconv.Itoa(p.Priority), "-Confirm:$false"))
	}
	return steps
}
