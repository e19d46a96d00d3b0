package esxi

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
)

func pathsLook() remote.Look { return ask("storage", "hpp", "path", "list") }

// asked is a transport over a login of whoever asks.
func asked(h remote.Host) transport {
	if t, ok := h.(transport); ok {
		return t
	}
	return transport{h}
}

// witness asks a host for its controllers, its paths and their blocks, for what its NICs
// have agreed with their switches, and has it send the longest packets.
func witness(ctx context.Context, h remote.Host, ways []host.Way) (out []host.Testimony, err error) {
	t := asked(h)
	looks := slices.Concat(deviceLooks(), []remote.Look{controllersLook(), namespacesLook(), pathsLook()})
	lossless := map[*inventory.RNIC]*DCB{}
	for _, w := range ways {
		if list := losslessOf(w.NIC.Fabric); list != nil && lossless[w.NIC] == nil {
			lossless[w.NIC] = &DCB{PCI: w.NIC.PCI, Lossless: list}
			looks = append(looks, dcbLook(w.NIC.PCI))
		}
	}
	seen, err := t.Read(ctx, looks)
	if err != nil {
		return nil, err
	}
	for i, w := range ways {
		if d := lossless[w.NIC]; d != nil {
			delete(lossless, w.NIC)
			out = append(out, testifyDCB(seen, i, d))
		}
		out = append(out, testify(seen, i, w)...)
		says := host.Testimony{Way: i, Metric: "jumbo"}
		says.Holds, says.Note, says.Why = ping(ctx, t, w)
		out = append(out, says)
	}
	return out, ctx.Err()
}

func testifyDCB(seen remote.Seen, way int, d *DCB) host.Testimony {
	says := host.Testimony{Way: way, OfNIC: true, Metric: "dcb", Note: "IEEE mode, PFC for priority " + listed(d.Lossless)}
	have, err := d.Parse(seen)
	if err != nil {
		says.Why = err.Error()
		return says
	}
	says.Holds, says.Why = have.judge()
	return says
}

// testify is what a host says of one way: that its controllers are online, that their
// namespaces have blocks that it takes, and that all its paths are active.
func testify(seen remote.Seen, way int, w host.Way) (out []host.Testimony) {
	add := func(metric string, err error, wrong []string) {
		says := host.Testimony{Way: way, Metric: metric, Holds: host.Holds, Why: strings.Join(wrong, ", ")}
		switch {
		case err != nil:
			says.Holds, says.Why = host.Unknown, err.Error()
		case len(wrong) > 0:
			says.Holds = host.Broken
		}
		out = append(out, says)
	}
	var err error
	var mine []controller
	var wrong []string
	all := readControllers(seen, &err)
	for _, nqn := range w.NQNs {
		i := slices.IndexFunc(all, func(c controller) bool { return c.nqn == nqn && c.address == w.Portal.String() })
		switch {
		case i < 0:
			wrong = append(wrong, "the host has no controller of "+nqn)
		case !all[i].online:
			wrong = append(wrong, "the controller of "+nqn+" is not online: esxcli nvme controller list, /var/log/vmkernel.log")
		}
		if i >= 0 {
			mine = append(mine, all[i])
		}
	}
	add("controllers", err, wrong)
	if err != nil || len(mine) == 0 {
		return out
	}
	odd, devices := readBlocks(seen, mine, &err)
	for _, c := range mine {
		if list := readNamespaces(seen, c); c.online && list != nil && len(list) == 0 {
			odd = append(odd, fmt.Sprintf("the host lists no namespace behind controller %s of %s: the target maps none to its NQN, or no path to one is accessible (ANA): esxcli nvme namespace list", c.number, c.nqn))
		}
	}
	if err == nil && len(devices) == 0 && len(odd) == 0 {
		err = errors.New("the host lists no namespace behind them: esxcli nvme namespace list")
	}
	add("blocks", err, odd)
	if len(devices) == 0 {
		add("paths", errors.New("there is no namespace that paths lead to"), nil)
		return out
	}
	err = nil
	states, found := readPaths(seen, mine, devices, &err)
	if err == nil && !found {
		err = errors.New("the host lists no path to their namespaces: esxcli storage hpp path list")
	}
	add("paths", err, states)
	return out
}

// fits is the only size of blocks, bytes, in which ESXi keeps a datastore.
const fits = 512

// readBlocks are the namespaces behind controllers, and what of their blocks ESXi does
// not take.
func readBlocks(s remote.Seen, of []controller, err *error) (odd, devices []string) {
	for _, r := range table(s, namespacesLook(), err) {
		number := r.text("ControllerNumber")
		if !slices.ContainsFunc(of, func(c controller) bool { return c.number == number }) {
			continue
		}
		name := r.text("Name")
		if devices = append(devices, name); first(r.text("BlockSize")) != strconv.Itoa(fits) {
			odd = append(odd, fmt.Sprintf("the namespace %s has blocks of %s bytes, and ESXi takes %d: make it anew with those", name, first(r.text("BlockSize")), fits))
		}
	}
	return odd, devices
}

