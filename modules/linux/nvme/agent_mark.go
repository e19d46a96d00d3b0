package nvme

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/slice"
	"weft/plan"
)

// inherit has portals keep the marks that a ledger says they have, where the fabric does
// not say which class carries TCP. A configuration that only writes the same otherwise
// stays as it is.
func (a *Agent) inherit(entries []plan.Entry) {
	for _, e := range entries {
		var made Agent
		if e.Kind != "agent" || json.Unmarshal(e.Applied, &made) != nil || made.Name != a.Name {
			continue
		}
		had, err := agent.ParseTarget([]byte(made.Config))
		want, err2 := agent.ParseTarget([]byte(a.Config))
		if err == nil && err2 == nil {
			a.keepMarks(had, want)
			a.write(made.Config, had, want)
		}
	}
}

// keepMarks gives portals of want the marks that had has for them.
func (a *Agent) keepMarks(had, want *agent.Target) {
	for i := range want.Portals {
		p := &want.Portals[i]
		at := slices.IndexFunc(had.Portals, p.Same)
		if at < 0 || p.Transport != "tcp" || had.Portals[at].ToS == p.ToS || !slices.Contains(a.Unassigned, p.Address) {
			continue
		}
		p.ToS = had.Portals[at].ToS
		if !slices.ContainsFunc(a.keeps, p.Same) {
			a.keeps = append(a.keeps, *p)
		}
	}
}

// write makes the configuration want, or leaves the text of had where both say the same.
func (a *Agent) write(text string, had, want *agent.Target) {
	out, err := want.Marshal()
	same, err2 := had.Marshal()
	switch {
	case err != nil || err2 != nil:
	case string(same) == string(out):
		a.Config = text
	default:
		a.Config = string(out)
	}
}

// keptMarks says which portals keep marks that are not those of their class; "": none.
func (a *Agent) keptMarks() string {
	if len(a.keeps) == 0 {
		return ""
	}
	at := slice.Map(a.keeps, func(p agent.Portal) string { return fmt.Sprintf("%s keeps ToS %s", p.Address, tosText(int(p.ToS))) })
	return "warning: " + strings.Join(at, ", ") + `, but TCP belongs to the class default: write carries = ["tcp"] in the traffic_class that TCP shall have, and the plan shows the change`
}
