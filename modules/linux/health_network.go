package linux

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"weft/modules/host"
	"weft/modules/linux/see"
)

// networkScript asks whom a machine has met, what it lets in, and what happens to its
// addresses when a link is lost.
const networkScript = `echo "= neigh"; ip -j neigh show 2>&1
if command -v nft >/dev/null 2>&1; then echo "= nft"; nft -j list ruleset 2>&1; fi
echo "= keepers"; echo networkd $(systemctl is-active systemd-networkd 2>&1); echo manager $(systemctl is-active NetworkManager 2>&1)
if command -v nmcli >/dev/null 2>&1; then nmcli -t -f DEVICE,STATE device 2>&1; NetworkManager --print-config 2>/dev/null | grep "^ignore-carrier="; fi
for i in $ifs; do f=$(sed -n 's/^NETWORK_FILE=//p' "/run/systemd/netif/links/$(cat /sys/class/net/$i/ifindex 2>/dev/null)" 2>/dev/null)
if [ -n "$f" ]; then echo "= $i networkd"; echo "$f"; cat "$f" "$f".d/*.conf /etc/systemd/network/"${f##*/}".d/*.conf 2>/dev/null | grep -e "^ConfigureWithoutCarrier=" -e "^IgnoreCarrierLoss="; fi; done`

// network sorts out what networkScript printed.
func (r *healthRead) network(one func(string) (string, bool)) {
	if text, ok := one("neigh"); ok {
		r.Met = met(text)
	}
	if text, ok := one("nft"); ok {
		r.Firewall = firewall(text)
	}
	if text, ok := one("keepers"); ok {
		r.Keepers = r.keepers(text)
	}
}

// met reads ip -j neigh show; nil: it was not understood.
func met(text string) map[string]string {
	var list []struct {
		Address string `json:"dst"`
		MAC     string `json:"lladdr"`
	}
	if see.JSON([]byte(text), &list) != nil {
		return nil
	}
	out := map[string]string{}
	for _, n := range list {
		if a, err := netip.ParseAddr(n.Address); err == nil && n.MAC != "" {
			out[a.String()] = printable(n.MAC)
		}
	}
	return out
}

// keepers are what manages each interface, and whether it keeps addresses without a
// carrier: ignore-carrier of NetworkManager, IgnoreCarrierLoss or ConfigureWithoutCarrier
// of networkd. nil: neither says whether it runs.
func (r *healthRead) keepers(text string) map[string]host.Keeper {
	runs, ignored := map[string]string{}, []string(nil)
	out := map[string]host.Keeper{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		name, state, spaced := strings.Cut(line, " ")
		if list, ok := strings.CutPrefix(line, "ignore-carrier="); ok {
			ignored = strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ';' })
		} else if spaced && (name == "networkd" || name == "manager") {
			runs[name] = state
		} else if i := strings.LastIndex(line, ":"); i > 0 && strings.HasPrefix(line[i+1:], "connected") {
			out[printable(line[:i])] = host.Keeper{Name: "NetworkManager"}
		}
	}
	for _, state := range runs {
		if !slices.Contains([]string{"active", "inactive", "failed", "unknown"}, state) {
			return nil
		}
	}
	if len(runs) < 2 {
		return nil
	}
	for name, k := range out {
		k.Keeps = slices.ContainsFunc(ignored, func(x string) bool {
			x = strings.TrimSpace(x)
			return x == "*" || strings.TrimPrefix(x, "interface-name:") == name
		})
		out[name] = k
	}
	for at, said := range r.said {
		if at[1] != "networkd" || runs["networkd"] != "active" {
			continue
		}
		keeps := map[string]bool{}
		for line := range strings.Lines(said) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
			keeps[key] = slices.Contains([]string{"yes", "true", "1", "on"}, strings.ToLower(value))
		}
		k := host.Keeper{Name: "systemd-networkd", Keeps: keeps["ConfigureWithoutCarrier"]}
		if own, set := keeps["IgnoreCarrierLoss"]; set {
			k.Keeps = own
		}
		out[printable(at[0])] = k
	}
	return out
}

