package windows

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/windows/powershell"
	"weft/plan"
)

// An AdapterQoS is data-centre bridging on one NIC: that it is enabled, and what the NIC
// does then. What is configured is not what counts: Windows sends a NIC no traffic class at
// all where there are more than it has room for, and says nothing.
type AdapterQoS struct {
	PCI      string
	Enabled  bool
	Lossless []int          `json:",omitempty"` // priorities under PFC, ascending
	Shares   map[int]string `json:",omitempty"` // by priority, of those that have a class of their own: 50%, strict
	Port     int            `json:",omitempty"` // of NetworkDirect
	Priority int            `json:",omitempty"` // of what goes to Port; -1: the NIC knows nothing of it

	nic    string
	silent []string // what the NIC does not tell, by the names of Diff
}

// AdapterQoSKind is the kind adapter_qos.
func AdapterQoSKind() *host.Kind[AdapterQoS] {
	return &host.Kind[AdapterQoS]{
		Name: "adapter_qos", Lasting: true, Risky: true,
		Looks: (*AdapterQoS).Looks, Parse: (*AdapterQoS).Parse, Diff: (*AdapterQoS).Diff, Steps: (*AdapterQoS).Steps,
		NIC: func(q *AdapterQoS) string { return q.PCI }, Left: (*AdapterQoS).Left, Advice: (*AdapterQoS).Advice,
	}
}

// operationalLook sees all adapters: of one that cannot do it the cmdlet shows nothing.
func operationalLook() remote.Look {
	return query("Name Enabled:bool OperationalFlowControl:list OperationalTrafficClasses:list OperationalClassifications:list", "Get-NetAdapterQos")
}

// operational is what an adapter does, whatever is configured.
type operational struct {
	Name                                                                          string
	Enabled                                                                       bool
	OperationalFlowControl, OperationalTrafficClasses, OperationalClassifications powershell.List
}

func (q *AdapterQoS) Looks() []remote.Look {
	return append(adapterLooks(), intentLook(), operationalLook())
}

func (q *AdapterQoS) Parse(s remote.Seen) (*AdapterQoS, error) {
	nic, err := own(s, q.PCI)
	if err != nil {
		return nil, err
	}
	list, err := rows[operational](s, operationalLook())
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(o operational) bool { return o.Name == nic.Interface })
	if i < 0 {
		return nil, fmt.Errorf("%s can do no data-centre bridging: Get-NetAdapterQos does not show it", nic.Interface)
	}
	have := &AdapterQoS{PCI: q.PCI, Enabled: list[i].Enabled, Port: q.Port, nic: nic.Interface}
	if !have.Enabled {
		return have, nil
	}
	have.readPauses(told(list[i].OperationalFlowControl))
	have.readShares(told(list[i].OperationalTrafficClasses), q.Shares)
	have.readPort(told(list[i].OperationalClassifications))
	return have, nil
}

// told is what a property shows: one text, or a list of lines.
func told(lines powershell.List) string { return strings.Join(texts(lines), "\n") }

var (
	pauseWords = pattern.New(`[0-7][0-7,-]*`)
	classLine  = pattern.New(`(?m)^\s*[0-7]\s+\S+\s+(?:(\d+)%?\s+)?([0-7][0-7,-]*)\s*$`) // 1 ETS 30% 4
	portLine   = pattern.New(`(?m)\bNetDirect\s+(\d+)\s+([0-7])\b`)
)

// readPauses reads "Priority 3 Enabled" and "All Priorities Disabled".
func (q *AdapterQoS) readPauses(text string) {
	words := pauseWords.FindAllString(text, -1)
	if len(words) == 0 && !strings.EqualFold(strings.TrimSpace(text), "All Priorities Disabled") {
		q.silent = append(q.silent, "pfc")
		return
	}
	for _, w := range words {
		q.Lossless = append(q.Lossless, traffic.ParseRanges(w, priority)...)
	}
	slices.Sort(q.Lossless)
}

// readShares reads the rows of the table of classes, as far as they are asked for.
func (q *AdapterQoS) readShares(text string, asked map[int]string) {
	lines := classLine.FindAllStringSubmatch(text, -1)
	if len(lines) == 0 {
		q.silent = append(q.silent, "classes")
		return
	}
	q.Shares = map[int]string{}
	for p := range asked {
		q.Shares[p] = "none of its own"
		for _, m := range lines {
			if only := traffic.ParseRanges(m[2], priority); len(only) == 1 && only[0] == p {
				n, _ := strconv.Atoi(m[1]) // "" is strict
				q.Shares[p] = share(n)
			}
		}
	}
}

func (q *AdapterQoS) readPort(text string) {
	if text == "" || strings.EqualFold(strings.TrimSpace(text), "Not Available") {
		q.silent = append(q.silent, "smb_direct")
		return
	}
	q.Priority = -1
	for _, m := range portLine.FindAllStringSubmatch(text, -1) {
		if m[1] == strconv.Itoa(q.Port) {
			q.Priority, _ = strconv.Atoi(m[2])
		}
	}
}

func (q *AdapterQoS) Diff(have *AdapterQoS) []plan.Change {
	onOff := map[bool]string{true: "on", false: "off"}
	out := plan.Changed("enabled", onOff[have.Enabled], onOff[q.Enabled], plan.ImpactTraffic)
	if !q.Enabled {
		return out
	}
	tells := func(what string) bool {
		return !have.Enabled || !slices.Contains(have.silent, what) && !slices.Contains(q.silent, what)
	}
	if tells("pfc") {
		out = append(out, plan.Changed("pfc", cmp.Or(traffic.Ranges(have.Lossless), "none"), cmp.Or(traffic.Ranges(q.Lossless), "none"), plan.ImpactTraffic)...)
	}
	for _, p := range slices.Sorted(maps.Keys(q.Shares)) {
		if tells("classes") {
			out = append(out, plan.Changed(fmt.Sprintf("class.%d", p), have.Shares[p], q.Shares[p], plan.ImpactTraffic)...)
		}
	}
	if tells("smb_direct") && q.Port != 0 {
		out = append(out, plan.Changed("smb_direct", known(have.Priority), known(q.Priority), plan.ImpactTraffic)...)
	}
	return out
}

func known(priority int) string {
	if priority < 1 {
		return "no priority"
	}
	return "priority " + strconv.Itoa(priority)
}

// Steps: a NIC that is enabled already and does something else gets all of it once more.
func (q *AdapterQoS) Steps(have *AdapterQoS) []remote.Step {
	switch {
	case len(q.Diff(have)) == 0:
		return nil
	case q.Enabled:
		return []remote.Step{host.Run("Enable-NetAdapterQos", "-Name", nicName(q.PCI), "-Confirm:$false")}
	}
	return []remote.Step{host.Run("Disable-NetAdapterQos", "-Name", nicName(q.PCI), "-Confirm:$false")}
}

// Left says what is not known of a NIC that tells nothing else.
func (q *AdapterQoS) Left() string {
	if len(q.silent) == 0 {
		return ""
	}
	return fmt.Sprintf("%s does not tell what it does: %s; Get-NetAdapterQos shows nothing of it that weft can read", q.nic, strings.Join(q.silent, ", "))
}

func (q *AdapterQoS) Advice(reply string) string {
	if reply != "" {
		return ""
	}
	return "Windows sends a NIC no traffic class at all where there are more than it has room for, and nothing while DCBX is willing: NumTCs of Get-NetAdapterQos, [Default] is one of them"
}
