package language

import (
	"net/netip"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
)

func (b *builder) connection(o *object) {
	c := &inventory.Connection{
		Block:          b.block(o),
		User:           b.text(o, "user"),
		Port:           b.integer(o, "port"),
		Become:         b.text(o, "become"),
		ConnectTimeout: unitOf(b, o, "connect_timeout", parseDuration),
		CommandTimeout: unitOf(b, o, "command_timeout", parseDuration),
	}
	keep(o, c, &b.m.Connections)
}

func (b *builder) credential(o *object) {
	c := &inventory.Credential{Block: b.block(o), User: b.text(o, "user"), Password: b.secret(o, "password")}
	keep(o, c, &b.m.Credentials)
}

func (b *builder) fabric(o *object) {
	f := &inventory.Fabric{
		Block:     b.block(o),
		Name:      o.flatName(),
		Transport: b.text(o, "transport"),
		Mode:      b.text(o, "mode"),
		MTU:       b.integer(o, "mtu"),
		HostMTU:   b.integer(o, "host_mtu"),
		Partition: unitOf(b, o, "partition", parsePartition),
	}
	for _, c := range o.all("plane") {
		f.Planes = append(f.Planes, &inventory.Plane{Block: b.block(c), Name: c.label, Subnet: unitOf(b, c, "subnet", netip.ParsePrefix)})
	}
	f.Classes = slice.Map(o.all("traffic_class"), b.trafficClass)
	if c := o.child("pfc_watchdog"); c != nil {
		f.PFCWatchdog = &inventory.PFCWatchdog{
			Block:   b.block(c),
			Action:  b.text(c, "action"),
			Detect:  unitOf(b, c, "detect", parseDuration),
			Restore: unitOf(b, c, "restore", parseDuration),
		}
	}
	keep(o, f, &b.m.Fabrics)
}

func (b *builder) trafficClass(o *object) *inventory.TrafficClass {
	t := &inventory.TrafficClass{
		Block:     b.block(o),
		Name:      o.label,
		Carries:   b.texts(o, "carries"),
		DSCP:      b.integers(o, "dscp"),
		Priority:  b.integer(o, "priority"),
		Bandwidth: b.integer(o, "bandwidth"),
		Strict:    b.flag(o, "strict"),
		PFC:       b.flag(o, "pfc"),
	}
	if c := o.child("ecn"); c != nil {
		t.ECN = &inventory.ECN{
			Min:         unitOf(b, c, "min", parseSize),
			Max:         unitOf(b, c, "max", parseSize),
			Probability: b.integer(c, "probability"),
		}
	}
	if c := o.child("headroom"); c != nil {
		t.Headroom = &inventory.Headroom{
			Xoff: unitOf(b, c, "xoff", parseSize),
			Xon:  unitOf(b, c, "xon", parseSize),
			Size: unitOf(b, c, "size", parseSize),
		}
	}
	return t
}

func (b *builder) leaf(o *object) {
	s := &inventory.Switch{
		Block:      b.block(o),
		Name:       o.fullName(),
		OS:         b.text(o, "os"),
		Host:       b.text(o, "host"),
		Serial:     b.text(o, "serial"),
		Credential: one[inventory.Credential](b, o, "credential"),
		Connection: one[inventory.Connection](b, o, "connection"),
		Fabric:     one[inventory.Fabric](b, o, "fabric"),
		Plane:      b.text(o, "plane"),
		Unmanaged:  b.flag(o, "unmanaged"),
		Adopt:      b.flag(o, "adopt"),
		Safety:     inventory.Safety{Save: "after-soak"},
	}
	if c := o.child("safety"); c != nil {
		s.Safety = inventory.Safety{Save: b.text(c, "save"), Method: b.text(c, "commit_method")}
		if confirm := b.text(c, "commit_confirm"); confirm == "none" {
			s.Safety.ConfirmNone = true
		} else {
			s.Safety.Confirm = unitOf(b, c, "commit_confirm", parseDuration)
		}
	}
	if s.Unmanaged {
		b.untouched(o)
	} else {
		b.needsManaged(o, "os", `"`+strings.Join(catalogue.SwitchSystems(), `" or "`)+`"`)
		b.needsManaged(o, "host", "the name or the address at which it is managed")
	}
	keep(o, s, &b.m.Switches)
}

