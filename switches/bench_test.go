package switches_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// benchPorts is a large box: what it prints is to be read in 50 ms.
const benchPorts = 256

// BenchmarkParse reads and fits what a switch with 256 configured ports prints.
func BenchmarkParse(b *testing.B) {
	for os, out := range map[string]func() (*switches.OS, map[string]string, switches.Intent){"nxos": benchNXOS, "comware": benchComware} {
		b.Run(os, func(b *testing.B) {
			d, text, want := out()
			size := 0
			for _, t := range text {
				size += len(t)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				c, err := d.Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				have := c.For(want)
				if len(have.Ports) != benchPorts {
					b.Fatal(len(have.Ports), "ports")
				}
				if lines, err := switches.Render(d, have, want); err != nil || len(lines) > 0 {
					b.Fatal(err, lines)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/switch")
		})
	}
}

func benchWish(port func(int) string, watchdog bool) switches.Intent {
	c := switches.Intent{Name: "WEFT-bench-roce", Classes: []switches.Class{
		{Name: switches.AllOther, Bandwidth: 50},
		{Name: "rdma", DSCP: []int{26}, Priority: 3, Bandwidth: 50, PFC: true, ECN: &switches.ECN{Min: 208_000, Max: 2_080_000, Probability: 5}},
		{Name: "cnp", DSCP: []int{48}, Priority: 6, Strict: true},
	}}
	if watchdog {
		c.Watchdog = "drop"
	}
	for i := range benchPorts {
		c.Ports = append(c.Ports, switches.Port{Name: port(i), MTU: 9216, PFC: true, Classify: true, Queue: true, Exists: true, Watchdog: watchdog})
	}
	return c
}

// configured renders a wish on a switch that has nothing but ports, and prints
// it as a configuration with what else stands on ports.
func configured(d *switches.OS, out map[string]string, want switches.Intent, port string) map[string]string {
	c, err := d.Parse(out)
	if err != nil {
		panic(err) // of texts of our own
	}
	lines, err := switches.Render(d, c.For(want), want)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	for _, l := range lines {
		if l = strings.TrimRight(l, " "); strings.TrimSpace(l) == "quit" {
			continue
		}
		b.WriteString(l + "\n")
		if strings.HasPrefix(l, "interface ") {
			b.WriteString(port)
		}
	}
	out[d.Dialect.Running] = b.String()
	return out
}

func benchNXOS() (*switches.OS, map[string]string, switches.Intent) {
	want := benchWish(func(i int) string { return fmt.Sprintf("Ethernet1/%d/%d", i/4+1, i%4+1) }, true)
	out := map[string]string{"show version": "  NXOS: version 10.4(3)\n  cisco Nexus9000 C9364D-GX2A Chassis\n", "show running-config": ""}
	for _, p := range want.Ports {
		out["show running-config"] += "interface " + p.Name + "\n"
	}
	return nxos.OS(), configured(nxos.OS(), out, want, "  description server\n  switchport\n  switchport access vlan 40\n  spanning-tree port type edge\n"), want
}

func benchComware() (*switches.OS, map[string]string, switches.Intent) {
	want := benchWish(func(i int) string { return fmt.Sprintf("HundredGigE1/0/%d", i+1) }, false)
	out := map[string]string{"display version": "H3C Comware Software, Version 7.1.070, Release 6555P01\nH3C S9820-64H uptime is 1 week\n"}
	var running, frames strings.Builder
	for _, p := range want.Ports {
		running.WriteString("interface " + p.Name + "\n")
		fmt.Fprintf(&frames, "%s\nCurrent state: UP\nLine protocol state: UP\nDescription: %s Interface\nMaximum frame length: 1536\n%s\n",
			p.Name, p.Name, strings.Repeat(" Input (total):  0 packets, 0 bytes\n", 30))
	}
	out["display current-configuration"], out["display interface"] = running.String(), frames.String()
	out["display qos map-table dscp-dot1p"] = "MAP-TABLE NAME: dscp-dot1p   TYPE: pre-define\n"
	return comware.OS(), configured(comware.OS(), out, want, " port link-mode bridge\n description server\n port access vlan 40\n"), want
}
