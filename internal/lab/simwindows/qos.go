//go:build unix

package simwindows

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/slice"
)

// A qos is what a host is configured to send to its adapters.
type qos struct {
	willing  bool
	pauses   [8]bool
	classes  []class // in the order in which they were made, without [Default]
	policies []policy

	domain []policy // that a group policy keeps in force
}

type class struct {
	name, algorithm string
	share           int64 // percent, of ETS
	priorities      []int
}

type policy struct {
	name           string
	port, priority int64
}

// newQoS is what a host has that just got the feature.
func newQoS() qos { return qos{willing: true} }

// numbers are the values of a parameter.
func (p params) numbers(name string) (list []int, err error) {
	for _, v := range each(p[name]) {
		n, is := v.(int64)
		if !is || n < 0 || n > 7 {
			return nil, raise("System.Management.Automation.ParameterBindingException", "Cannot convert value %q to type System.Byte", text(v))
		}
		list = append(list, int(n))
	}
	return list, nil
}

// ranges writes priorities as views do: 0-2,4-7.
func ranges(list []int) string {
	var words []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		word := fmt.Sprint(list[i])
		if j > i {
			word += fmt.Sprintf("-%d", list[j])
		}
		words, i = append(words, word), j+1
	}
	return strings.Join(words, ",")
}

// all are the classes with [Default], which has what no other one has.
func (q *qos) all() []class {
	rest := class{"[Default]", "ETS", 100, nil}
	for p := range 8 {
		if !slices.ContainsFunc(q.classes, func(c class) bool { return slices.Contains(c.priorities, p) }) {
			rest.priorities = append(rest.priorities, p)
		}
	}
	for _, c := range q.classes {
		rest.share -= c.share
	}
	return append([]class{rest}, q.classes...)
}

// add makes a class, where there is room for it.
func (q *qos) add(p params) error {
	list, err := p.numbers("priority")
	if err != nil {
		return err
	}
	share, _ := p["bandwidthpercentage"].(int64)
	c := class{p.text("name"), p.text("algorithm"), share, list}
	bad := ""
	switch rest := q.all(); {
	case c.algorithm != "ETS" && c.algorithm != "Strict" || (c.algorithm == "ETS") != (share > 0):
		bad = "The parameter is incorrect."
	case slices.ContainsFunc(rest, func(o class) bool { return o.name == c.name }):
		bad = "Instance MSFT_NetQosTrafficClassSettingData already exists"
	case slices.ContainsFunc(list, func(p int) bool { return !slices.Contains(rest[0].priorities, p) }):
		bad = "The priority is mapped to another traffic class."
	case len(rest) > 7, rest[0].share-share < 1:
		bad = "There is no room for another traffic class."
	}
	if bad != "" {
		return raise("Microsoft.Management.Infrastructure.CimException", "%s", bad)
	}
	q.classes = append(q.classes, c)
	return nil
}

// operational is what an adapter does: nothing of what the host is configured to while
// DCBX is willing, and with no class at all where there are more than it has room for.
func (h *Host) operational(a *adapter) *object {
	o := made("MSFT_NetAdapterQosSettingData", "Name", a.name, "Enabled", a.qos)
	if !a.qos {
		return o
	}
	q, rows, pauses, ports := &h.qos, " 0 Strict           0-7", "All Priorities Disabled", "Default             0"
	if h.dcb && !q.willing {
		var on []int
		for p, is := range q.pauses {
			if is {
				on = append(on, p)
			}
		}
		if len(on) > 0 {
			pauses = "Priority " + ranges(on) + " Enabled"
		}
		if all := q.all(); len(q.classes) > 0 && len(all) <= h.room {
			rows = ""
			for i, c := range all {
				share := ""
				if c.algorithm == "ETS" {
					share = fmt.Sprintf("%d%%", c.share)
				}
				rows += fmt.Sprintf("%2d %-6s %-9s %s\r\n", i, c.algorithm, share, ranges(c.priorities))
			}
		}
		for _, p := range slices.Concat(q.policies, q.domain) {
			ports += fmt.Sprintf("\r\nNetDirect %-9d %d", p.port, p.priority)
		}
	}
	o.fields = append(o.fields,
		fieldOf{"OperationalTrafficClasses", "TC TSA    Bandwidth Priorities\r\n-- ---    --------- ----------\r\n" + strings.TrimSuffix(rows, "\r\n")},
		fieldOf{"OperationalFlowControl", pauses},
		fieldOf{"OperationalClassifications", "Protocol  Port/Type Priority\r\n--------  --------- --------\r\n" + ports})
	return o
}

