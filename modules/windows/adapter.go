package windows

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/windows/powershell"
	"weft/plan"
)

// An Adapter is what the driver of a NIC is set to. All of it is one resource, as the
// adapter restarts for it: once, with the last of its values.
type Adapter struct {
	PCI    string
	Values map[string]string // of the keywords that are wanted, as the registry has them
	Gone   map[string]string `json:",omitempty"` // that weft set before, and that are declared no more

	past host.Past[Adapter] // what there was in the place of Gone
}

// AdapterKind is the kind adapter.
func AdapterKind() *host.Kind[Adapter] {
	return &host.Kind[Adapter]{
		Name: "adapter", Lasting: true, Risky: true,
		Looks: (*Adapter).Looks, Parse: (*Adapter).Parse, Diff: (*Adapter).Diff, Steps: (*Adapter).Steps,
		NIC:     func(a *Adapter) string { return a.PCI },
		Partial: host.Partial[Adapter]{Follow: (*Adapter).follow, Since: (*Adapter).since, Settle: (*Adapter).settle},
	}
}

// Keywords of the registry. Those with an asterisk are Microsoft's, VlanID is what drivers
// agree on. RDMA is on where NetworkDirect is 1, which has cmdlets of its own.
const (
	kwPause      = "*FlowControl"
	kwTag        = "*PriorityVLANTag"
	kwRSS        = "*RSS"
	kwTechnology = "*NetworkDirectTechnology"
	kwVLAN       = "VlanID"
	kwJumbo      = "*JumboPacket"
	kwRDMA       = "*NetworkDirect"
)

// A setting is one of a driver.
type setting struct {
	keyword string
	path    string            // in plans
	words   map[string]string // of values, for people
	maybe   bool              // a driver without it does without
}

// settings are those that weft makes, in the order in which they are set.
func settings() []setting {
	onOff := map[string]string{"0": "off", "1": "on"}
	return []setting{
		{kwPause, "flow_control", map[string]string{"0": "off", "1": "sent", "2": "heeded", "3": "both ways", "4": "agreed on"}, true},
		{kwTag, "priority_tag", map[string]string{"0": "off", "1": "priority", "2": "vlan", "3": "priority and vlan"}, false},
		{kwRSS, "rss", onOff, true},
		{kwTechnology, "rdma_technology", map[string]string{"1": "iWARP", "2": "InfiniBand", "3": "RoCE", "4": "RoCEv2"}, false},
		{kwVLAN, "vlan", map[string]string{"0": "none"}, false},
		{kwJumbo, "mtu", nil, false},
		{kwRDMA, "rdma", onOff, false},
	}
}

// shown is a value for people.
func (s setting) shown(value string) string {
	if n, err := strconv.Atoi(value); s.keyword == kwJumbo && err == nil {
		return strconv.Itoa(n - header)
	}
	if word := s.words[value]; word != "" {
		return word
	}
	return value
}

// header is that of Ethernet, which *JumboPacket counts.
const header = 14

// frame is the value of *JumboPacket for packets of so many bytes.
func frame(mtu int) string { return strconv.Itoa(mtu + header) }

func propertiesLook(pci string) remote.Look {
	return query("RegistryKeyword RegistryValue:list ValidRegistryValues:list NumericParameterMinValue NumericParameterMaxValue",
		"Get-NetAdapterAdvancedProperty", "-Name", nicName(pci))
}

// offloadsLook sees the switch for RDMA of the whole host.
func offloadsLook() remote.Look { return query("NetworkDirect", "Get-NetOffloadGlobalSetting") }

func (a *Adapter) Looks() []remote.Look {
	return append(adapterLooks(), intentLook(), offloadsLook(), propertiesLook(a.PCI))
}

// A property is a setting as the cmdlet shows it.
type property struct {
	RegistryKeyword                                    string
	RegistryValue, ValidRegistryValues                 powershell.List
	NumericParameterMinValue, NumericParameterMaxValue string
}

func (a *Adapter) Parse(s remote.Seen) (*Adapter, error) {
	nic, err := own(s, a.PCI)
	if err != nil {
		return nil, err
	}
	list, err := rows[property](s, propertiesLook(a.PCI))
	if err != nil {
		return nil, err
	}
	have := &Adapter{PCI: a.PCI, Values: map[string]string{}}
	for _, is := range settings() {
		want, wanted := a.Values[is.keyword]
		_, gone := a.Gone[is.keyword]
		switch {
		case !wanted && !gone:
		case is.keyword == kwRDMA:
			if have.Values[kwRDMA], err = nic.networkDirect(s, want == "1"); err != nil {
				return nil, err
			}
		default:
			p, err := propertyOf(list, is.keyword)
			if err == nil && p == nil && !is.maybe {
				err = fmt.Errorf("the driver has no setting %s: Get-NetAdapterAdvancedProperty", is.keyword)
			}
			if err == nil && p != nil {
				have.Values[is.keyword], err = p.value(want)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", nic.Interface, err)
			}
		}
	}
	return have, nil
}

// networkDirect is whether the RDMA of an adapter is on. wanted: it is to be.
func (n adapter) networkDirect(s remote.Seen, wanted bool) (string, error) {
	if !n.rdma {
		return "", hint.Wrap(fmt.Errorf("%s can do no RDMA: Get-NetAdapterRdma does not show it", n.Interface), "its driver, or the firmware of its card, must offer NetworkDirect")
	}
	type offload struct{ NetworkDirect string }
	all, err := rows[offload](s, offloadsLook())
	if err != nil {
		return "", err
	}
	if wanted && slices.Contains(all, offload{"Disabled"}) {
		return "", hint.Wrap(fmt.Errorf("RDMA is off for the whole host: Get-NetOffloadGlobalSetting says that NetworkDirect is Disabled"),
			"check why it is disabled, then run Set-NetOffloadGlobalSetting -NetworkDirect Enabled")
	}
	if n.on {
		return "1", nil
	}
	return "0", nil
}

