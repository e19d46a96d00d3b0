//go:build unix

package simwindows

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A keyword is a setting of the SIMULATED driver: its value at first, and those that it
// takes. One without a list has limits.
type keyword struct {
	name, usual string
	takes       []any
	rdma        bool // only cards that can do RDMA have it
}

func keywords() []keyword {
	return []keyword{
		{"*JumboPacket", "1514", []any{"1514", "4088", "9014", "9614"}, false},
		{"VlanID", "0", nil, false},
		{"*PriorityVLANTag", "3", []any{"0", "1", "2", "3"}, false},
		{"*FlowControl", "3", []any{"0", "1", "2", "3"}, false},
		{"*RSS", "1", []any{"0", "1"}, false},
		{"*NetworkDirectTechnology", "1", []any{"1", "4"}, true},
	}
}

// set gives a setting of an adapter a value, which is in force once it has started again.
func (a *adapter) set(name, value string) error {
	for _, k := range keywords() {
		if !strings.EqualFold(k.name, name) || k.rdma && !a.RDMA {
			continue
		}
		n, err := strconv.Atoi(value)
		if k.takes != nil && !slices.Contains(k.takes, any(value)) || k.takes == nil && (err != nil || n < 0 || n > 4094) {
			return raise("Microsoft.Management.Infrastructure.CimException", "The parameter is incorrect.")
		}
		a.values[k.name] = value
		return nil
	}
	return notFound("Set-NetAdapterAdvancedProperty", "MSFT_NetAdapterAdvancedPropertySettingData")
}

// restart has an adapter take what it is set to.
func (a *adapter) restart() {
	a.restarts++
	a.force, a.rdma = maps.Clone(a.values), a.rdmaSet
	a.carried, a.broken = 0, 0
}

func notFound(cmdlet, class string) error {
	return &thrown{message: "No matching " + class + " objects found", id: "CmdletizationQuery_NotFound," + cmdlet, kind: "Microsoft.PowerShell.Cmdletization.CimJobException"}
}

// on runs a change on the adapters of a name, and starts them again unless it is told not to.
func on(change func(*adapter, params) error) func(*Host, params) ([]any, error) {
	return func(h *Host, p params) ([]any, error) {
		found := false
		for _, a := range h.adapters {
			if !p.matches("name", a.name) {
				continue
			}
			if found = true; change != nil {
				if err := change(a, p); err != nil {
					return nil, err
				}
			}
			if !p.has("norestart") {
				a.restart()
			}
		}
		if !found {
			return nil, notFound("", "MSFT_NetAdapter")
		}
		return nil, nil
	}
}

// rdma turns RDMA of adapters on or off.
func rdma(to bool) func(*Host, params) ([]any, error) {
	return on(func(a *adapter, _ params) error {
		if !a.RDMA {
			return notFound("Enable-NetAdapterRdma", "MSFT_NetAdapterRdmaSettingData")
		}
		a.rdmaSet = to
		return nil
	})
}

