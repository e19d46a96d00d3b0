package view

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/text"
)

// Outside is what applying a plan would use of the machine that applies it.
type Outside struct {
	Taken     []Taken  `json:"taken"`     // by the files of the plan
	Variables []string `json:"variables"` // that are sensitive: their values are read where the plan is applied
	Hosts     []Host   `json:"hosts"`     // to which it would connect
	Programs  []string `json:"programs"`  // that weft itself would start here
	Files     []string `json:"files"`     // that logging in would read
	Agents    []string `json:"agents"`    // sockets of ssh agents
	Unknown   []string `json:"unknown"`   // what could not be found out, and why
}

// Taken is one call of exec, env, file or templatefile.
type Taken struct {
	What  string   `json:"what"`           // program, variable (of the environment), file or text
	Call  string   `json:"call"`           // as it is written
	Place string   `json:"place"`          // credential.leaf.password
	At    string   `json:"at"`             // file:line
	With  []string `json:"with,omitempty"` // what it depends on
}

// Host is a device, and how it would be reached.
type Host struct {
	Device  string   `json:"device"`
	Name    string   `json:"name"`            // as it is declared
	Address string   `json:"address"`         // as ssh_config resolves it; "": not known
	Port    int      `json:"port"`            // 0: not known
	User    string   `json:"user"`            // "": not known
	Become  string   `json:"become"`          // sudo, or ""
	Jumps   []string `json:"jumps"`           // first hop first
	Login   string   `json:"login"`           // how the password is read; "": keys only
	Error   string   `json:"error,omitempty"` // why it could not be resolved
}

// Show shows it for people.
func (o *Outside) Show(w io.Writer, s Style) {
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, "Applying it takes from this machine:"))
	width := 0
	for _, t := range o.Taken {
		width = max(width, len([]rune(t.Call)))
	}
	for _, t := range o.Taken {
		fmt.Fprintf(w, "  %s %s %s\n", text.Pad(t.What, 8), text.Pad(t.Call, min(width, 60)), t.Place+" ("+t.At+")")
		for _, g := range t.With {
			fmt.Fprintf(w, "           %s\n", s.dress(faint, "with "+strings.Join(strings.Fields(g), " ")))
		}
	}
	each := func(what string, list []string) {
		for _, x := range list {
			fmt.Fprintf(w, "  %s %s\n", text.Pad(what, 8), x)
		}
	}
	each("value", o.Variables)
	each("program", o.Programs)
	each("file", o.Files)
	each("agent", o.Agents)
	for _, h := range o.Hosts {
		fmt.Fprintf(w, "  %s %s\n", text.Pad("host", 8), h.text())
	}
	for _, what := range o.Unknown {
		fmt.Fprintf(w, "  %s %s\n", s.dress(yellow, text.Pad("?", 8)), what)
	}
}

// text is a host in one line.
func (h Host) text() string {
	address := h.Name
	if h.Address != "" {
		address = h.Address
	}
	if h.Port != 0 {
		address = fmt.Sprintf("%s port %d", address, h.Port)
	}
	if h.User != "" {
		address = h.User + "@" + address
	}
	if len(h.Jumps) > 0 {
		address += " through " + strings.Join(h.Jumps, ", ")
	}
	text := h.Device + ": " + address
	if h.Become != "" {
		text += ", " + h.Become
	}
	if h.Login != "" {
		text += ", password from " + h.Login
	}
	if h.Error != "" {
		text += ", not resolved: " + h.Error
	}
	return text
}
