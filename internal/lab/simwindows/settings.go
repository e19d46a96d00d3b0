//go:build unix

package simwindows

import (
	"fmt"
	"slices"
	"strconv"
)

// jumbos are the frames that the driver of an adapter takes.
func jumbos() []any { return []any{"1514", "4088", "9014", "9614"} }

// settingCmdlets change adapters and their addresses.
func settingCmdlets() []namedCmdlet {
	return []namedCmdlet{
		{"Get-NetAdapterAdvancedProperty", cmdlet{winDocs + "NetAdapter/Get-NetAdapterAdvancedProperty", []string{"Name RegistryKeyword! IncludeHidden AllProperties"}, func(h *Host, p params) (out []any, err error) {
			for _, a := range h.adapters {
				if p.matches("name", a.name) && p.matches("registrykeyword", "*JumboPacket") {
					out = append(out, made("MSFT_NetAdapterAdvancedPropertySettingData", "Name", a.name, "RegistryKeyword", "*JumboPacket",
						"RegistryValue", []any{strconv.FormatInt(a.jumbo, 10)}, "ValidRegistryValues", jumbos(), "NumericParameterMinValue", nil, "NumericParameterMaxValue", nil))
				}
			}
			return out, nil
		}}},
		{"Set-NetAdapterAdvancedProperty", cmdlet{winDocs + "NetAdapter/Set-NetAdapterAdvancedProperty",
			[]string{"Name DisplayName RegistryKeyword IncludeHidden AllProperties DisplayValue RegistryValue NoRestart Confirm"}, func(h *Host, p params) ([]any, error) {
				if p.text("registrykeyword") != "*JumboPacket" || !slices.Contains(jumbos(), any(p.text("registryvalue"))) {
					return nil, raise("Microsoft.Management.Infrastructure.CimException", "The parameter is incorrect.")
				}
				for _, a := range h.adapters {
					if p.matches("name", a.name) {
						a.jumbo, _ = strconv.ParseInt(p.text("registryvalue"), 10, 64)
					}
				}
				return nil, nil
			}}},
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
