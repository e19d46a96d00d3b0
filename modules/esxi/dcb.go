package esxi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// A DCB is what a NIC and its switch have agreed on for lossless traffic. No command of
// ESXi sets it: it comes by DCBX, or from parameters of the driver. It is looked at only.
type DCB struct {
	PCI      string
	Lossless []int // priorities under PFC

	nic, driver string   // observed
	mode        string   // IEEE Mode, CEE Mode; "": not told
	pfc         string   // whether PFC is enabled: true, false; "": not told
	paused      []int    // priorities; nil: not told
	silent      []string // labels that the host does not print
	mute        string   // why it prints nothing; "": it does
}

// DCBKind is the kind dcb.
func DCBKind() *host.Kind[DCB] {
	return &host.Kind[DCB]{
		Name: "dcb", Lasting: true,
		Looks: (*DCB).Looks, Parse: (*DCB).Parse, Diff: (*DCB).Diff, Steps: (*DCB).Steps, Left: (*DCB).Left, NIC: func(d *DCB) string { return d.PCI },
	}
}

// losslessOf are the priorities of a fabric that are under PFC.
func losslessOf(f *inventory.Fabric) (list []int) {
	if f == nil || !f.Lossless() {
		return nil
	}
	for _, c := range f.Classes {
		if c.PFC {
			list = append(list, c.Priority)
		}
	}
	slices.Sort(list)
	return list
}

func dcbLook(pci string) remote.Look {
	return ask("network", "nic", "dcb", "status", "get", "-n", nicName(pci))
}

func (d *DCB) Looks() []remote.Look { return []remote.Look{nicsLook(), rdmaLook(), dcbLook(d.PCI)} }

// Parse: what is not told is unknown, and no error: nothing else rests on it.
func (d *DCB) Parse(s remote.Seen) (*DCB, error) {
	var err error
	nics := devices{nics: readNICs(s, &err)}
	if err != nil {
		return nil, err
	}
	n, err := nics.nic(d.PCI)
	if err != nil {
		return nil, err
	}
	have := &DCB{PCI: d.PCI, Lossless: d.Lossless, nic: n.Interface, driver: n.Driver}
	r := one(s, dcbLook(d.PCI), &err)
	if err != nil {
		have.mute = strings.ReplaceAll(err.Error(), remote.Quote(nicName(d.PCI)), n.Interface)
		return have, nil
	}
	have.mode, have.pfc = r.maybe("Mode"), strings.ToLower(r.maybe("PFCEnabled"))
	have.paused = priorities(r.words("PFCConfiguration"))
	for label, told := range map[string]bool{"Mode": have.mode != "", "PFC Enabled": have.pfc == "true" || have.pfc == "false", "PFC Configuration": have.paused != nil} {
		if !told {
			have.silent = append(have.silent, label)
		}
	}
	slices.Sort(have.silent)
	return have, nil
}

// priorities are those that are 1 among eight flags; nil: that is not what they are.
func priorities(flags []string) []int {
	if len(flags) != 8 {
		return nil
	}
	on := []int{}
	for p, f := range flags {
		switch f {
		case "1":
			on = append(on, p)
		case "0":
		default:
			return nil
		}
	}
	return on
}

func (d *DCB) Diff(*DCB) []plan.Change  { return nil }
func (d *DCB) Steps(*DCB) []remote.Step { return nil }
func (d *DCB) called() string           { return d.nic + " (" + d.driver + ")" }
func listed(priorities []int) string    { return strings.Trim(fmt.Sprint(priorities), "[]") }
func bitmap(priorities []int) (text string) {
	bits := 0
	for _, p := range priorities {
		bits |= 1 << p
	}
	return fmt.Sprintf("0x%02x", bits)
}

// judge says whether a NIC is as the fabric wants it. A label that is not found is
// unknown, whatever the others say.
func (d *DCB) judge() (host.Holding, string) {
	var wrong []string
	if d.mode != "" && !strings.HasPrefix(strings.ToUpper(d.mode), "IEEE") {
		wrong = append(wrong, "DCB is in "+d.mode+" and not in IEEE Mode")
	}
	if d.pfc == "false" {
		wrong = append(wrong, "PFC is off")
	}
	if d.paused != nil && d.pfc != "false" && !slices.Equal(d.paused, d.Lossless) {
		wrong = append(wrong, fmt.Sprintf("PFC is on for the priorities %s, and the fabric wants %s", strconv.Quote(listed(d.paused)), strconv.Quote(listed(d.Lossless))))
	}
	switch {
	case len(wrong) > 0:
		return host.Broken, d.called() + ": " + strings.Join(wrong, ", ")
	case d.mute != "":
		return host.Unknown, d.called() + ": whether it is lossless is not known: " + d.mute
	case len(d.silent) > 0:
		return host.Unknown, d.called() + ": whether it is lossless is not known: esxcli network nic dcb status get does not tell " + strings.Join(d.silent, ", ")
	}
	return host.Holds, ""
}

// Left says what is wrong, and what would mend it.
func (d *DCB) Left() string {
	is, why := d.judge()
	switch is {
	case host.Holds:
		return ""
	case host.Broken:
		return why + "; " + d.remedy()
	}
	return why
}

// remedy: of one driver it is known which parameters do what DCBX did not.
func (d *DCB) remedy() string {
	switch d.driver {
	case "nmlx5_core":
		return fmt.Sprintf(`the switch is to give it by DCBX in IEEE mode, or write module_parameters "nmlx5_core" { set = "pfctx=%[1]s pfcrx=%[1]s" }, for all ports of the driver and in force from the next start`, bitmap(d.Lossless))
	case "nenic":
		return "a VIC has it from the policy of its UCS domain"
	}
	return "the switch is to give it by DCBX in IEEE mode; which parameters of its driver would do so has no source: esxcli system module parameters list -m " + d.driver
}
