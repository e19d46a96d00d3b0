package windows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// channelsLook sees the connections of SMB Multichannel: each a NIC here and one there.
func channelsLook() remote.Look {
	return query("ClientIpAddress ServerIpAddress Selected:bool ClientRdmaCapable:bool ServerRdmaCapable:bool Failed:bool", "Get-SmbMultichannelConnection", "-IncludeNotSelected")
}

// overhead is what a packet of IPv4 has before the data of a ping.
const overhead = 28

// pingLook has the host send one packet of a length that nobody takes apart. There is no
// choice of the NIC: the subnet decides.
func pingLook(to string, length int) remote.Look {
	return ask(fmt.Sprintf("ping %s with %d bytes", to, length), powershell.Let("to", to)+powershell.Let("length", length-overhead)+
		`$ping = New-Object -TypeName 'System.Net.NetworkInformation.Ping'
$options = New-Object -TypeName 'System.Net.NetworkInformation.PingOptions' -ArgumentList 64,$true
$buffer = New-Object -TypeName 'byte[]' -ArgumentList $length
$reply = $ping.Send($to, 3000, $buffer, $options)
$value = [string]$reply.Status
`)
}

const shortest = 84 // bytes of a ping that any path takes

// witness asks a host what it knows of the ways to hosts with which it shares files: its
// RDMA, what that has carried meanwhile, whether SMB Multichannel has chosen it, and whether
// full packets arrive; of ways to targets only that, as they are read from over TCP.
func witness(ctx context.Context, h remote.Host, ways []host.Way) (out []host.Testimony, err error) {
	looks := append(adapterLooks(), offloadsLook(), operationalLook(), channelsLook(), countersLook(), smbLook("Client"), smbLook("Server"))
	shares := slices.ContainsFunc(ways, sharing)
	for _, w := range ways {
		looks = append(looks, pingLook(w.Portal.Addr().String(), w.NIC.Fabric.HostMTU), pingLook(w.Portal.Addr().String(), shortest))
	}
	t, is := h.(transport)
	if !is {
		t = transport{Host: h}
	}
	began := time.Now()
	seen, err := t.Read(ctx, looks)
	later := seen
	if err == nil && shares {
		later, err = t.counted(ctx, began)
	}
	if err != nil {
		return nil, err
	}
	told := map[*inventory.RNIC]bool{}
	for i, w := range ways {
		if sharing(w) {
			if !told[w.NIC] {
				told[w.NIC] = true
				out = append(out, testifyRDMA(seen, i, w.NIC))
				out = append(out, testifyTraffic(trafficOf(seen, seen, w.NIC), trafficOf(seen, later, w.NIC), i))
			}
			out = append(out, testifySMB(seen, i, w))
		}
		out = append(out, testifyPing(seen, i, w))
	}
	return out, nil
}

// sharing reports whether a way leads to a host with which files are shared.
func sharing(w host.Way) bool { return len(w.NQNs) == 0 }

func testifyRDMA(s remote.Seen, way int, nic *inventory.RNIC) host.Testimony {
	says := host.Testimony{Way: way, OfNIC: true, Metric: "rdma", Note: "RDMA is on, PFC as the fabric has it"}
	all, err := readAdapters(s)
	i := slices.IndexFunc(all, func(a adapter) bool { return a.PCI == nic.PCI })
	var offErr error // RDMA is off for the whole host
	if i >= 0 {
		_, offErr = all[i].networkDirect(s, true)
	}
	switch {
	case err != nil:
		says.Why = err.Error()
	case i < 0 || !all[i].on:
		says.Holds, says.Why = host.Broken, "its RDMA is off: Get-NetAdapterRdma"
	case offErr != nil:
		says.Holds, says.Why = host.Broken, offErr.Error()
	default:
		says.Holds, says.Why = paused(s, all[i].Interface, nic.Fabric)
	}
	return says
}

