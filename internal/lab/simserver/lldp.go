//go:build unix

package simserver

import (
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
)

// lldpcli is one display of lldpd's: lldpcli -f json0 show neighbors, in the layout that
// tests/integration/test_lldpcli.py of lldpd holds its own to. Only root, and the group
// of lldpd, may ask.
func lldpcli(x *call) int {
	if !slices.Equal(x.args, []string{"-f", "json0", "show", "neighbors"}) {
		return x.notSimulated(1)
	}
	if !x.user.root {
		return x.fail(1, "[WARN/lldpctl] unable to connect to socket /run/lldpd.socket: Permission denied")
	}
	type value []map[string]string
	id := func(text string) value {
		if _, err := net.ParseMAC(text); err == nil {
			return value{{"type": "mac", "value": text}}
		}
		return value{{"type": "ifname", "value": text}}
	}
	list := []any{}
	for _, i := range x.server.interfaces() {
		if i.Hears == nil || i.infiniBand() || i.operstate() != "UP" {
			continue
		}
		list = append(list, map[string]any{"name": i.Name, "via": "LLDP", "rid": "1", "age": "0 day, 00:01:00",
			"chassis": []any{map[string]any{"id": id(i.Hears.Chassis), "name": value{{"value": i.Hears.System}}}},
			"port":    []any{map[string]any{"id": id(i.Hears.Port), "ttl": value{{"value": "120"}}}}})
	}
	text, err := json.MarshalIndent(map[string]any{"lldp": []any{map[string]any{"interface": list}}}, "", "  ")
	if err != nil {
		return x.fail(1, "%v", err)
	}
	_, _ = x.stdout.Write(append(text, '\n'))
	return 0
}

// smpquery is a part of infiniband-diags': what stands at the other end of a port, asked by
// a directed route of one hop. As version 44.0 prints it on a subnet of ibsim 0.10.
func smpquery(x *call) int {
	if len(x.args) != 7 || x.args[0] != "-C" || x.args[2] != "-P" || x.args[3] != "1" || x.args[4] != "-D" || x.args[6] != "0,1" {
		return x.notSimulated(1)
	}
	if !x.user.root {
		return x.fail(1, "ibwarn: mad_rpc_open_port: can't open UMAD port (%s:1)", x.args[1])
	}
	var peer *Peer
	for _, d := range x.server.rdmaDevices() {
		if i, ok := x.server.iface(d.netdev); ok && d.name == x.args[1] && d.ib {
			peer = i.Hears
		}
	}
	switch {
	case peer == nil:
		return x.fail(255, "ibwarn: _do_madrpc: recv failed: Connection timed out")
	case x.args[5] == "nodedesc":
		fmt.Fprintf(x.stdout, "Node Description:.............................%s\n", peer.System)
	case x.args[5] == "nodeinfo":
		fmt.Fprintf(x.stdout, "# Node info: DR path slid 65535; dlid 65535; 0,1\n")
		for _, field := range [][2]string{{"BaseVers", "1"}, {"ClassVers", "1"}, {"NodeType", "Switch"}, {"NumPorts", "40"}, {"SystemGuid", peer.Chassis}, {"Guid", peer.Chassis},
			{"PortGuid", peer.Chassis}, {"PartCap", "8"}, {"DevId", "0x0000"}, {"Revision", "0x000000a1"}, {"LocalPort", peer.Port}, {"VendorId", "0x000000"}} {
			fmt.Fprintf(x.stdout, "%s%s%s\n", field[0]+":", strings.Repeat(".", 32-len(field[0])), field[1])
		}
	default:
		return x.notSimulated(1)
	}
	return 0
}