// needsManaged reports that a switch which weft changes lacks an attribute.
func (b *builder) needsManaged(o *object, name, what string) {
	if v := b.attr(o, name); v.IsKnown() && v.IsNull() && !o.body.meant[name] {
		b.report(problem.New(problem.Missing, *o.header, o.addr+" lacks "+name,
			"weft configures this switch and needs its %s: %s. For a switch that weft must not change, such as an InfiniBand switch, set unmanaged = true; it needs neither os nor host.",
			name, what))
	}
}

func (b *builder) server(o *object) {
	s := &inventory.Server{
		Block:      b.block(o),
		Name:       o.fullName(),
		OS:         b.text(o, "os"),
		Host:       b.text(o, "host"),
		MachineID:  b.text(o, "machine_id"),
		Labels:     b.textMap(o, "labels"),
		Credential: one[inventory.Credential](b, o, "credential"),
		Connection: one[inventory.Connection](b, o, "connection"),
	}
	s.RNICs = slice.Map(o.all("rnic"), func(c *object) *inventory.RNIC { return b.rnic(c, s) })
	b.serverBlocks(o, s)
	o.became = s
	b.servers = append(b.servers, o)
	b.m.Servers = append(b.m.Servers, s)
}

func (b *builder) rnic(o *object, s *inventory.Server) *inventory.RNIC {
	match := b.textMap(o, "match")
	r := &inventory.RNIC{
		Block:   b.block(o),
		Name:    o.label,
		Server:  s,
		PCI:     strings.ToLower(match["pci"]),
		Port:    match["port"],
		MAC:     strings.ToLower(match["mac"]),
		Address: unitOf(b, o, "address", netip.ParsePrefix),
		Fabric:  one[inventory.Fabric](b, o, "fabric"),

		VLAN:     b.integer(o, "vlan"),
		Software: b.flag(o, "software"),
	}
	for _, v := range o.all("vmk") {
		r.VMK = &inventory.VMK{Block: b.block(v), ID: b.text(v, "id"), VSwitch: b.text(v, "vswitch"), Netstack: b.text(v, "netstack"), Services: b.texts(v, "services")}
	}
	if r.Fabric != nil && r.Address.IsValid() {
		r.Plane = r.Fabric.PlaneOf(r.Address.Addr())
	}
	o.became = r
	return r
}

func (b *builder) file(o *object) *inventory.File {
	f := &inventory.File{Block: b.block(o), Path: o.label, Content: b.text(o, "content"), Secret: b.attr(o, "content").IsMarked()}
	// The attribute's check has made sure that these are octal digits.
	if mode, err := strconv.ParseUint(b.text(o, "mode"), 8, 32); err == nil {
		f.Mode = uint32(mode)
	}
	return f
}

func (b *builder) link(o *object) {
	l := &inventory.Link{Block: b.block(o), From: b.end(o, "from"), To: b.end(o, "to"), Speed: unitOf(b, o, "speed", parseRate)}
	keep(o, l, &b.m.Links)
}

func (b *builder) end(o *object, name string) inventory.LinkEnd {
	r := b.refOf(o, name)
	if r == nil {
		return inventory.LinkEnd{}
	}
	if r.kind == "port" {
		s, _ := r.parent.became.(*inventory.Switch)
		if s == nil {
			return inventory.LinkEnd{Port: r.label}
		}
		return inventory.LinkEnd{Switch: s, Port: portName(s.OS, r.label)}
	}
	rnic, _ := r.became.(*inventory.RNIC)
	return inventory.LinkEnd{RNIC: rnic}
}

// fullName is the name of an instance, with the modules that it is in.
func (o *object) fullName() string { return o.in.prefix + o.name }

// flatName is the label and the key as one word, for names on devices.
func (o *object) flatName() string {
	if o.key == "" {
		return o.label
	}
	return o.label + "-" + o.key
}

// portName writes the name of a port as the switch does in its configuration.
func portName(os, name string) string {
	known, err := catalogue.Load()
	if err != nil {
		return name // which the rules report
	}
	return known.SpellPort(os, name)
}
