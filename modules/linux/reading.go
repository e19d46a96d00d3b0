package linux

import (
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// settingsScript asks what is set on the NICs at the places given, of all NICs where one is
// a MAC address: factsScript of
// them, then tools, each after a line that says whose answer follows. Nothing changes.
const settingsScript = `case " $* " in *" @"*) set --
for d in /sys/bus/pci/devices/*; do for f in $d/net/* $d/virtio*/net/*; do if [ -e "$f" ]; then set -- "$@" "${d##*/}"; break; fi; done; done;; esac
facts() ( ` + factsScript + ` )
facts nics "$@"
for b; do d=/sys/bus/pci/devices/${b%%@*}; for f in $d/net/* $d/virtio*/net/*; do if [ ! -e "$f" ]; then continue; fi
i=${f##*/}
echo "= $i pfc"; dcb -j pfc show dev "$i" 2>&1
echo "= $i app"; dcb -j app show dev "$i" 2>&1
echo "= $i ets"; dcb -j ets show dev "$i" 2>&1
echo "= $i pause"; ethtool -a "$i" 2>&1
echo "= $i ecn"; grep -sH "" /sys/class/net/$i/ecn/roce_np/enable/* /sys/class/net/$i/ecn/roce_rp/enable/*
done; done
exit 0`

func settingsLook(nics []host.NIC) remote.Look {
	args := []string{"sh", "-c", "PATH=$PATH:/usr/sbin:/sbin\n" + settingsScript, "sh"}
	for _, n := range nics {
		args = append(args, n.PCI)
	}
	return remote.Look{Args: args, Root: true, Own: true}
}

func settingsReader() *host.Reader {
	return &host.Reader{
		Looks: func(nics []host.NIC) []remote.Look { return []remote.Look{settingsLook(nics)} },
		Parse: func(s remote.Seen, nics []host.NIC) (*host.Reading, error) {
			text, err := see.Output(s, settingsLook(nics))
			if err != nil {
				return nil, err
			}
			facts, health, out := parseFacts(text), parseHealth(text), &host.Reading{}
			for _, n := range nics {
				out.NICs = append(out.NICs, settingsOf(facts.nic(n.Name, n.PCI), health))
			}
			return out, nil
		},
	}
}

// settingsOf are the settings of a NIC; where its place leaves open which port it is,
// nothing is known of them.
func settingsOf(f host.NICFacts, h *host.Health) host.NICReading {
	for i := range h.NICs {
		if n := &h.NICs[i]; f.Interface != "" && n.PCI == f.PCI && n.Interface == f.Interface {
			return n.Reading(f.Name)
		}
	}
	return host.NICReading{Name: f.Name, PCI: f.PCI, Absent: f.Absent}
}

// takeECN reads for which priorities a card answers marks: where its driver shows both that
// it notifies (np) and that it slows down (rp), as MLNX_OFED does.
func takeECN(n *host.NICHealth, said string) {
	var np, rp [8]int
	for line := range strings.Lines(said) {
		path, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		side, priority, ok := strings.Cut(path[strings.LastIndex(path, "/roce_")+1:], "/enable/")
		p, err := strconv.Atoi(priority)
		if !ok || err != nil || p < 0 || p >= traffic.Priorities || value != "0" && value != "1" {
			continue
		}
		on := 1
		if value == "1" {
			on = 2
		}
		switch side {
		case "roce_np":
			np[p] = on
		case "roce_rp":
			rp[p] = on
		}
	}
	out := &[8]bool{}
	for p := range np {
		if np[p] == 0 || rp[p] == 0 {
			return // not told of all
		}
		out[p] = np[p] == 2 && rp[p] == 2
	}
	n.ECN = out
}