// readPaths are the paths over the adapters of controllers to devices that are not active.
func readPaths(s remote.Seen, of []controller, devices []string, err *error) (wrong []string, found bool) {
	for _, r := range table(s, pathsLook(), err) {
		on, _, _ := strings.Cut(r.text("RuntimeName"), ":")
		if !slices.Contains(devices, r.text("Device")) || !slices.ContainsFunc(of, func(c controller) bool { return c.adapter == on }) {
			continue
		}
		found = true
		if state := r.text("PathState"); !strings.HasPrefix(state, "active") {
			wrong = append(wrong, r.text("RuntimeName")+" to "+r.text("Device")+" is "+state)
		}
	}
	return wrong, found
}

var received = regexp.MustCompile(`(\d+) packets transmitted, (\d+) (?:packets )?received`)

// overhead is what an IPv4 packet has before the data of a ping.
const overhead = 28

// ping has the host send the longest packet that need not be taken apart, and where
// that does not arrive a short one.
func ping(ctx context.Context, t transport, w host.Way) (host.Holding, string, string) {
	if w.NIC.VMK == nil || w.NIC.Fabric == nil {
		return host.Unknown, "", "its rnic has no vmk in a fabric"
	}
	mtu := w.NIC.Fabric.HostMTU
	note := fmt.Sprintf("packets of %d bytes that nobody takes apart", mtu)
	arrive := func(size int) (all bool, said string, err error) {
		args := []string{"vmkping", "-I", w.NIC.VMK.ID}
		if stack := w.NIC.VMK.Netstack; stack != "" {
			args = append(args, "-S", stack)
		}
		out, err := t.Run(ctx, remote.Cmd{Args: append(args, "-d", "-s", strconv.Itoa(size), "-c", "3", w.Portal.Addr().String())})
		var exit *remote.ExitError
		if errors.As(err, &exit) {
			out, err = exit.Output, nil
		}
		said = oneLine(append(out.Stdout, out.Stderr...))
		m := received.FindStringSubmatch(said)
		if err == nil && m == nil {
			err = fmt.Errorf("vmkping does not say how many packets came back: %s", said)
		}
		return err == nil && m[1] == m[2], said, err
	}
	whole, said, err := arrive(mtu - overhead)
	if err != nil {
		return host.Unknown, note, err.Error()
	}
	if whole {
		return host.Holds, note, ""
	}
	short, _, err := arrive(56)
	switch {
	case err != nil:
		return host.Unknown, note, err.Error()
	case short:
		return host.Broken, note, fmt.Sprintf("short packets arrive, those of %d bytes do not: %s", mtu, said)
	}
	return host.Broken, note, "nothing arrives, of any length: " + said
}

// readAttached is what a host has of an initiator.
func readAttached(ctx context.Context, h remote.Host, i *inventory.Initiator) (*host.Paths, error) {
	seen, err := asked(h).Read(ctx, []remote.Look{controllersLook(), namespacesLook(), pathsLook(), nqnLook()})
	if err != nil {
		return nil, err
	}
	nqn := hostNQN(seen, &err)
	p := &host.Paths{Live: map[string]int{}}
	var mine []controller
	for _, t := range i.Reaches() {
		for _, sub := range t.Subsystems {
			p.Live[sub.NQN] = 0
		}
	}
	for _, c := range readControllers(seen, &err) {
		if _, ours := p.Live[c.nqn]; !ours || !c.online {
			continue
		}
		mine = append(mine, c)
		if why := idle(seen, c, nqn); why != "" {
			p.Idle = append(p.Idle, host.IdlePath{NQN: c.nqn, Why: why})
			continue
		}
		p.Live[c.nqn]++
	}
	_, p.Devices = readBlocks(seen, mine, &err)
	slices.Sort(p.Devices)
	p.Devices = slices.Compact(p.Devices)
	return p, err
}

// readLive are the controllers of a host that are online and give storage.
func readLive(ctx context.Context, h remote.Host) (list []host.LivePath, err error) {
	seen, err := asked(h).Read(ctx, []remote.Look{controllersLook(), namespacesLook(), pathsLook(), nqnLook()})
	if err != nil {
		return nil, err
	}
	nqn := hostNQN(seen, &err)
	for _, c := range readControllers(seen, &err) {
		if at, bad := netip.ParseAddrPort(c.address); bad == nil && c.online && idle(seen, c, nqn) == "" {
			list = append(list, host.LivePath{HostNQN: nqn, NQN: c.nqn, Address: at})
		}
	}
	return list, err
}
