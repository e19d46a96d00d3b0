package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/internal/wait"
	"weft/plan"
)

// VSANKind is the kind of the resource that a VSAN is.
const VSANKind = "vsan_rdma"

// A VSAN is whether the hosts of a cluster use RDMA for vSAN.
type VSAN struct {
	Cluster string // path
	RDMA    bool
}

func (w *VSAN) key() (string, string) { return VSANKind, w.Cluster }

// vsanText is what a mark says: what weft has set, and what was there before.
func vsanText(is, was bool) string { return fmt.Sprintf("vsan_rdma=%t was=%t", is, was) }

// set and was are what the mark of a cluster says; ok: it says something.
func (k *cluster) marked() (set, was, ok bool) {
	_, err := fmt.Sscanf(k.note.text, "vsan_rdma=%t was=%t", &set, &was)
	return set, was, err == nil
}

// drifted reports whether somebody has changed what weft has set.
func (k *cluster) drifted() bool {
	set, _, ok := k.marked()
	return ok && set != k.rdma
}

func (w *VSAN) change(s state) (c change) {
	k := s.clusters[w.Cluster]
	switch {
	case k == nil:
		c.err = hint.Wrap(fmt.Errorf("vCenter has no cluster %s", w.Cluster), "weft makes none: its label is DATACENTER/host/NAME")
	case k.note.owner != "" && k.note.owner != s.owner:
		c.err = fmt.Errorf("the vSAN of %s belongs to the owner %s, says its custom attribute %q", w.Cluster, k.note.owner, mark)
	case !k.on:
		c.err = hint.Wrap(fmt.Errorf("%s has no vSAN: it is switched off there", w.Cluster), "weft sets up no vSAN, and switches none on")
	case k.rdma == w.RDMA:
		c.left = k.fallen(w.RDMA)
	case w.RDMA && k.unfit(s) != nil:
		c.err = k.unfit(s)
	default:
		was := k.rdma
		if _, before, ok := k.marked(); ok {
			was = before // of before weft came
		}
		c.list = plan.Changed("rdma", k.rdma, w.RDMA, plan.ImpactTraffic)
		if w.RDMA {
			for _, why := range k.lacks() {
				c.list = append(c.list, plan.Change{Path: "waits for", After: why})
			}
		}
		c.ops = []op{setVSAN(w.Cluster, w.RDMA, note{s.owner, vsanText(w.RDMA, was)})}
		c.undo = []op{setVSAN(w.Cluster, k.rdma, k.note)}
	}
	return c
}

// forgetVSAN brings back what was there before weft came.
func (s state) forgetVSAN(at string) (c change) {
	k := s.clusters[at]
	if k == nil || k.note.owner != s.owner {
		return c
	}
	_, was, ok := k.marked()
	switch {
	case !ok:
		c.left = fmt.Sprintf("its mark does not say what was there before: %q", k.note)
	case was && !k.rdma && k.unfit(s) != nil:
		c.left = k.unfit(s).Error()
	default:
		c.ops, c.undo = []op{setVSAN(at, was, note{})}, []op{setVSAN(at, k.rdma, k.note)}
	}
	return c
}

// fallen says which hosts do not use RDMA although the cluster is to; "": none is known to.
func (k *cluster) fallen(wanted bool) string {
	if !wanted {
		return ""
	}
	if k.silent != nil {
		return "whether its hosts use RDMA is not known: " + said(k.silent)
	}
	var without []string
	for _, h := range k.hosts {
		switch {
		case h.protocol == "":
			without = append(without, h.name+" does not say what it speaks")
		case !strings.HasPrefix(h.protocol, "RoCE"):
			without = append(without, h.name+" speaks "+h.protocol)
		}
	}
	if without == nil {
		return ""
	}
	return "it is switched on, and " + strings.Join(without, ", ") + ": one host without RDMA takes the whole cluster to TCP"
}

// What vSAN over RDMA wants: the release it came with, the most hosts of a cluster, and the
// priority that must be lossless.
const (
	vsanMostHosts = 32
	vsanPriority  = 3
)

var vsanRelease = []int{7, 0, 2}

