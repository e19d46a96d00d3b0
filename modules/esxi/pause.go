package esxi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// A Pause is global pause of a NIC, which stops all its traffic at once.
type Pause struct {
	PCI    string
	RX, TX bool

	Lossless string `json:"-"` // the fabric of the NIC, whose PFC excludes it; "": none does
}

// PauseKind is the kind pause_parameters.
func PauseKind() *host.Kind[Pause] {
	flag := inventory.Form{Is: `"true" or "false"`, Pattern: `true|false`}
	return &host.Kind[Pause]{
		Name: "pause_parameters", Lasting: true,
		Declares: &inventory.BlockType{
			Name: "pause_parameters", About: "Global pause of a NIC of an ESXi host.", Label: "pci",
			Named: inventory.Form{Is: "the PCI address of a NIC: 0000:41:00.0", Pattern: `[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]`},
			Attributes: []inventory.Attribute{
				{Name: "rx", About: "Whether the NIC stops sending when the switch requests it.", Default: "false", Form: flag},
				{Name: "tx", About: "Whether the NIC requests the switch to stop sending.", Default: "false", Form: flag}},
		},
		Blocks: func(s *inventory.Server) (list []host.Block[Pause]) {
			for _, b := range s.Declared("pause_parameters") {
				want := &Pause{PCI: b.Label, RX: b.Values["rx"] == "true", TX: b.Values["tx"] == "true"}
				for _, r := range s.RNICs {
					if r.PCI == b.Label && losslessOf(r.Fabric) != nil {
						want.Lossless = r.Fabric.Addr
					}
				}
				list = append(list, host.Block[Pause]{Block: &b.Block, Name: b.Label, Want: want})
			}
			return list
		},
		Looks: (*Pause).Looks, Parse: (*Pause).Parse, Diff: (*Pause).Diff, Steps: (*Pause).Steps, Check: (*Pause).check, Advice: (*Pause).Advice,
		NIC: func(p *Pause) string { return p.PCI },
	}
}

// check: a NIC under PFC takes no global pause.
func (p *Pause) check() error {
	if p.Lossless != "" && (p.RX || p.TX) {
		return hint.Wrap(fmt.Errorf("%s has PFC for this NIC, and PFC and global pause exclude each other", p.Lossless), "take rx and tx away, or the NIC out of the fabric")
	}
	return nil
}

func pauseLook() remote.Look { return ask("network", "nic", "pauseParams", "list") }

func (p *Pause) Looks() []remote.Look { return []remote.Look{nicsLook(), rdmaLook(), pauseLook()} }

func (p *Pause) Parse(s remote.Seen) (*Pause, error) {
	var err error
	nics := devices{nics: readNICs(s, &err)}
	rows := table(s, pauseLook(), &err)
	if err != nil {
		return nil, err
	}
	n, err := nics.nic(p.PCI)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.text("NIC") != n.Interface {
			continue
		}
		if !r.flag("PauseParamsSupported") && err == nil {
			return nil, fmt.Errorf("%s takes no pause parameters: esxcli network nic pauseParams list", n.Interface)
		}
		have := &Pause{PCI: p.PCI, RX: r.flag("PauseRX"), TX: r.flag("PauseTX"), Lossless: p.Lossless}
		return have, err
	}
	return nil, errors.Join(err, fmt.Errorf("esxcli network nic pauseParams list does not have %s", n.Interface))
}

func (p *Pause) Diff(have *Pause) []plan.Change {
	return append(plan.Changed("rx", have.RX, p.RX, plan.ImpactLinkFlap), plan.Changed("tx", have.TX, p.TX, plan.ImpactLinkFlap)...)
}

func (p *Pause) Steps(have *Pause) []remote.Step {
	if have.RX == p.RX && have.TX == p.TX {
		return nil
	}
	return []remote.Step{host.Run("esxcli", "network", "nic", "pauseParams", "set", "-n", nicName(p.PCI), "-r", strconv.FormatBool(p.RX), "-t", strconv.FormatBool(p.TX))}
}

// Advice: the reason stands in a log only.
func (p *Pause) Advice(reply string) string {
	if strings.Contains(reply, "Unable to complete Sysinfo operation") {
		return "a NIC on which PFC is enabled takes no global pause; /var/log/vmkernel.log of the host has the reason, esxcli network nic dcb status get the state of PFC"
	}
	return ""
}
