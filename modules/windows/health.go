package windows

import (
	"slices"
	"strconv"

	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// driversLook sees the settings of all drivers.
func driversLook() remote.Look {
	return query("Name RegistryKeyword RegistryValue:list", "Get-NetAdapterAdvancedProperty", "-Name", "*")
}

// examineLooks are the looks at how a host is: at its adapters and what they do for classes,
// who decides on that, and what their drivers are set to. The rest of what weft doctor
// judges has no source on Windows.
func examineLooks() []remote.Look {
	return slices.Concat(surveyLooks(), []remote.Look{operationalLook(), willingLook(), driversLook(), versionsLook(), offloadsLook(), activePoliciesLook()})
}

// examined: what a host does not tell is not known, and no error. It stays one of which
// what it is was read, and little of how it is.
func examined(s remote.Seen) (*host.Health, error) {
	f, err := surveyed(s)
	if err != nil {
		return nil, err
	}
	h := &host.Health{Facts: *f, Name: f.Name, Bare: true, Marks: marksOf(s)}
	for _, n := range f.NICs {
		x := host.NICHealth{NICFacts: n, Silent: map[string]string{}}
		classesOf(s, &x)
		pauseOf(s, &x)
		directOf(s, &x)
		if bits, err := rows[struct{ Willing bool }](s, willingLook()); err != nil || len(bits) != 1 {
			x.Silent["dcbx"] = "Get-NetQosDcbxSetting does not tell whether it is willing"
		} else {
			x.DCBX = &host.DCBX{Host: !bits[0].Willing}
		}
		h.NICs = append(h.NICs, x)
	}
	return h, nil
}

// classesOf reads what is in force: not what was configured, which Windows may not have
// sent to the NIC.
func classesOf(s remote.Seen, x *host.NICHealth) {
	list, err := rows[operational](s, operationalLook())
	i := slices.IndexFunc(list, func(o operational) bool { return o.Name == x.Interface })
	switch {
	case err != nil:
		x.Silent["pfc"] = err.Error()
	case i < 0:
		x.Silent["pfc"] = "Get-NetAdapterQos does not show it: it can do no data-centre bridging"
	case !list[i].Enabled:
		x.PFC = []int{}
		x.Silent["ets"] = "data-centre bridging is off there: Get-NetAdapterQos"
		return
	default:
		var have AdapterQoS
		if have.readPauses(told(list[i].OperationalFlowControl)); len(have.silent) > 0 {
			x.Silent["pfc"] = "Get-NetAdapterQos does not tell which priorities it pauses"
		} else {
			x.PFC = append([]int{}, have.Lossless...)
		}
		if x.ETS, x.Classes = sharesOf(told(list[i].OperationalTrafficClasses)); x.ETS != nil {
			return
		}
	}
	x.Silent["ets"] = "Get-NetAdapterQos shows no class that weft can read"
}

// sharesOf are the shares of traffic classes, and the class of each priority; nil where not
// every priority has one.
func sharesOf(text string) (*host.Shares, *[traffic.Priorities]int) {
	shares, of, seen := new(host.Shares), new([traffic.Priorities]int), 0
	for class, m := range classLine.FindAllStringSubmatch(text, -1) {
		if class >= len(shares) {
			return nil, nil
		}
		if shares[class] = -1; m[1] != "" {
			shares[class], _ = strconv.Atoi(m[1])
		}
		for _, p := range traffic.ParseRanges(m[2], priority) {
			of[p] = class
			seen |= 1 << p
		}
	}
	if seen != 1<<traffic.Priorities-1 {
		return nil, nil
	}
	return shares, of
}

// pauseOf reads whether the whole link is paused. What both ends agree on is not told.
func pauseOf(s remote.Seen, x *host.NICHealth) {
	type set struct {
		Name, RegistryKeyword string
		RegistryValue         powershell.List
	}
	list, err := rows[set](s, driversLook())
	if err != nil {
		x.Silent["pause"] = err.Error()
		return
	}
	for _, d := range list {
		if d.Name != x.Interface || d.RegistryKeyword != kwPause {
			continue
		}
		if words := texts(d.RegistryValue); len(words) == 1 {
			switch words[0] { // as in settings
			case "0", "1", "2", "3":
				x.Pause = &host.GlobalPause{TX: words[0] == "1" || words[0] == "3", RX: words[0] == "2" || words[0] == "3"}
				return
			}
		}
		x.Silent["pause"] = "its driver leaves it to both ends, and does not tell what they agreed on"
		return
	}
	x.Silent["pause"] = "its driver has no setting " + kwPause
}
