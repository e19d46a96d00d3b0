//go:build unix

package simesxi

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
)

// A command is one of esxcli that this host has.
type command struct {
	words   string            // network vswitch standard add
	options map[string]string // long names by short ones; all take a value
	needed  string            // short names of those without which it is refused
	changes bool
	run     func(*Host, map[string]string) (string, error)
	source  string // where the command and its answer are documented
}

// The documents that commands are taken from.
const (
	reference = "Broadcom, ESXCLI Command Reference"
	nvmeGuide = "Broadcom, VMware vSphere Storage 8.0: Configuring NVMe over RDMA, NVMe over TCP; NetApp, ontap-sanhost, nvme-esxi-8"
	ciscoVIC  = "Cisco UCS Manager VIC Configuration Guide 4.3: NVMe over Fabrics with ESXi"
	nvidiaUM  = "NVIDIA, VMware ESXi User Manual 4.19: Module Parameters"
)

// esxcli answers one command line.
func esxcli(x *call) int {
	h, args, asXML := x.s.h, x.args, false
	if len(args) > 0 && args[0] == "--formatter=xml" {
		args, asXML = args[1:], true
	}
	h.running.Lock()
	defer h.running.Unlock()
	c, rest := find(args)
	if c == nil {
		fmt.Fprintf(x.out, "Error: Unknown command or namespace %s\n", strings.Join(args, " "))
		return 1
	}
	options, err := c.parse(rest)
	if err != nil {
		fmt.Fprintf(x.out, "Error: %v\n", err)
		return 1
	}
	status, going := x.answer(c, options, asXML)
	if going {
		if err := h.Reboot(); err != nil {
			return x.fail("%v", err)
		}
		h.hang()
	}
	return status
}

// answer carries a command out, and says whether the host restarts then.
func (x *call) answer(c *command, options map[string]string, asXML bool) (status int, going bool) {
	h := x.s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.changes && h.fault != "" {
		fmt.Fprintln(x.out, h.fault)
		return 1, false
	}
	if !c.changes && !asXML {
		fmt.Fprintln(x.out, "this SIMULATED host prints lists with --formatter=xml only")
		return 1, false
	}
	text, err := c.run(h, options)
	switch {
	case err != nil:
		fmt.Fprintln(x.out, err)
		return 1, false
	case asXML:
		fmt.Fprint(x.out, document(text))
	case text != "":
		fmt.Fprintln(x.out, text)
	}
	going, h.upkeep.going = h.upkeep.going, false
	return 0, going
}

// find is the command that arguments begin with, and the rest of them.
func find(args []string) (*command, []string) {
	for _, c := range commands() {
		words := strings.Fields(c.words)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return &c, args[len(words):]
		}
	}
	return nil, nil
}

func (c *command) parse(args []string) (map[string]string, error) {
	got := map[string]string{}
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		short := ""
		for s, long := range c.options {
			if name == "-"+s || name == "--"+long {
				short = s
			}
		}
		if short == "" {
			return nil, says("Invalid option %s", name)
		}
		if !joined {
			if len(args) == 0 {
				return nil, says("Option %s requires an argument", name)
			}
			value, args = args[0], args[1:]
		}
		got[short] = value
	}
	for _, r := range c.needed {
		if _, ok := got[string(r)]; !ok {
			return nil, says("Missing required parameter -%c|--%s", r, c.options[string(r)])
		}
	}
	return got, nil
}

// A reply is what a host says where it refuses.
type reply string

func (r reply) Error() string { return string(r) }

func says(format string, args ...any) error { return reply(fmt.Sprintf(format, args...)) }

// document is what --formatter=xml prints around a value.
func document(value string) string {
	return "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<output xmlns=\"http://www.vmware.com/Products/ESX/5.0/esxcli\">\n<root>\n" + value + "</root>\n</output>\n"
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes all
	return b.String()
}

// structure prints fields: names and values in turn, which are texts, numbers, flags or
// lists of texts.
func structure(name string, pairs ...any) string {
	var b strings.Builder
	fmt.Fprintf(&b, "   <structure typeName=\"%s\">\n", name)
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, "      <field name=\"%s\">\n         ", pairs[i])
		switch v := pairs[i+1].(type) {
		case string:
			fmt.Fprintf(&b, "<string>%s</string>", escaped(v))
		case int:
			fmt.Fprintf(&b, "<integer>%d</integer>", v)
		case bool:
			fmt.Fprintf(&b, "<boolean>%t</boolean>", v)
		case []string:
			b.WriteString("<list type=\"string\">")
			for _, s := range v {
				fmt.Fprintf(&b, "<string>%s</string>", escaped(s))
			}
			b.WriteString("</list>")
		default:
			panic(fmt.Sprintf("a field is a %T", v)) // a mistake of this package
		}
		b.WriteString("\n      </field>\n")
	}
	b.WriteString("   </structure>\n")
	return b.String()
}

func list(structures ...string) string {
	return "<list type=\"structure\">\n" + strings.Join(structures, "") + "</list>\n"
}

var errTrue = says("Invalid data constraint for parameter 'enabled'.")

func boolean(text string) (bool, error) {
	switch text {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errTrue
}