// unfit says all that keeps a cluster from RDMA, whatever becomes of its NICs.
func (k *cluster) unfit(s state) error {
	var list []string
	lack := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	switch n := len(k.hosts); {
	case k.witnesses > 0 || n == 2:
		lack("it is stretched, or of two nodes")
	case n > vsanMostHosts:
		lack("it has %d hosts, and may have %d", n, vsanMostHosts)
	}
	if k.silent != nil {
		lack("the health service of vSAN does not tell of its hosts: %s", said(k.silent))
		return k.refuse(list)
	}
	subnets, models := map[string]bool{}, map[string]string{}
	for _, h := range k.hosts {
		if older(h.release, vsanRelease) {
			lack("%s has ESXi %s, and vSAN over RDMA came with 7.0 Update 2", h.name, h.release)
		}
		for _, n := range h.subnets {
			subnets[n] = true
		}
		for _, n := range h.nics {
			models[fmt.Sprintf("%04x:%04x", n.Vendor, n.Device)] = h.name
			if r := n.RDMAInfo; r != nil && (!r.Capable || r.Protocol != "RoCEv2") {
				lack("%s of %s has no RoCE v2", n.Name, h.name)
			}
			for _, why := range s.teams(h.host, n.Name) {
				lack("%s of %s: %s", n.Name, h.name, why)
			}
		}
	}
	if len(subnets) > 1 {
		lack("its hosts are in several subnets: %s", strings.Join(sorted(subnets), ", "))
	}
	if len(models) > 1 {
		each := slice.Map(sorted(models), func(id string) string { return id + " in " + models[id] })
		lack("its NICs are of several models: %s", strings.Join(each, ", "))
	}
	return k.refuse(list)
}

// lacks says what of its hosts is not ready, or not told, which what comes before may still
// mend: ports of the VMkernel, and what NICs agree on with their switches. One host without
// RDMA would take the others with it.
func (k *cluster) lacks() (list []string) {
	for _, h := range k.hosts {
		if len(h.subnets) == 0 || len(h.nics) == 0 {
			list = append(list, h.name+": its network for vSAN, which vCenter does not tell")
		}
		for _, n := range h.nics {
			for _, why := range n.lacks() {
				list = append(list, n.Name+" of "+h.name+": "+why)
			}
		}
	}
	return list
}

func (k *cluster) refuse(list []string) error {
	if list == nil {
		return nil
	}
	return hint.Wrap(fmt.Errorf("%s is not ready for vSAN over RDMA: %s", k.path, strings.Join(list, "; ")),
		"the page of vcenter lists what it needs; RDMA Configuration Health in vCenter shows the same of NICs")
}

// lacks says why a NIC is not lossless as vSAN wants it.
func (n vsanNIC) lacks() (list []string) {
	r := n.RDMAInfo
	switch {
	case r == nil:
		return []string{"vCenter does not report its RDMA"}
	case !r.Capable:
		return []string{"it has no RDMA"}
	}
	if r.Mode != "IEEE" {
		list = append(list, fmt.Sprintf("DCB is in mode %q, and must be IEEE", r.Mode))
	}
	if !r.PFC {
		return append(list, "PFC is off")
	}
	if on, told := lossless(r.Config); !told {
		list = append(list, fmt.Sprintf("vCenter says of its PFC %q, which weft does not understand", r.Config))
	} else if !slices.Contains(on, vsanPriority) {
		list = append(list, fmt.Sprintf("PFC is not on for priority %d: %s", vsanPriority, r.Config))
	}
	return list
}

// lossless are the priorities with PFC: their numbers, or a 0 or 1 for each of the eight.
func lossless(config string) (on []int, told bool) {
	words := strings.FieldsFunc(config, func(r rune) bool { return r == ' ' || r == ',' })
	each := len(words) == 8 && !slices.ContainsFunc(words, func(w string) bool { return w != "0" && w != "1" })
	for i, w := range words {
		n, err := strconv.Atoi(w)
		switch {
		case err != nil || n < 0 || n > 7:
			return nil, false
		case !each:
			on = append(on, n)
		case n == 1:
			on = append(on, i)
		}
	}
	return on, len(words) > 0
}