// paused compares the priorities that a NIC pauses with those of its fabric.
func paused(s remote.Seen, name string, f *inventory.Fabric) (host.Holding, string) {
	list, err := rows[operational](s, operationalLook())
	if err != nil {
		return host.Unknown, err.Error()
	}
	i := slices.IndexFunc(list, func(o operational) bool { return o.Name == name })
	if i < 0 || !list[i].Enabled {
		return host.Broken, "data-centre bridging is off there: Get-NetAdapterQos"
	}
	var have AdapterQoS
	have.readPauses(told(list[i].OperationalFlowControl))
	var want []int
	for _, c := range f.Classes {
		if c.PFC {
			want = append(want, c.Priority)
		}
	}
	slices.Sort(want)
	switch {
	case len(have.silent) > 0:
		return host.Unknown, "Get-NetAdapterQos does not tell which priorities it pauses"
	case !slices.Equal(have.Lossless, want):
		return host.Broken, fmt.Sprintf("PFC is in force for priorities %s, and the fabric has %s", cmp.Or(traffic.Ranges(have.Lossless), "none"), cmp.Or(traffic.Ranges(want), "none"))
	}
	return host.Holds, ""
}

// testifySMB: without a session nothing was chosen, and nothing is measured.
func testifySMB(s remote.Seen, way int, w host.Way) host.Testimony {
	says := host.Testimony{Way: way, Metric: "smb_direct", Note: "SMB Multichannel has chosen RDMA"}
	type channel struct {
		ClientIpAddress, ServerIpAddress                       string
		Selected, ClientRdmaCapable, ServerRdmaCapable, Failed bool
	}
	list, err := rows[channel](s, channelsLook())
	if err != nil {
		says.Why = err.Error()
		return says
	}
	here, there := w.NIC.Address.Addr().String(), w.Portal.Addr().String()
	list = slices.DeleteFunc(list, func(c channel) bool { return c.ClientIpAddress != here || c.ServerIpAddress != there })
	var wrong []string
	for _, c := range list {
		for what, is := range map[string]bool{"it failed": c.Failed, "it was not chosen": !c.Selected, "this end has no RDMA": !c.ClientRdmaCapable, "the other end has no RDMA": !c.ServerRdmaCapable} {
			if is && !slices.Contains(wrong, what) {
				wrong = append(wrong, what)
			}
		}
	}
	slices.Sort(wrong)
	multichannel, err := (&SMB{}).Parse(s)
	switch {
	case err == nil && !multichannel.Client:
		says.Holds, says.Why = host.Broken, "SMB Multichannel is off: Get-SmbClientConfiguration"
	case err == nil && !multichannel.Server:
		says.Holds, says.Why = host.Broken, "SMB Multichannel is off: Get-SmbServerConfiguration"
	case len(list) == 0:
		says.Holds, says.Why = host.Unmeasured, "no session of SMB goes from "+here+" to "+there+": Get-SmbMultichannelConnection shows one while a share of the other host is in use"
	case len(wrong) > 0:
		says.Holds, says.Why = host.Broken, strings.Join(wrong, ", ")
	default:
		says.Holds = host.Holds
	}
	return says
}

func testifyPing(s remote.Seen, way int, w host.Way) host.Testimony {
	mtu, to := w.NIC.Fabric.HostMTU, w.Portal.Addr().String()
	says := host.Testimony{Way: way, Metric: "jumbo", Note: fmt.Sprintf("packets of %d bytes that nobody takes apart", mtu)}
	whole, short := s.Of(pingLook(to, mtu)), s.Of(pingLook(to, shortest))
	switch {
	case whole.Err != nil:
		says.Why = whole.Err.Error()
	case whole.Text() == "Success":
		says.Holds = host.Holds
	case short.Err == nil && short.Text() == "Success":
		says.Holds, says.Why = host.Broken, fmt.Sprintf("short packets arrive, those of %d bytes do not: %s", mtu, whole.Text())
	default:
		says.Holds, says.Why = host.Broken, "nothing arrives, of any length: "+whole.Text()
	}
	return says
}