// settingCmdlets change adapters.
func settingCmdlets() []namedCmdlet {
	return []namedCmdlet{
		{"Get-NetAdapterAdvancedProperty", cmdlet{winDocs + "NetAdapter/Get-NetAdapterAdvancedProperty", []string{"Name IncludeHidden AllProperties"}, func(h *Host, p params) (out []any, err error) {
			for _, a := range h.adapters {
				for _, k := range keywords() {
					if !p.matches("name", a.name) || k.rdma && !a.RDMA {
						continue
					}
					low, high := any(nil), any(nil)
					if k.takes == nil {
						low, high = "0", "4094"
					}
					out = append(out, made("MSFT_NetAdapterAdvancedPropertySettingData", "Name", a.name, "RegistryKeyword", k.name,
						"RegistryValue", []any{a.values[k.name]}, "ValidRegistryValues", k.takes, "NumericParameterMinValue", low, "NumericParameterMaxValue", high))
				}
			}
			return out, nil
		}}},
		{"Set-NetAdapterAdvancedProperty", cmdlet{winDocs + "NetAdapter/Set-NetAdapterAdvancedProperty",
			[]string{"Name DisplayName RegistryKeyword IncludeHidden AllProperties DisplayValue RegistryValue NoRestart Confirm"},
			on(func(a *adapter, p params) error { return a.set(p.text("registrykeyword"), p.text("registryvalue")) })}},
		{"Enable-NetAdapterRdma", cmdlet{winDocs + "NetAdapter/Enable-NetAdapterRdma", []string{"Name! IncludeHidden NoRestart Confirm"}, rdma(true)}},
		{"Disable-NetAdapterRdma", cmdlet{winDocs + "NetAdapter/Disable-NetAdapterRdma", []string{"Name! IncludeHidden NoRestart Confirm"}, rdma(false)}},
		{"Get-NetOffloadGlobalSetting", cmdlet{winDocs + "NetTCPIP/Get-NetOffloadGlobalSetting", []string{""}, func(h *Host, _ params) ([]any, error) {
			return []any{made("MSFT_NetOffloadGlobalSetting", "NetworkDirect", map[bool]string{true: "Disabled", false: "Enabled"}[h.noRDMA])}, nil
		}}},
		{"Get-NetIntent", cmdlet{winDocs + "NetworkATC/Get-NetIntent", []string{"Name GlobalOverrides"}, func(h *Host, _ params) (out []any, err error) {
			if h.intent == "" { // the feature is not installed
				return nil, h.unknown("Get-NetIntent")
			}
			return []any{made("intent", "IntentName", h.intent)}, nil
		}}},
	}
}

// An address is one of an adapter.
type address struct {
	ip, on, origin string
	bits           int64
}

func addressCmdlets() []namedCmdlet {
	return []namedCmdlet{
		{"Get-NetIPAddress", cmdlet{winDocs + "NetTCPIP/Get-NetIPAddress", []string{"IPAddress InterfaceIndex InterfaceAlias AddressFamily PrefixLength"}, func(h *Host, _ params) (out []any, err error) {
			for _, a := range h.addresses {
				out = append(out, made("MSFT_NetIPAddress", "IPAddress", a.ip, "PrefixLength", a.bits, "InterfaceAlias", a.on, "PrefixOrigin", a.origin, "AddressState", "Preferred"))
			}
			return out, nil
		}}},
		{"New-NetIPAddress", cmdlet{winDocs + "NetTCPIP/New-NetIPAddress", []string{"IPAddress! InterfaceAlias! DefaultGateway AddressFamily Type PrefixLength PolicyStore Confirm"}, func(h *Host, p params) ([]any, error) {
			if !slices.ContainsFunc(h.adapters, func(a *adapter) bool { return a.name == p.text("interfacealias") }) {
				return nil, raise("Microsoft.Management.Infrastructure.CimException", "Element not found.")
			}
			if slices.ContainsFunc(h.addresses, func(a address) bool { return a.ip == p.text("ipaddress") }) {
				return nil, raise("Microsoft.Management.Infrastructure.CimException", "Instance MSFT_NetIPAddress already exists")
			}
			bits, is := p["prefixlength"].(int64)
			if !is {
				return nil, fmt.Errorf("PrefixLength is %v", p["prefixlength"])
			}
			h.addresses = append(h.addresses, address{p.text("ipaddress"), p.text("interfacealias"), "Manual", bits})
			return nil, nil
		}}},
		{"Remove-NetIPAddress", cmdlet{winDocs + "NetTCPIP/Remove-NetIPAddress", []string{"IPAddress InterfaceAlias Confirm!"}, func(h *Host, p params) ([]any, error) {
			before := len(h.addresses)
			h.addresses = slices.DeleteFunc(h.addresses, func(a address) bool { return a.ip == p.text("ipaddress") && a.on == p.text("interfacealias") })
			if len(h.addresses) == before {
				return nil, &thrown{message: h.say("No matching MSFT_NetIPAddress objects found", "Es wurden keine entsprechenden MSFT_NetIPAddress-Objekte gefunden"),
					id: "CmdletizationQuery_NotFound,Remove-NetIPAddress", kind: "Microsoft.PowerShell.Cmdletization.CimJobException"}
			}
			return nil, nil
		}}},
	}
}
