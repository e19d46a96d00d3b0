package esxi

import (
	"encoding/json"
	"fmt"
	"testing"

	"weft/plan"
)

// What a ledger says becomes what files declare: settings that a port's services make are
// none of their own, and a port on a distributed switch is vCenter's.
func TestDeclared(t *testing.T) {
	entry := func(kind, name, applied string) plan.Entry {
		return plan.Entry{Kind: kind, Name: name, Applied: json.RawMessage(applied)}
	}
	option := entry("advanced_option", vmkOption, `{"Path":"/Net/PVRDMAVmknic","Value":"vmk3"}`)
	open := entry("firewall_ruleset", "pvrdma", `{"Name":"pvrdma","Enabled":true}`)
	port := []plan.Entry{
		entry("vswitch", "weft-b", `{"Name":"weft-b","PCI":"0000:41:00.1","MTU":9000}`),
		entry("portgroup", "weft-b", `{"Name":"weft-b","VSwitch":"weft-b","VLAN":7,"PCI":"0000:41:00.1"}`),
		entry("vmkernel", "vmk3", `{"ID":"vmk3","PortGroup":"weft-b","Stack":"rdma","MTU":9000,"Address":"10.50.2.21/24"}`),
		entry("vmk_service", "vmk3.NVMeTCP", `{"VMKernel":"vmk3","Tag":"NVMeTCP"}`),
		entry("nvme_adapter", "p1.tcp", `{"PCI":"0000:41:00.1","Transport":"tcp","Enabled":true}`),
	}
	for name, c := range map[string]struct {
		entries []plan.Entry
		want    string
	}{
		"a port": {port, "[{p1 0000:41:00.1 true false 10.50.2.21/24 7 false {vmk  [{id vmk3} {vswitch weft-b} {netstack rdma} {services [nvme-tcp]}]}}] []"},
		"a port of PVRDMA": {append(port[:3:3], option, open),
			"[{ 0000:41:00.1 true false 10.50.2.21/24 7 false {vmk  [{id vmk3} {vswitch weft-b} {netstack rdma} {services [pvrdma]}]}}] []"},
		"settings of PVRDMA without a port": {[]plan.Entry{option, open}, "[] [{advanced_option /Net/PVRDMAVmknic [{value vmk3}]} {firewall_ruleset pvrdma []}]"},
		"on a distributed switch":           {[]plan.Entry{entry("dcb", "p0", `{"PCI":"0000:41:00.0","Lossless":[3]}`)}, "[{p0 0000:41:00.0 false true invalid Prefix 0 false}] []"},
		"settings": {[]plan.Entry{entry("module_parameters", "m.a", `{"Module":"m","Name":"a","Value":"1"}`), entry("module_parameters", "m.b", `{"Module":"m","Name":"b","Value":"2"}`),
			entry("pause_parameters", "0000:41:00.0", `{"PCI":"0000:41:00.0","RX":true,"TX":false}`), entry("firewall_ruleset", "x", `{"Name":"x"}`)},
			"[] [{firewall_ruleset x [{enabled false}]} {module_parameters m [{set a=1 b=2}]} {pause_parameters 0000:41:00.0 [{rx true} {tx false}]}]"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := declared("o", c.entries)
			if err != nil {
				t.Fatal(err)
			}
			var ports []string
			for _, p := range d.Ports {
				text := fmt.Sprint(p.Name, " ", p.PCI, " ", p.Fabric, " ", p.RoCE, " ", p.Address, " ", p.VLAN, " ", p.Software)
				if p.VMK != nil {
					text += fmt.Sprintf(" %v", *p.VMK)
				}
				ports = append(ports, "{"+text+"}")
			}
			if got := fmt.Sprint(ports, " ", d.Blocks); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	if _, err := declared("o", []plan.Entry{entry("vmkernel", "vmk3", `{"ID":`)}); err == nil {
		t.Error("a broken entry is read")
	}
}
