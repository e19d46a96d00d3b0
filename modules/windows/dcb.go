package windows

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/windows/powershell"
	"weft/plan"
)

// A DCB is data-centre bridging of a host: what Windows sends to all NICs on which it is
// enabled. What a NIC has made of it is adapter_qos.
type DCB struct {
	Willing  bool    // what the switch tells by DCBX counts, and nothing of this is sent
	Lossless []int   // priorities under PFC, ascending
	Classes  []Class // weft's own, by name; the rest of all traffic has [Default]

	Prefix string // what names of weft's classes begin with: those of an owner's fabric
}

// A Class is a traffic class of a priority.
type Class struct {
	Name     string
	Priority int
	Share    int // percent of the bandwidth; 0: strict
}

func (c Class) String() string { return fmt.Sprintf("priority %d, %s", c.Priority, share(c.Share)) }

func share(percent int) string {
	if percent == 0 {
		return "strict"
	}
	return strconv.Itoa(percent) + "%"
}

// DCBKind is the kind dcb.
func DCBKind() *host.Kind[DCB] {
	return &host.Kind[DCB]{
		Name: "dcb", Lasting: true, Risky: true,
		Looks: (*DCB).Looks, Parse: (*DCB).Parse, Diff: (*DCB).Diff, Steps: (*DCB).Steps,
	}
}

func willingLook() remote.Look { return query("Willing:bool", "Get-NetQosDcbxSetting") }

func pausesLook() remote.Look {
	return query("Priority:int64 Enabled:bool", "Get-NetQosFlowControl")
}

func classesLook() remote.Look {
	return query("Name Algorithm Bandwidth:int64 Priority:list", "Get-NetQosTrafficClass")
}

// Looks: without an interface, the cmdlets show what holds for all of the host.
func (d *DCB) Looks() []remote.Look {
	return []remote.Look{intentLook(), willingLook(), pausesLook(), classesLook()}
}

// Parse: a host without the feature lacks the cmdlets, and has what a host has that just
// got it; what it has then is read when the changes are proven.
func (d *DCB) Parse(s remote.Seen) (*DCB, error) {
	if err := unkept(s); err != nil {
		return nil, err
	}
	if lacking(s, willingLook()) {
		return &DCB{Willing: true, Prefix: d.Prefix}, nil
	}
	have := &DCB{Prefix: d.Prefix}
	type dcbx struct{ Willing bool }
	type pause struct {
		Priority int
		Enabled  bool
	}
	bits, err := rows[dcbx](s, willingLook())
	if err == nil && len(bits) != 1 {
		err = fmt.Errorf("Get-NetQosDcbxSetting shows %d settings, and one is of the host", len(bits))
	}
	if err != nil {
		return nil, err
	}
	have.Willing = bits[0].Willing
	pauses, err := rows[pause](s, pausesLook())
	if err == nil && len(pauses) != traffic.Priorities {
		err = fmt.Errorf("Get-NetQosFlowControl shows %d priorities, and there are %d", len(pauses), traffic.Priorities)
	}
	if err != nil {
		return nil, err
	}
	for _, p := range pauses {
		if p.Enabled {
			have.Lossless = append(have.Lossless, p.Priority)
		}
	}
	slices.Sort(have.Lossless)
	return have, have.readClasses(s, d)
}

