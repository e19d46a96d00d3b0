package nvme

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/plan"
)

// NVMeConnection keeps one connection of the kernel to a subsystem, over one
// path. The kernel itself is told and asked; nvme-cli shows what comes of it,
// and neither it nor its files are needed.
type NVMeConnection struct {
	NQN       string
	Transport string // rdma or tcp
	Instead   string `json:",omitempty"` // tcp: what it is connected over where RDMA does not connect
	Address   netip.AddrPort
	From      netip.Addr // of the NIC that the path begins at; not valid: any
	HostNQN   string
	HostID    string

	KeepAlive      int // seconds
	ReconnectDelay int // seconds
	CtrlLoss       int // seconds; -1: never
	FastFail       int `json:",omitempty"` // seconds until I/O fails that no path carries; 0: only with the last path
	Queues         int // of I/O; 0: the kernel chooses
	ToS            int // of its packets; -1: as it is
	IOPolicy       string
	Key            []byte `json:",omitempty"` // of DH-HMAC-CHAP, that the host proves; empty: whatever it has
	CtrlKey        []byte `json:",omitempty"` // that the target has to prove

	Keys KeyPair `json:"-"`

	Class      string `json:"-"` // that ToS is of, as people know it; "": none
	Unassigned bool   `json:"-"` // no class of the fabric says that it carries TCP: a connection keeps the mark that it has

	Device string `json:"-"` // observed: nvme0
	state  string
	users  []string // of its disks
	paths  int      // that are live and lead to them
	idle   string   // why it gives no storage although it is live; "": it does

	changing bool // its target says that access is about to change

	AnyID           bool          `json:"-"` // HostID follows from HostNQN: a connection with another one stays
	DisconnectFirst bool          `json:"-"` // connections by another identity of the host end first, where they have to
	conflicts       []*controller // observed: those

	Written   Written          `json:",omitzero"`
	rules     map[string]ruled // observed: what sets attributes that the files write
	yields    map[string]bool  // attributes that are left to rules of the server
	contested string

	made     *int // the ToS that a ledger says it was made with; nil: not known
	unsure   bool // observed: it may have been made again since, with another ToS
	declared *int // the ToS of its class, where ToS is the one that it keeps

	was  string      // the other transport that a ledger says it had
	next *controller // observed beside one with that: what a move that was cut off has made
}

// NVMeConnectionKind is the kind nvme_connection.
func NVMeConnectionKind() *host.Kind[NVMeConnection] {
	return &host.Kind[NVMeConnection]{
		Name: "nvme_connection", Present: "connected",
		Looks: (*NVMeConnection).Looks, Parse: (*NVMeConnection).Parse, Diff: (*NVMeConnection).Diff, Steps: (*NVMeConnection).Steps,
		Verify: (*NVMeConnection).Verify, Check: (*NVMeConnection).unwritable, Reveal: (*NVMeConnection).reveal,
		About: (*NVMeConnection).About, Boot: (*NVMeConnection).Boot, Left: (*NVMeConnection).Left, Fails: (*NVMeConnection).fails, Advice: (*NVMeConnection).Advice,
		Self: (*NVMeConnection).Self, All: (*NVMeConnection).All, Secrets: (*NVMeConnection).hides,
		Together: holdConnections,
		Provides: (*NVMeConnection).provides, Follows: (*NVMeConnection).follows,
		Special: host.Special[NVMeConnection]{Degraded: (*NVMeConnection).degraded, Refuse: (*NVMeConnection).beside, Inherit: (*NVMeConnection).inherit, Amid: (*NVMeConnection).amid, Tries: (*NVMeConnection).tries},
	}
}

func (n *NVMeConnection) unwritable() error { return put.CheckNQNs(n.NQN, n.HostNQN) }

func (n *NVMeConnection) Looks() []remote.Look { return []remote.Look{nvmeLook()} }

