//go:build unix

package simserver

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
)

// What an agent is asked for, as far as the lab has to know it: by flags, or with
// "do" by a request on its input.
type asked struct {
	input  []byte   // the request; nil: flags
	listen string   // where it is to answer messages
	to     []string // the portals that it goes to
	probe  bool     // it sends messages
	tos    int      // what it marks packets with; 0: as the system does
	from   string   // the address that a request has it connect from
}

// mostInput is the longest request that is passed on.
const mostInput = 1 << 20

// readAsked reads the arguments, and the request where they say that there is one.
func readAsked(args []string, in io.Reader) (a asked, err error) {
	for i, arg := range args[:max(len(args)-1, 0)] {
		switch arg {
		case "--traddr":
			a.to = append(a.to, args[i+1])
		case "--tos":
			a.tos, _ = strconv.Atoi(args[i+1])
		}
	}
	a.listen, a.probe = argument(args, "--listen"), slices.Contains(args, "probe")
	if !slices.Equal(args, []string{"do"}) {
		return a, nil
	}
	if a.input, err = io.ReadAll(io.LimitReader(in, mostInput)); err != nil {
		return a, err
	}
	type end struct {
		Over struct {
			ToS  int    `json:"tos"`
			From string `json:"from"`
		} `json:"over"`
		Portal  string   `json:"portal"`
		Portals []string `json:"portals"`
		Listen  string   `json:"listen"`
	}
	var r struct{ Read, Load, Probe, Answer *end }
	if json.Unmarshal(a.input, &r) != nil {
		return a, nil // it is the agent's to complain
	}
	for _, e := range []*end{r.Read, r.Load, r.Probe, r.Answer} {
		if e == nil {
			continue
		}
		a.tos, a.from, a.listen, a.to = e.Over.ToS, e.Over.From, e.Listen, e.Portals
		if e.Portal != "" {
			a.to = []string{e.Portal}
		}
	}
	a.probe = r.Probe != nil
	return a, nil
}