// teams says how what a NIC is an uplink of spreads its traffic, where RDMA cannot follow.
func (s state) teams(h *host, nic string) (list []string) {
	bad := func(policy string) bool {
		return policy == "loadbalance_ip" || policy == "loadbalance_loadbased"
	}
	if on := h.taken[nic]; bad(h.teaming[on]) {
		list = append(list, fmt.Sprintf("%s spreads by %s", on, h.teaming[on]))
	}
	for at, d := range s.switches {
		if !slices.Contains(d.members[h.ref], nic) {
			continue
		}
		if d.lacp {
			list = append(list, at+" has LACP")
		}
		for _, name := range sorted(d.groups) {
			if p := d.groups[name].teaming(); bad(p) {
				list = append(list, fmt.Sprintf("%s of %s spreads by %s", name, at, p))
			}
		}
	}
	return list
}

// settlePoll is how long is waited between two looks at what hosts speak.
const settlePoll = 2 * time.Second

// setVSAN says what a cluster is to use, and waits until all of its hosts do.
func setVSAN(at string, rdma bool, mark note) op {
	return op{fmt.Sprintf("VsanClusterReconfig of %s: rdmaConfig.rdmaEnabled=%t", at, rdma), func(ctx context.Context, c *client) error {
		k, err := c.findCluster(ctx, at)
		if err != nil {
			return err
		}
		// The mark first: whoever is killed in between has said what was there before.
		if mark.owner != "" {
			if err := c.own(ctx, k.ref, mark.String()); err != nil {
				return err
			}
		}
		if err := c.switchVSAN(ctx, k, rdma); err != nil {
			err = errors.Join(err, c.tellVSAN(context.WithoutCancel(ctx), k, k.rdma)) // back to how it was
			return errors.Join(err, c.own(context.WithoutCancel(ctx), k.ref, k.note.String()))
		}
		if mark.owner == "" {
			return c.own(ctx, k.ref, "")
		}
		return nil
	}}
}

func (c *client) findCluster(ctx context.Context, at string) (*cluster, error) {
	r, err := c.read(ctx, at)
	if err != nil {
		return nil, err
	}
	if k := r.clusters[at]; k != nil {
		return k, c.readVSAN(ctx, k)
	}
	return nil, fmt.Errorf("vCenter has no cluster %s", at)
}

func (c *client) tellVSAN(ctx context.Context, k *cluster, rdma bool) error {
	req := &reconfig{This: vsanConfigSystem(), Cluster: k.ref}
	req.Spec.Modify, req.Spec.RDMA.Enabled = true, rdma
	body := reconfigBody{Req: req}
	if err := c.vsan.RoundTrip(ctx, &body, &body); err != nil {
		return err
	}
	if body.Res == nil {
		return errNoAnswer
	}
	return c.wait(ctx, body.Res.Task)
}

// switchVSAN tells a cluster. Where RDMA is switched on its hosts must be ready before, and
// use it then.
func (c *client) switchVSAN(ctx context.Context, k *cluster, rdma bool) error {
	if !rdma {
		return c.tellVSAN(ctx, k, false)
	}
	if err := c.await(ctx, k, func(now *cluster) string { return strings.Join(now.lacks(), "; ") }); err != nil {
		return err
	}
	if err := c.tellVSAN(ctx, k, true); err != nil {
		return err
	}
	return c.await(ctx, k, func(now *cluster) string { return now.fallen(true) })
}

// await looks at a cluster afresh until nothing is in the way.
func (c *client) await(ctx context.Context, k *cluster, not func(*cluster) string) error {
	now := &cluster{ref: k.ref, hosts: slices.Clone(k.hosts)}
	for deadline := time.Now().Add(c.settle); ; {
		why := ""
		if now.silent = c.readHealth(ctx, now, false); now.silent != nil {
			why = said(now.silent)
		} else {
			why = not(now)
		}
		if why == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s, after %v: %s", k.path, c.settle, why)
		}
		if !wait.For(ctx, min(settlePoll, c.settle)) {
			return ctx.Err()
		}
	}
}