func (n *NVMeConnection) Parse(s remote.Seen) (*NVMeConnection, error) {
	all, err := parseNVMe(s)
	if err != nil {
		return nil, err
	}
	mine, next, live := n.find(all)
	if mine == nil {
		n.conflicts = n.rivals(all)
		return nil, nil
	}
	have := &NVMeConnection{
		NQN: n.NQN, Transport: mine.values["transport"], Instead: n.Instead, Address: n.Address, From: n.From, HostNQN: n.HostNQN, HostID: mine.values["hostid"],
		Key: mine.key("dhchap_secret"), CtrlKey: mine.key("dhchap_ctrl_secret"),
		KeepAlive: mine.keep, ReconnectDelay: mine.reconnect, CtrlLoss: mine.loss, FastFail: max(mine.fast, 0), Queues: n.Queues, ToS: n.ToS, IOPolicy: mine.policy,
		Device: mine.name, next: next, state: mine.values["state"], users: mine.users, idle: mine.idle(all), changing: slices.Contains(slices.Collect(maps.Values(mine.paths)), "change"),
	}
	// The target, or the number of processors, may allow fewer.
	if n.Queues > 0 && mine.queues > n.Queues {
		have.Queues = mine.queues
	}
	have.paths = live
	n.marked(have)
	n.give(have, mine)
	if _, shown := mine.values["fast_io_fail_tmo"]; !shown {
		have.FastFail = n.FastFail // a kernel before 5.11
	}
	if _, shown := mine.values["dhchap_secret"]; len(n.Key) > 0 && !shown {
		return nil, errNoAuth
	}
	if n.again(have) && !have.unsure && !n.moves(have) && live <= 1 && len(have.users) > 0 {
		return nil, hint.Wrap(fmt.Errorf("it has to connect again, and its disk is in use: %s", strings.Join(have.users, "; ")),
			"no other path is live: stop what uses the disk, or leave keep_alive_tmo (%d s), the number of queues, the traffic class and whether there are keys as they are", have.KeepAlive)
	}
	return have, nil
}

// find is the connection among all, nil if it is not there; the next one, where it goes
// over to another transport and has both; and how many are live that lead to the same
// subsystem and give storage.
func (n *NVMeConnection) find(all []*controller) (mine, next *controller, live int) {
	for _, c := range all {
		// A controller that has not connected again yet does not show what it leads to.
		if nqn := c.values["subsysnqn"]; nqn != n.NQN && (nqn != efault || c.address != n.Address) {
			continue
		}
		if c.values["state"] == "live" && c.idle(all) == "" {
			live++ // by whatever name: the kernel joins the paths to a subsystem
		}
		if c.values["hostnqn"] != n.HostNQN || !n.AnyID && c.values["hostid"] != "" && n.HostID != "" && !strings.EqualFold(c.values["hostid"], n.HostID) {
			continue
		}
		// A connection that begins anywhere keeps the kernel from making ours.
		if c.address != n.Address || c.from.IsValid() && n.From.IsValid() && c.from != n.From {
			continue
		}
		switch by := c.values["transport"]; {
		case by == n.was:
			next, mine = mine, c
		case by == n.Transport && n.was != "" && mine != nil:
			next = c
		case by == n.Transport:
			mine = c
		case by == n.Instead && (mine == nil || mine.values["transport"] != n.Transport):
			mine = c
		}
	}
	return mine, next, live
}

// again reports whether only a new connection brings the wanted state about.
func (n *NVMeConnection) again(have *NVMeConnection) bool {
	keep := have.KeepAlive != n.KeepAlive && have.KeepAlive > 0 // kernels before 5.17 do not show it
	return keep || have.Queues > n.Queues || n.firstKey(have) || n.marksAnew(have)
}

// firstKey reports whether a key is wanted where the kernel takes none: one that
// a connection was made with can be changed, no other.
func (n *NVMeConnection) firstKey(have *NVMeConnection) bool {
	return len(n.Key) > 0 && len(have.Key) == 0 || len(n.CtrlKey) > 0 && len(have.CtrlKey) == 0
}

// secrets are the options with the keys, which are told apart from the others.
func (n *NVMeConnection) secrets() []byte {
	var o []byte
	if len(n.Key) > 0 {
		o = fmt.Appendf(o, ",dhchap_secret=%s", n.Key)
	}
	if len(n.CtrlKey) > 0 {
		o = fmt.Appendf(o, ",dhchap_ctrl_secret=%s", n.CtrlKey)
	}
	return o
}

