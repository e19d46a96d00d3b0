package switches

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A Neighbour is what a switch hears with LLDP on one of its ports.
type Neighbour struct {
	Port    string `json:"port"`              // of the switch: Ethernet1/11, HundredGigE1/0/11
	System  string `json:"system,omitempty"`  // name of who is heard; "": it sends none
	PortID  string `json:"port_id,omitempty"` // of its port: often a MAC address, or a name
	Chassis string `json:"chassis,omitempty"` // its id: often a MAC address
	// PFC are the priorities that it says with DCBX are lossless: "3", "1,2",
	// "none"; "": it does not say, or the OS does not show it.
	PFC string `json:"dcbx_pfc,omitempty"`
}

// What shows neighbours at full length: the short lists cut and wrap names.
const (
	nxosNeighbours    = "show lldp neighbors detail"
	comwareNeighbours = "display lldp neighbor-information verbose"
)

// Neighbours are those that the switch hears now. A switch that does not speak
// LLDP hears none.
func (s *Session) Neighbours(ctx context.Context) ([]Neighbour, error) {
	line, parse := nxosNeighbours, nxosParseNeighbours
	if s.dialect.OS == "comware" {
		line, parse = comwareNeighbours, comwareParseNeighbours
	}
	out, err := s.Show(ctx, []string{line})
	if errors.As(err, new(*RefusedError)) {
		return nil, nil // the feature is off
	}
	return parse(out[line]), err
}

// nxosParseNeighbours reads records that begin with the chassis:
//
//	Chassis id: 0002.c9aa.bb00
//	Port id: Ethernet1/1
//	Local Port id: Eth1/1
//	System Name: leaf-b
//
// A description of several lines stands between others; its lines may hold
// anything but these words at their beginning.
func nxosParseNeighbours(text string) []Neighbour {
	var list []Neighbour
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ": ")
		if value = strings.TrimSpace(value); !ok || value == "not advertised" {
			value = ""
		}
		if key == "Chassis id" {
			list = append(list, Neighbour{Chassis: value})
			continue
		}
		if len(list) == 0 {
			continue
		}
		switch n := &list[len(list)-1]; key {
		case "Port id":
			n.PortID = value
		case "Local Port id":
			n.Port = value
			if number, short := strings.CutPrefix(value, "Eth"); short && !strings.HasPrefix(number, "ernet") {
				n.Port = "Ethernet" + number
			}
		case "System Name":
			n.System = value
		}
	}
	return whole(list)
}

// comwarePortLine begins what is heard on one port: "LLDP neighbor-information
// of port 1[HundredGigE1/0/1]:".
var comwarePortLine = regexp.MustCompile(`^LLDP neighbor-information of port \d+ ?\[([^\]]+)\]:?$`)

// comwareParseNeighbours reads, for each port, records that begin with their
// index. What is heard with CDP stands between, in the same words.
func comwareParseNeighbours(text string) []Neighbour {
	var list []Neighbour
	port, below := "", ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if n := len(list); n > 0 && below == "dcbx pfc info" && list[n-1].PFC == "" {
			list[n-1].PFC = comwareSaysPFC(line)
		}
		if strings.Contains(line, "neighbor-information of port") {
			port = ""
			if m := comwarePortLine.FindStringSubmatch(line); m != nil {
				port = m[1]
			}
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		if !ok || !strings.HasPrefix(line, " ") || strings.HasPrefix(line, "  ") {
			continue // of a list, or the rest of a description
		}
		value = strings.TrimSpace(value)
		key = strings.ToLower(strings.TrimSpace(key))
		switch below = key; {
		case strings.HasSuffix(key, " neighbor index"):
			list = append(list, Neighbour{Port: port})
		case len(list) == 0:
		case key == "chassis id":
			list[len(list)-1].Chassis = value
		case key == "port id":
			list[len(list)-1].PortID = value
		case key == "system name":
			list[len(list)-1].System = value
		}
	}
	return whole(list)
}

// comwareSaysPFC reads "  P0-0     P1-1     P2-1     P3-1     P4-0     …": a
// priority, and whether its sender calls it lossless.
func comwareSaysPFC(line string) string {
	w := strings.Fields(line)
	if len(w) != priorities {
		return ""
	}
	var on []string
	for i, s := range w {
		switch s {
		case fmt.Sprintf("P%d-1", i):
			on = append(on, strconv.Itoa(i))
		case fmt.Sprintf("P%d-0", i):
		default:
			return ""
		}
	}
	if len(on) == 0 {
		return "none"
	}
	return strings.Join(on, ",")
}

// whole leaves out what does not say on which port it was heard.
func whole(list []Neighbour) []Neighbour {
	var out []Neighbour
	for _, n := range list {
		if n.Port != "" {
			out = append(out, n)
		}
	}
	return out
}