// bridged runs a cmdlet of the module that comes with the feature.
func bridged(name string, sets string, run func(*qos, params) ([]any, error)) namedCmdlet {
	return namedCmdlet{name, cmdlet{winDocs + "DcbQos/" + name, []string{sets}, func(h *Host, p params) ([]any, error) {
		if !h.dcb {
			return nil, h.unknown(name)
		}
		return run(&h.qos, p)
	}}}
}

// pause turns PFC on or off for priorities.
func pause(to bool) func(*qos, params) ([]any, error) {
	return func(q *qos, p params) ([]any, error) {
		list, err := p.numbers("priority")
		for _, n := range list {
			q.pauses[n] = to
		}
		return nil, err
	}
}

func bridgingCmdlets() []namedCmdlet {
	return []namedCmdlet{
		bridged("Get-NetQosDcbxSetting", "", func(q *qos, _ params) ([]any, error) {
			return []any{made("MSFT_NetQosDcbxSettingData", "Willing", q.willing, "PolicySet", "Global")}, nil
		}),
		bridged("Set-NetQosDcbxSetting", "Willing! Confirm!", func(q *qos, p params) ([]any, error) {
			q.willing = truth(p["willing"])
			return nil, nil
		}),
		bridged("Get-NetQosFlowControl", "Priority", func(q *qos, _ params) (out []any, err error) {
			for n, is := range q.pauses {
				out = append(out, made("MSFT_NetQosFlowControlSettingData", "Priority", int64(n), "Enabled", is, "PolicySet", "Global"))
			}
			return out, nil
		}),
		bridged("Enable-NetQosFlowControl", "Priority! Confirm", pause(true)),
		bridged("Disable-NetQosFlowControl", "Priority! Confirm", pause(false)),
		bridged("Get-NetQosTrafficClass", "Name", func(q *qos, _ params) (out []any, err error) {
			for _, c := range q.all() {
				list := slice.Map(c.priorities, func(n int) any { return int64(n) })
				out = append(out, made("MSFT_NetQosTrafficClassSettingData", "Name", c.name, "Algorithm", c.algorithm, "Bandwidth", c.share, "Priority", list))
			}
			return out, nil
		}),
		bridged("New-NetQosTrafficClass", "Name! Algorithm! Priority! BandwidthPercentage Confirm", func(q *qos, p params) ([]any, error) { return nil, q.add(p) }),
		bridged("Remove-NetQosTrafficClass", "Name! Confirm!", func(q *qos, p params) ([]any, error) {
			before := len(q.classes)
			q.classes = slices.DeleteFunc(q.classes, func(c class) bool { return c.name == p.text("name") })
			if len(q.classes) == before {
				return nil, notFound("Remove-NetQosTrafficClass", "MSFT_NetQosTrafficClassSettingData")
			}
			return nil, nil
		}),
	}
}

// qosCmdlets are there with or without the feature.
func qosCmdlets() []namedCmdlet {
	enabled := func(to bool) func(*Host, params) ([]any, error) {
		change := on(func(a *adapter, _ params) error {
			if !a.RDMA {
				return notFound("Enable-NetAdapterQos", "MSFT_NetAdapterQosSettingData")
			}
			a.qos = to
			return nil
		})
		return func(h *Host, p params) ([]any, error) {
			p["norestart"] = true // whether it flaps the link is not known
			return change(h, p)
		}
	}
	return []namedCmdlet{
		{"Get-NetAdapterQos", cmdlet{winDocs + "NetAdapter/Get-NetAdapterQos", []string{"Name"}, func(h *Host, p params) (out []any, err error) {
			for _, a := range h.adapters {
				if a.RDMA && p.matches("name", a.name) {
					out = append(out, h.operational(a))
				}
			}
			return out, nil
		}}},
		{"Enable-NetAdapterQos", cmdlet{winDocs + "NetAdapter/Enable-NetAdapterQos", []string{"Name! NoRestart Confirm"}, enabled(true)}},
		{"Disable-NetAdapterQos", cmdlet{winDocs + "NetAdapter/Disable-NetAdapterQos", []string{"Name! NoRestart Confirm"}, enabled(false)}},
		{"Get-NetQosPolicy", cmdlet{winDocs + "NetQos/Get-NetQosPolicy", []string{"Name PolicyStore"}, func(h *Host, p params) (out []any, err error) {
			list := h.qos.policies
			if p.text("policystore") == "ActiveStore" {
				list = slices.Concat(list, h.qos.domain)
			}
			for _, o := range list {
				out = append(out, made("MSFT_NetQosPolicySettingData", "Name", o.name, "Owner", "Group Policy (Machine)", "NetDirectPort", o.port, "PriorityValue", o.priority))
			}
			return out, nil
		}}},
		{"New-NetQosPolicy", cmdlet{winDocs + "NetQos/New-NetQosPolicy", []string{"Name! NetDirectPortMatchCondition! PriorityValue8021Action! Precedence PolicyStore Confirm"}, func(h *Host, p params) ([]any, error) {
			o := policy{p.text("name"), p["netdirectportmatchcondition"].(int64), p["priorityvalue8021action"].(int64)}
			if slices.ContainsFunc(h.qos.policies, func(is policy) bool { return strings.EqualFold(is.name, o.name) }) {
				return nil, raise("Microsoft.Management.Infrastructure.CimException", "Instance MSFT_NetQosPolicySettingData already exists")
			}
			h.qos.policies = append(h.qos.policies, o)
			return nil, nil
		}}},
		{"Remove-NetQosPolicy", cmdlet{winDocs + "NetQos/Remove-NetQosPolicy", []string{"Name! PolicyStore Confirm!"}, func(h *Host, p params) ([]any, error) {
			before := len(h.qos.policies)
			h.qos.policies = slices.DeleteFunc(h.qos.policies, func(o policy) bool { return strings.EqualFold(o.name, p.text("name")) })
			if len(h.qos.policies) == before {
				return nil, notFound("Remove-NetQosPolicy", "MSFT_NetQosPolicySettingData")
			}
			return nil, nil
		}}},
	}
}