func (n *NVMeConnection) reveal() error { return n.Keys.reveal(&n.Key, &n.CtrlKey) }

var errNoAuth = hint.Wrap(errors.New("the kernel of this server does not authenticate itself to targets"), "it wants a kernel from 6.0 on with CONFIG_NVME_HOST_AUTH, or CONFIG_NVME_AUTH before 6.7")

// loss is how long a path that is lost is kept: the kernel counts attempts.
func (n *NVMeConnection) loss() int {
	if n.CtrlLoss < 0 || n.ReconnectDelay == 0 {
		return n.CtrlLoss
	}
	return (n.CtrlLoss + n.ReconnectDelay - 1) / n.ReconnectDelay * n.ReconnectDelay
}

// off is a time as the kernel shows it.
func off(seconds int) string {
	if seconds == 0 {
		return "off"
	}
	return fmt.Sprint(seconds)
}

// Left: a path that is down comes back by itself or not, and
// one over TCP goes on where RDMA was wanted.
func (n *NVMeConnection) Left() string {
	if text := n.useless(); text != "" {
		return text
	}
	if n.Transport != n.Instead {
		return cmp.Or(n.keptMark(), n.contested)
	}
	mark := ""
	if n.ToS >= 0 {
		mark = fmt.Sprintf("; it is marked as RDMA would be, with ToS %s", tosText(n.ToS))
	}
	return "DEGRADED: connected over TCP, RDMA did not connect" + mark + "; disconnect it by hand, and the next apply tries RDMA first"
}

// degraded reports whether a connection that works uses TCP instead of RDMA.
func (n *NVMeConnection) degraded() bool { return n.useless() == "" && n.Transport == n.Instead }

// useless says why a connection gives no storage; "": it does.
func (n *NVMeConnection) useless() string { return cmp.Or(n.down(), n.idle) }

func (n *NVMeConnection) fails() bool { return n.useless() != "" }

// down says how a path is down; "": it is live.
func (n *NVMeConnection) down() string {
	if n.state == "live" {
		return ""
	}
	return fmt.Sprintf("%s is in state %s: the kernel tries %s again every %d s; see dmesg", n.Device, n.state, n.Address, n.ReconnectDelay)
}

func (n *NVMeConnection) Diff(have *NVMeConnection) []plan.Change {
	out := n.moved(have)
	if n.again(have) {
		out = append(out, plan.Changed("keep_alive_tmo", have.KeepAlive, n.KeepAlive, plan.ImpactTraffic)...)
		out = append(out, plan.Changed("io_queues", have.Queues, n.Queues, plan.ImpactTraffic)...)
	}
	out = append(out, n.remarked(have)...)
	impact := plan.ImpactNone
	if n.firstKey(have) {
		impact = plan.ImpactTraffic
	}
	if len(n.Key) > 0 {
		out = append(out, changeKey("dhchap_key", have.Key, n.Key, impact)...)
	}
	if len(n.CtrlKey) > 0 {
		out = append(out, changeKey("dhchap_ctrl_key", have.CtrlKey, n.CtrlKey, impact)...)
	}
	out = append(out, plan.Changed("reconnect_delay", have.ReconnectDelay, n.ReconnectDelay, plan.ImpactNone)...)
	if !n.sameLoss(have) {
		out = append(out, plan.Changed("ctrl_loss_tmo", have.loss(), n.loss(), plan.ImpactNone)...)
	}
	out = append(out, plan.Changed("fast_io_fail_tmo", off(have.FastFail), off(n.FastFail), plan.ImpactNone)...)
	if have.IOPolicy != "" && n.IOPolicy != "" { // a kernel without multipath has none
		out = append(out, plan.Changed("iopolicy", have.IOPolicy, n.IOPolicy, plan.ImpactNone)...)
	}
	for i := range out {
		if r, ok := have.rules[out[i].Path]; ok {
			out[i].Before += fmt.Sprintf(" (%s sets %s)", r.place, r.value)
		}
	}
	return out
}

