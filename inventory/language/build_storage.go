package language

import (
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"

	"github.com/zclconf/go-cty/cty"
)

func (b *builder) pool(o *object) {
	p := &inventory.Pool{
		Block:          b.block(o),
		Server:         one[inventory.Server](b, o, "server"),
		Drives:         b.texts(o, "drives"),
		OnExistingData: b.text(o, "on_existing_data"),
	}
	keep(o, p, &b.m.Pools)
}

func (b *builder) volume(o *object) {
	v := &inventory.Volume{
		Block:  b.block(o),
		Name:   o.flatName(),
		Pool:   one[inventory.Pool](b, o, "pool"),
		Size:   unitOf(b, o, "size", parseSize),
		Mirror: many[inventory.Pool](b, o, "mirror"),
	}
	// One volume of each pool needs no key in its name.
	if pool := b.refOf(o, "pool"); pool != nil && pool.key == o.key {
		v.Name = o.label
	}
	keep(o, v, &b.m.Volumes)
}

func (b *builder) target(o *object) {
	t := &inventory.Target{
		Block:         b.block(o),
		Server:        one[inventory.Server](b, o, "server"),
		Engine:        b.text(o, "engine"),
		Transport:     b.texts(o, "transport"),
		AllowDegraded: b.flag(o, "allow_degraded"),
		CtrlKey:       b.secret(o, "dhchap_ctrl_key"),
		Hash:          b.text(o, "dhchap_hash"),
		DHGroup:       b.text(o, "dhchap_dhgroup"),
		DemandAuth:    b.flag(o, "demand_auth"),
		TLS:           b.flag(o, "tls"),
	}
	if t.Engine == "external" {
		b.untouched(o)
	}
	b.portals(o, t)
	t.Subsystems = append(t.Subsystems, slice.Map(o.all("subsystem"), b.subsystem)...)
	keep(o, t, &b.m.Targets)
}

// portals resolves NICs and literal addresses.
func (b *builder) portals(o *object, t *inventory.Target) {
	v, ok := b.set(o, "portals")
	if !ok {
		return
	}
	port := uint16(b.integer(o, "port"))
	for _, r := range b.references(o, "portals") {
		if rnic, ok := r.became.(*inventory.RNIC); ok {
			t.Portals = append(t.Portals, inventory.Portal{RNIC: rnic, Address: netip.AddrPortFrom(rnic.Address.Addr(), port), Plane: rnic.Plane})
		}
	}
	_, texts := flatten(v)
	for _, text := range texts {
		p, ok := b.literalPortal(o, text, port)
		if !ok {
			t.Incomplete = true
			continue
		}
		t.Portals = append(t.Portals, p)
	}
}

// literalPortal reads "10.0.0.1:4420" or "10.0.0.1".
func (b *builder) literalPortal(o *object, text cty.Value, port uint16) (inventory.Portal, bool) {
	at, err := netip.ParseAddrPort(text.AsString())
	if err != nil {
		addr, err := netip.ParseAddr(text.AsString())
		if err != nil {
			a := o.body.attrs["portals"]
			b.report(problem.Within(problem.New(problem.Portal, a.Expr.Range(), "not an address",
				`%q is not an address such as "10.0.0.1" or "10.0.0.1:4420".`, text.AsString()), a.SrcRange))
			return inventory.Portal{}, false
		}
		at = netip.AddrPortFrom(addr, port)
	}
	p := inventory.Portal{Address: at}
	for _, f := range b.m.Fabrics {
		if p.Plane = f.PlaneOf(at.Addr()); p.Plane != nil {
			break
		}
	}
	return p, true
}

func (b *builder) subsystem(o *object) *inventory.Subsystem {
	s := &inventory.Subsystem{
		Block:      b.block(o),
		Name:       o.label,
		NQN:        b.text(o, "nqn"),
		Serial:     b.text(o, "serial"),
		AllowHosts: b.texts(o, "allow_hosts"),
	}
	for _, c := range o.all("namespace") {
		if b.enabled(c) {
			s.Namespaces = append(s.Namespaces, b.namespace(c))
		}
	}
	return s
}

func (b *builder) namespace(o *object) *inventory.Namespace {
	n := &inventory.Namespace{
		Block:   b.block(o),
		From:    one[inventory.Volume](b, o, "from"),
		UUID:    b.text(o, "uuid"),
		Scratch: b.flag(o, "scratch"),
	}
	// What is not a number stays 0, which the rules refuse.
	if id, err := strconv.ParseUint(o.label, 10, 32); err == nil {
		n.ID = uint32(id)
	}
	if c := o.child("limits"); c != nil {
		n.Limits = &inventory.Limits{IOPS: int64(b.integer(c, "iops")), Bandwidth: unitOf(b, c, "bandwidth", parseBandwidth)}
	}
	return n
}

func (b *builder) initiator(o *object) {
	i := &inventory.Initiator{
		Block:    b.block(o),
		Server:   one[inventory.Server](b, o, "server"),
		Engine:   b.text(o, "engine"),
		HostNQN:  b.text(o, "hostnqn"),
		HostID:   strings.ToLower(b.text(o, "hostid")),
		ProbeNQN: b.text(o, "probe_nqn"),
		Key:      b.secret(o, "dhchap_key"),
		TLSKey:   b.secret(o, "tls_key"),
	}
	for _, c := range o.all("connect") {
		i.Connects = append(i.Connects, &inventory.Connect{
			Block:          b.block(c),
			To:             many[inventory.Target](b, c, "to"),
			Paths:          b.text(c, "paths"),
			IOPolicy:       b.text(c, "iopolicy"),
			IOQueues:       b.integer(c, "io_queues"),
			CtrlLossTMO:    b.integer(c, "ctrl_loss_tmo"),
			FastIOFailTMO:  b.integer(c, "fast_io_fail_tmo"),
			ReconnectDelay: unitOf(b, c, "reconnect_delay", parseDuration),
			KeepAliveTMO:   unitOf(b, c, "keep_alive_tmo", parseDuration),

			DisconnectFirst: b.text(c, "reconnect") == "disconnect-first",
		})
	}
	keep(o, i, &b.m.Initiators)
}