// propertyOf is that of a keyword; nil: there is none. Cmdlets take keywords for patterns:
// where a driver has a setting of its own that one would find as well, it is refused.
func propertyOf(list []property, keyword string) (*property, error) {
	var found *property
	for i, p := range list {
		switch rest, pattern := strings.CutPrefix(keyword, "*"); {
		case strings.EqualFold(p.RegistryKeyword, keyword):
			found = &list[i]
		case pattern && strings.HasSuffix(strings.ToLower(p.RegistryKeyword), strings.ToLower(rest)):
			return nil, fmt.Errorf("%s is a pattern to Windows, and would set %s of the driver as well", keyword, p.RegistryKeyword)
		}
	}
	return found, nil
}

// value is what a property is. Its error says why it cannot be what is wanted.
func (p *property) value(want string) (string, error) {
	list := texts(p.RegistryValue)
	if len(list) != 1 || list[0] == "" {
		return "", fmt.Errorf("%s is %q", p.RegistryKeyword, list)
	}
	if want == "" || list[0] == want {
		return list[0], nil
	}
	if err := p.allows(want); err != nil {
		return "", fmt.Errorf("%s: %w", p.RegistryKeyword, err)
	}
	return list[0], nil
}

func texts(list powershell.List) (words []string) {
	for _, raw := range list {
		var w string
		if json.Unmarshal(raw, &w) == nil && w != "" {
			words = append(words, w)
		}
	}
	return words
}

// allows says why a property does not take a value; it has a list of them, or limits.
func (p *property) allows(value string) error {
	and := "and not " + value
	if p.RegistryKeyword == kwJumbo {
		and += fmt.Sprintf(", %d of them the header", header)
	}
	if words := texts(p.ValidRegistryValues); len(words) > 0 {
		if slices.Contains(words, value) {
			return nil
		}
		return fmt.Errorf("its driver takes %s, %s", strings.Join(words, ", "), and)
	}
	n, err1 := strconv.Atoi(value)
	from, err2 := strconv.Atoi(p.NumericParameterMinValue)
	to, err3 := strconv.Atoi(p.NumericParameterMaxValue)
	if err1 != nil || err2 != nil || err3 != nil {
		return fmt.Errorf("its driver does not say what it takes, and weft does not try %s", value)
	}
	if n < from || n > to {
		return fmt.Errorf("its driver takes %d to %d, %s", from, to, and)
	}
	return nil
}

// follow: what weft set, and files speak of no more, is to be as it was before.
func (a *Adapter) follow(p host.Past[Adapter]) {
	a.Gone, a.past = nil, p
	for _, set := range []map[string]string{p.Applied.Gone, p.Applied.Values} {
		for k, v := range set {
			if _, declared := a.Values[k]; !declared {
				if a.Gone == nil {
					a.Gone = map[string]string{}
				}
				a.Gone[k] = v
			}
		}
	}
}

func (a *Adapter) since(applied, former, have *Adapter) *Adapter {
	out := &Adapter{PCI: a.PCI, Values: map[string]string{}}
	for k := range a.speaksOf() {
		from := have
		if _, ours := applied.speaksOf()[k]; ours {
			from = former
		}
		if v, ok := from.Values[k]; ok {
			out.Values[k] = v
		}
	}
	return out
}

func (a *Adapter) settle(former *Adapter) {
	a.Gone = nil
	if former != nil {
		maps.DeleteFunc(former.Values, func(k, _ string) bool { _, declared := a.Values[k]; return !declared })
	}
}

// speaksOf are the keywords that are declared, or were.
func (a *Adapter) speaksOf() map[string]string {
	all := maps.Clone(a.Gone)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, a.Values)
	return all
}

// changes are the settings that differ, each with what it is to be.
func (a *Adapter) changes(have *Adapter) (list []setting, to []string) {
	is, was := have.Values, host.Some(a.past.Former).Values
	for _, s := range settings() {
		now, there := is[s.keyword]
		want, wanted := a.Values[s.keyword]
		if ours, gone := a.Gone[s.keyword]; gone && (a.past.Firm || now == ours) {
			want, wanted = was[s.keyword]
		}
		if wanted && now != want && (there || !s.maybe) {
			list, to = append(list, s), append(to, want)
		}
	}
	return list, to
}

func (a *Adapter) Diff(have *Adapter) (out []plan.Change) {
	list, to := a.changes(have)
	for i, s := range list {
		out = append(out, plan.Changed(s.path, s.shown(have.Values[s.keyword]), s.shown(to[i]), plan.ImpactLinkFlap)...)
	}
	return out
}

// Steps: only the last of them restarts the adapter, which takes all of them then. Where
// weft is cut off before, that one is still to be set.
func (a *Adapter) Steps(have *Adapter) (steps []remote.Step) {
	list, to := a.changes(have)
	for i, s := range list {
		args := []string{"Set-NetAdapterAdvancedProperty", "-Name", nicName(a.PCI), "-RegistryKeyword", s.keyword, "-RegistryValue", to[i]}
		if s.keyword == kwRDMA {
			args = []string{map[bool]string{true: "Enable-NetAdapterRdma", false: "Disable-NetAdapterRdma"}[to[i] == "1"], "-Name", nicName(a.PCI)}
		}
		if i < len(list)-1 {
			args = append(args, "-NoRestart")
		}
		steps = append(steps, host.Run(append(args, "-Confirm:$false")...))
	}
	return steps
}