func (n *NVMeConnection) Steps(have *NVMeConnection) []remote.Step {
	switch {
	case n == nil:
		return append(have.leave(), have.disconnect())
	case have == nil:
		return n.connect()
	case n.moves(have):
		return n.move(have)
	case n.again(have):
		return append(append(have.leave(), have.disconnect()), n.connect()...)
	}
	steps := have.leave()
	dir := "/sys/class/nvme/" + cmp.Or(have.Device, n.Device)
	if len(n.CtrlKey) > 0 && !bytes.Equal(n.CtrlKey, have.CtrlKey) {
		steps = append(steps, tell(dir+"/dhchap_ctrl_secret", n.CtrlKey))
	}
	if len(n.Key) > 0 && !bytes.Equal(n.Key, have.Key) {
		steps = append(steps, tell(dir+"/dhchap_secret", n.Key))
	}
	for _, timer := range n.timers(have) {
		steps = append(steps, write(dir, timer))
	}
	if n.IOPolicy != have.IOPolicy && n.IOPolicy != "" && have.IOPolicy != "" {
		steps = append(steps, n.spread())
	}
	return steps
}

// timers are those that change where the connection is.
func (n *NVMeConnection) timers(have *NVMeConnection) (list []attr) {
	if n.ReconnectDelay != have.ReconnectDelay {
		list = append(list, attr{"reconnect_delay", fmt.Sprint(n.ReconnectDelay)})
	}
	if !n.sameLoss(have) {
		list = append(list, attr{"ctrl_loss_tmo", fmt.Sprint(n.CtrlLoss)})
	}
	if n.FastFail != have.FastFail {
		list = append(list, attr{"fast_io_fail_tmo", fmt.Sprint(cmp.Or(n.FastFail, -1))})
	}
	return list
}

func (n *NVMeConnection) Boot() []string {
	var files []string
	if n.Keys.HostFile != "" {
		files = []string{n.Keys.HostFile, n.Keys.TargetFile}
	}
	lines := []string{"do_ modprobe nvme-" + n.Transport, "connect_ " + remote.Quote(append([]string{n.options(n.Transport)}, files...)...)}
	if n.eitherWay() {
		at := fmt.Sprintf("traddr=%s,trsvcid=%d", n.Address.Addr(), n.Address.Port())
		lines = []string{"either_ " + remote.Quote(append([]string{n.NQN, at, n.options(n.Transport), n.options(n.Instead)}, files...)...)}
	}
	if n.IOPolicy != "" {
		lines = append(lines, "policy_ "+remote.Quote(n.policy()...))
	}
	return lines
}

func (n *NVMeConnection) About() string {
	about := []string{n.NQN, n.Address.String(), n.HostNQN}
	if !n.AnyID && n.HostID != "" && !strings.EqualFold(n.HostID, HostID(n.HostNQN)) {
		about = append(about, strings.ToLower(n.HostID))
	}
	return strings.Join(about, ",")
}

func (n *NVMeConnection) Self(s remote.Seen) (out []host.Object) {
	list, err := parseNVMe(s)
	if err != nil {
		return nil
	}
	mine, next, _ := n.find(list)
	for _, c := range []*controller{mine, next} {
		if c != nil {
			out = append(out, c.object())
		}
	}
	return out
}

// All: connections over a fabric to storage, not drives nor discovery services.
func (n *NVMeConnection) All(s remote.Seen) (out []host.Object) {
	list, err := parseNVMe(s)
	if err != nil {
		return nil
	}
	for _, c := range list {
		if c.values["transport"] != "pcie" && !c.discovers() {
			out = append(out, c.object())
		}
	}
	return out
}

// provides: a path from one of the server's addresses to the subsystem, or from any. One that
// cannot be made before others have ended comes after them.
func (n *NVMeConnection) provides() []string {
	if len(n.conflicts) > 0 {
		return nil
	}
	return []string{n.NQN + " " + n.From.String(), n.NQN}
}

func (n *NVMeConnection) hides() []*[]byte { return []*[]byte{&n.Key, &n.CtrlKey} }