// near is the adapter with an address in the subnet of another one, and that address; nil: none.
func (h *Host) near(to string) (*adapter, string) {
	far, err := netip.ParseAddr(to)
	if err != nil {
		return nil, ""
	}
	for _, a := range h.addresses {
		at, err := netip.ParsePrefix(fmt.Sprintf("%s/%d", a.ip, a.bits))
		if err != nil || !at.Masked().Contains(far) || at.Addr() == far {
			continue
		}
		if i := slices.IndexFunc(h.adapters, func(n *adapter) bool { return n.name == a.on }); i >= 0 {
			return h.adapters[i], a.ip
		}
	}
	return nil, ""
}

// ping answers as if each address of its subnets did, and all between took frames of 9014
// bytes; rest are the buffer and the options.
func (h *Host) ping(to string, rest []any) (any, error) {
	a, _ := h.near(to)
	buffer, is := rest[0].(*object)
	options, also := rest[1].(*object)
	status := "Success"
	switch {
	case !is || !also || options.field("DontFragment") != true:
		return nil, raise("System.ArgumentException", "this SIMULATED host pings with a buffer and DontFragment only")
	case a == nil:
		status = "DestinationNetworkUnreachable"
	case buffer.field("Length").(int64)+28 > a.mtu():
		status = "PacketTooBig"
	}
	return made("System.Net.NetworkInformation.PingReply", "Status", status), nil
}

// channels are the connections of SMB Multichannel to its peers.
func (h *Host) channels() (out []any) {
	for _, peer := range h.spec.Peers {
		if a, own := h.near(peer); a != nil && !h.oneChannel["Client"] {
			out = append(out, made("MSFT_SmbMultichannelConnection", "ClientIpAddress", own, "ServerIpAddress", peer, "Selected", true,
				"ClientRdmaCapable", a.rdma && !h.noRDMA, "ServerRdmaCapable", true, "Failed", false))
		}
	}
	return out
}

// sharingCmdlets are about SMB.
func sharingCmdlets() (list []namedCmdlet) {
	list = append(list, namedCmdlet{"Get-SmbMultichannelConnection", cmdlet{winDocs + "SmbShare/Get-SmbMultichannelConnection", []string{"ServerName IncludeNotSelected"}, func(h *Host, _ params) ([]any, error) {
		return h.channels(), nil
	}}})
	for _, end := range []string{"Client", "Server"} {
		get, set := "Get-Smb"+end+"Configuration", "Set-Smb"+end+"Configuration"
		list = append(list,
			namedCmdlet{get, cmdlet{winDocs + "SmbShare/" + get, []string{""}, func(h *Host, _ params) ([]any, error) {
				return []any{made("MSFT_Smb"+end+"Configuration", "EnableMultiChannel", !h.oneChannel[end])}, nil
			}}},
			namedCmdlet{set, cmdlet{winDocs + "SmbShare/" + set, []string{"EnableMultiChannel! Force Confirm!"}, func(h *Host, p params) ([]any, error) {
				h.oneChannel[end] = !truth(p["enablemultichannel"])
				return nil, nil
			}}})
	}
	return list
}