// readClasses keeps weft's classes. One of others that has a priority of weft's is in the way.
func (d *DCB) readClasses(s remote.Seen, want *DCB) error {
	type class struct {
		Name, Algorithm string
		Bandwidth       int
		Priority        powershell.List
	}
	list, err := rows[class](s, classesLook())
	if err != nil {
		return err
	}
	for _, c := range list {
		priorities, err := prioritiesOf(c.Priority)
		switch {
		case err != nil:
			return fmt.Errorf("Get-NetQosTrafficClass: %s: %w", c.Name, err)
		case strings.HasPrefix(c.Name, "["): // [Default], in whatever language
		case strings.HasPrefix(c.Name, d.Prefix):
			own := Class{Name: c.Name, Share: c.Bandwidth}
			if own.Priority = -1; len(priorities) == 1 {
				own.Priority = priorities[0]
			}
			if !strings.EqualFold(c.Algorithm, "ETS") {
				own.Share = 0
			}
			d.Classes = append(d.Classes, own)
		default:
			for _, w := range want.Classes {
				if slices.Contains(priorities, w.Priority) {
					return hint.Wrap(fmt.Errorf("the traffic class %s, which is not weft's, has priority %d", c.Name, w.Priority),
						"its creator can remove it: Remove-NetQosTrafficClass")
				}
			}
		}
	}
	slices.SortFunc(d.Classes, func(a, b Class) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// prioritiesOf reads a list of numbers, or of texts such as 0-2,4-7.
func prioritiesOf(from powershell.List) (list []int, err error) {
	for _, w := range texts(from) {
		these := traffic.ParseRanges(w, priority)
		if len(these) == 0 {
			return nil, fmt.Errorf("%q is no priority", w)
		}
		list = append(list, these...)
	}
	slices.Sort(list)
	return list, nil
}

func priority(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < traffic.Priorities
}

func (d *DCB) Diff(have *DCB) []plan.Change {
	onOff := map[bool]string{true: "on", false: "off"}
	out := slices.Concat(plan.Changed("willing", onOff[have.Willing], onOff[d.Willing], plan.ImpactTraffic),
		plan.Changed("pfc", cmp.Or(traffic.Ranges(have.Lossless), "none"), cmp.Or(traffic.Ranges(d.Lossless), "none"), plan.ImpactTraffic))
	for _, name := range names(d.Classes, have.Classes) {
		out = append(out, plan.Changed("class."+strings.TrimPrefix(name, d.Prefix), classNamed(have.Classes, name), classNamed(d.Classes, name), plan.ImpactTraffic)...)
	}
	return out
}

func names(lists ...[]Class) (all []string) {
	for _, c := range slices.Concat(lists...) {
		if !slices.Contains(all, c.Name) {
			all = append(all, c.Name)
		}
	}
	return all
}

func classNamed(list []Class, name string) string {
	if i := slices.IndexFunc(list, func(c Class) bool { return c.Name == name }); i >= 0 {
		return list[i].String()
	}
	return ""
}

// Steps: classes that differ are made anew, after all of those have gone: two must not
// share a priority, nor all of them have more than there is.
func (d *DCB) Steps(have *DCB) (steps []remote.Step) {
	if have.Willing != d.Willing {
		steps = append(steps, host.Run("Set-NetQosDcbxSetting", "-Willing", strconv.FormatBool(d.Willing), "-Confirm:$false"))
	}
	for _, way := range []struct {
		cmdlet    string
		list, not []int
	}{{"Disable-NetQosFlowControl", have.Lossless, d.Lossless}, {"Enable-NetQosFlowControl", d.Lossless, have.Lossless}} {
		args := []string{way.cmdlet, "-Priority"}
		for _, p := range way.list {
			if !slices.Contains(way.not, p) {
				args = append(args, strconv.Itoa(p))
			}
		}
		if len(args) > 2 {
			steps = append(steps, host.Run(append(args, "-Confirm:$false")...))
		}
	}
	for _, c := range have.Classes {
		if !slices.Contains(d.Classes, c) {
			steps = append(steps, host.Run("Remove-NetQosTrafficClass", "-Name", c.Name, "-Confirm:$false"))
		}
	}
	for _, c := range d.Classes {
		if !slices.Contains(have.Classes, c) {
			steps = append(steps, host.Run(c.made()...))
		}
	}
	return steps
}

func (c Class) made() []string {
	args := []string{"New-NetQosTrafficClass", "-Name", c.Name, "-Priority", strconv.Itoa(c.Priority), "-Algorithm"}
	if c.Share == 0 {
		return append(args, "Strict", "-Confirm:$false")
	}
	return append(args, "ETS", "-BandwidthPercentage", strconv.Itoa(c.Share), "-Confirm:$false")
}