// A statement is one of a rule of nftables.
type statement struct {
	Match *struct {
		Op   string `json:"op"`
		Left struct {
			Payload *struct {
				Protocol, Field string
			} `json:"payload"`
			Meta *struct{ Key string } `json:"meta"`
			CT   *struct{ Key string } `json:"ct"`
		} `json:"left"`
		Right json.RawMessage `json:"right"`
	} `json:"match"`
	Counter *struct{ Packets uint64 } `json:"counter"`
	Accept  json.RawMessage           `json:"accept"`
	Drop    json.RawMessage           `json:"drop"`
	Reject  json.RawMessage           `json:"reject"`
	Jump    json.RawMessage           `json:"jump"`
	XT      json.RawMessage           `json:"xt"`
}

// firewall reads nft -j list ruleset, of which only what is about ports is judged; nil: it
// was not understood.
func firewall(text string) *host.Firewall {
	var doc struct {
		List []struct {
			Chain *struct{ Hook, Policy string } `json:"chain"`
			Rule  *struct {
				Expr []json.RawMessage `json:"expr"`
			} `json:"rule"`
		} `json:"nftables"`
	}
	if see.JSON([]byte(text), &doc) != nil || doc.List == nil {
		return nil
	}
	out := &host.Firewall{}
	for _, x := range doc.List {
		if x.Chain != nil && x.Chain.Hook == "input" && x.Chain.Policy == "drop" {
			out.Closed = true
		}
		if x.Rule != nil {
			takeRule(out, x.Rule.Expr)
		}
	}
	return out
}

// takeRule takes a rule in. A member that is there and null, as of accept, is as good as
// one with a value.
func takeRule(f *host.Firewall, exprs []json.RawMessage) {
	var ports []host.FirewallRule
	var packets uint64
	verdict, plain := "", true // plain: it is about connections that stand, or the machine itself
	for _, raw := range exprs {
		var names map[string]json.RawMessage
		var s statement
		if json.Unmarshal(raw, &names) != nil || json.Unmarshal(raw, &s) != nil {
			plain = false
			continue
		}
		for _, v := range []string{"accept", "drop", "reject", "jump", "goto", "xt"} {
			if _, ok := names[v]; ok {
				verdict = v
			}
		}
		switch {
		case s.Counter != nil:
			packets = s.Counter.Packets
		case s.Match == nil:
		case s.Match.Left.Payload != nil && s.Match.Left.Payload.Field == "dport" && (s.Match.Op == "==" || s.Match.Op == "in"):
			ports = append(ports, portsOf(s.Match.Left.Payload.Protocol, s.Match.Right)...)
		case s.Match.Left.CT != nil && !strings.Contains(string(s.Match.Right), "new"), s.Match.Left.Meta != nil && strings.Contains(string(s.Match.Right), `"lo"`):
		default:
			plain = false
		}
	}
	accepts := verdict == "accept"
	switch {
	case len(ports) > 0 && (accepts || verdict == "drop" || verdict == "reject"):
		for _, p := range ports {
			p.Accepts, p.Packets = accepts, packets
			f.Rules = append(f.Rules, p)
		}
	case accepts && !plain, verdict == "jump", verdict == "goto", verdict == "xt":
		f.Vague = true
	}
}

// portsOf are those of a number, a range, or a set of either.
func portsOf(protocol string, raw json.RawMessage) (list []host.FirewallRule) {
	var n int
	if json.Unmarshal(raw, &n) == nil {
		return []host.FirewallRule{{Protocol: protocol, Low: n, High: n}}
	}
	var many struct {
		Set   []json.RawMessage `json:"set"`
		Range []int             `json:"range"`
	}
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	if len(many.Range) == 2 {
		return []host.FirewallRule{{Protocol: protocol, Low: many.Range[0], High: many.Range[1]}}
	}
	for _, one := range many.Set {
		list = append(list, portsOf(protocol, one)...)
	}
	return list
}
