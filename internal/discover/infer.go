package discover

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/owned"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
	"weft/switches"
)

// A draft is a site as the files are to have it.
type draft struct {
	sources map[string]map[int]source // by file and line
	refused map[refusal]string        // what validate refuses, and files leave out

	site    *Site
	base    *inventory.Model // what is declared already; nil: nothing
	stands  *standing        // the same by what devices tell
	owner   string
	noNVMe  bool // storage is not written
	cables  []Cable
	wires   []wire
	fabrics []*fabric
	leaves  map[*Switch]*leaf
	nodes   map[*Server]*node
	centers []*center

	users       map[string]string    // labels of credentials, by user of servers
	credited    []string             // users whose credential is to be written
	centerLogin string               // label of the credential of vCenters that is to be written; "": it stands in files
	secret      []string             // variables of the environment for the passwords of these
	linked      taken                // labels of links
	variables   []string             // of the environment, that files name in the place of keys
	unmanaged   []string             // what others connect and export, for comments in the files
	inserts     []insert             // what goes into blocks that stand
	was         map[plan.ID][]change // what a plan with the files that stand changes without any of this
}

// A fabric is one as it was inferred.
type fabric struct {
	name, transport, mode string
	mtu, hostMTU          int
	planes                []netip.Prefix
	names                 []string // of the planes; nil: a, b, …
	declared              bool     // it stands in files already
	hand                  bool     // it stands in a module: nothing outside can refer to it
	classes               []switches.Class
	watchdog              string
	partition             host.PKey // of InfiniBand; 0: the default one, or not known
}

// planeName is what the nth plane is called.
func planeName(n int) string {
	if n < 26 {
		return string(rune('a' + n))
	}
	return fmt.Sprintf("p%d", n+1)
}

// planeName is what its nth plane is called.
func (f *fabric) planeName(n int) string {
	if n < len(f.names) {
		return f.names[n]
	}
	return planeName(n)
}

func (f *fabric) plane(a netip.Addr) int {
	return slices.IndexFunc(f.planes, func(p netip.Prefix) bool { return p.Contains(a) })
}

// A leaf is a switch as the files are to have it.
type leaf struct {
	address
	*Switch
	declared   bool    // it stands in files already
	hand       bool    // in a module: nothing can refer to it
	fabric     *fabric // nil: in none
	plane      string
	subnet     netip.Prefix // of the plane
	credential string
	strange    string // what of it is somebody else's, and means; "": nothing
	adopt      bool   // they are to be replaced, in a trial
	bundles    []string
}

// A node is a server as the files are to have it.
type node struct {
	address
	*Server
	origin   address // that names on it follow from
	fixed    bool    // its address is the one that a ledger has, or files
	login    string  // label of the credential of its user; "": it is reached as all are
	declared bool    // it stands in files already
	hand     bool    // it stands in a module, or a block that stands is to have it: nothing can refer to it
	role     string
	told     *host.Declared // what its ledger of the owner says
	cards    []*card
	more     []*card  // that its block in the files does not have
	seen     []string // that has no block, for comments
}

// A card is an rnic.
type card struct {
	label  string
	told   host.DeclaredPort
	nic    *host.NICFacts
	cidr   netip.Prefix // invalid: none
	has    netip.Prefix // cidr, whether or not it is written
	fabric *fabric      // nil: in none
}

// noAddress is that of a card of which none is written.
var noAddress netip.Prefix

func (n *node) at(a netip.Addr) *card {
	for _, c := range n.cards {
		if c.cidr.IsValid() && c.cidr.Addr() == a {
			return c
		}
	}
	return nil
}

// An OwnersError is a rack with traces of several owners, of which none was chosen.
type OwnersError struct{ Owners []string }

func (e *OwnersError) Error() string {
	return fmt.Sprintf("several owners have been at work here: %s", strings.Join(e.Owners, ", "))
}

// owners are those whose ledgers are there, and whose objects on switches no ledger
// explains.
func (s *Site) owners() []string {
	seen := map[string]bool{}
	for _, m := range s.Servers {
		for _, l := range m.Ledgers {
			seen[l.Owner] = true
		}
	}
	for _, v := range s.VCenters {
		for _, o := range v.owners() {
			seen[o] = true
		}
	}
	for _, sw := range s.Switches {
		rest, ours := strings.CutPrefix(sw.Reading.Name, owned.Objects)
		if !ours || slices.ContainsFunc(keys(seen), func(o string) bool { return strings.HasPrefix(rest, o+"-") }) {
			continue
		}
		if i := strings.LastIndexByte(rest, '-'); i > 0 {
			seen[rest[:i]] = true
		}
	}
	return keys(seen)
}

func keys(m map[string]bool) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// usualOwner is what a rack is called in which weft never was.
const usualOwner = "site"

// infer makes a draft of what was read. The owner is the one that is named, else the
// only one that left traces.
func (s *Site) infer(owner string, base *inventory.Model) (*draft, error) {
	owners := s.owners()
	if base != nil {
		owner = base.Name
	}
	switch {
	case owner == "" && len(owners) > 1:
		return nil, &OwnersError{owners}
	case owner == "" && len(owners) == 1:
		owner = owners[0]
	}
	d := &draft{site: s, base: base, stands: stand(base), owner: cmp.Or(owner, usualOwner), leaves: map[*Switch]*leaf{}, nodes: map[*Server]*node{}}
	for _, other := range owners {
		if other != d.owner {
			s.found(Warn, "", "discover them with --owner "+other, "resources of the owner %s belong to other files and are not written", other)
		}
	}
	d.name()
	d.retell()
	d.spread()
	d.cables, d.wires = s.hearing(s.Cables())
	if len(s.Switches) == 0 && !s.hearsAny() {
		s.found(Info, "", "name the switches with --seed; without, cables are known where the servers have lldpd or, of InfiniBand, infiniband-diags", "no switch was read: no cable is known")
	}
	d.cards()
	d.recorded()
	d.bundles()
	d.tuned()
	d.weave()
	return d, nil
}

// name gives each device the address that the ledgers of the owner have for it, else a
// new one that follows from its host.
func (d *draft) name() {
	known, credentials := d.rosters()
	d.centered(known)
	declared := d.declared(known, credentials)
	labels, nodes := taken{}, taken{}
	for _, a := range known {
		labels[a.kind+"."+a.label], nodes[a.key] = true, true
	}
	for _, sw := range d.site.Switches {
		a, ok := known[sw.Host]
		if !ok || a.kind != "switch" {
			wish := label(short(cmp.Or(sw.Reading.Facts.Hostname, sw.Host)), "switch")
			a = address{kind: "switch", label: strings.TrimPrefix(labels.name("switch."+wish, cmp.Or(sw.Reading.Facts.Serial, sw.Host)), "switch.")}
		}
		d.leaves[sw] = &leaf{address: a, Switch: sw, declared: declared[sw.Host], hand: declared[sw.Host] && !ok, credential: cmp.Or(credentials[sw.Host], d.credential())}
	}
	for _, m := range d.site.Servers {
		a, ok := known[m.Host]
		fixed := ok && a.kind == "server"
		if !fixed {
			key := short(cmp.Or(m.Name, m.Host))
			if _, err := netip.ParseAddr(key); err == nil && m.Facts.Name != "" && m.Facts.Name != "localhost" {
				key = short(m.Facts.Name)
			}
			a = address{kind: "server", label: "node", key: nodes.name(cmp.Or(usable(key), m.Host), m.Host), keyed: true}
		}
		n := &node{address: a, origin: a, Server: m, told: &host.Declared{}, fixed: fixed, declared: declared[m.Host], role: d.role(m)}
		if was := d.stands.machines[m.Host]; was != nil {
			n.origin, _ = origin(&was.Block)
			if n.hand = !ok; n.hand { // in a module
				n.address = spotOf(&was.Block).address
				n.origin = n.address
			}
		} else {
			n.hand = d.taken(a)
		}
		d.nodes[m] = n
	}
	d.accredit(credentials)
}

// declared adds the addresses that files have for hosts, and says which hosts these are.
func (d *draft) declared(known map[string]address, credentials map[string]string) map[string]bool {
	is := map[string]bool{}
	if d.base == nil {
		return is
	}
	add := func(host, addr string) {
		if a, ok := parseAddress(addr); ok {
			known[host] = a
		} else {
			d.site.found(Info, host, "write what is new about it by hand", "the files call it %s, in a module: it is left as it is", addr)
		}
		is[host] = true
	}
	for _, sw := range d.base.Switches {
		if add(sw.Host, sw.Addr); sw.Credential != nil {
			credentials[sw.Host], _ = credentialName(sw.Credential.Addr)
		}
	}
	for _, m := range d.base.Servers {
		add(m.Host, m.Addr)
	}
	return is
}

// taken reports whether a server that files do not have has in the ledgers the name of a
// block that they do have: only a person can add its key there.
func (d *draft) taken(a address) bool {
	return d.stands.labels["server."+a.label] != nil && (a.label != "node" || d.inLedger(a))
}

// inLedger reports whether a ledger of the owner has the address.
func (d *draft) inLedger(a address) bool {
	for _, m := range d.site.Servers {
		if l := m.ledger(d.owner); l != nil && slices.ContainsFunc(l.Roster, func(r plan.Member) bool { return r.Device == a.String() }) {
			return true
		}
	}
	return false
}

// credentialName is the label of a credential by its address; false: it stands in a module, and
// nothing outside can refer to it.
func credentialName(address string) (string, bool) {
	name, root := strings.CutPrefix(address, "credential.")
	if !root {
		return "", false
	}
	return name, true
}

// credential is the label of the one that new switches are given.
func (d *draft) credential() string { return cmp.Or(d.standingCredential(), "switch") }

// standingCredential is the first one of the files; "": they have none.
func (d *draft) standingCredential() string {
	if d.base != nil {
		for _, c := range d.base.Credentials {
			if name, root := credentialName(c.Addr); root {
				return name
			}
		}
	}
	return ""
}

// rosters are the addresses that the ledgers of the owner have for hosts, and as whom
// switches are logged in to. Rosters are as long as the fleet, and mostly equal.
func (d *draft) rosters() (known map[string]address, credentials map[string]string) {
	known, credentials = map[string]address{}, map[string]string{}
	asked := map[string]bool{}
	for _, s := range d.site.Switches {
		asked[s.Host] = true
	}
	for _, s := range d.site.Servers {
		asked[s.Host] = true
	}
	for _, v := range d.site.VCenters {
		asked[v.String()] = true
	}
	for _, l := range d.site.Lost {
		asked[l.Host] = true
	}
	seen := map[plan.Member]bool{}
	for _, m := range d.site.Servers {
		l := m.ledger(d.owner)
		if l == nil {
			continue
		}
		for _, r := range l.Roster {
			if seen[r] {
				continue
			}
			seen[r] = true
			if r.Kind == "vcenter" && d.standingCenter(r.Host) != nil {
				continue
			}
			if r.Kind == "vcenter" && !asked[r.Host] {
				d.site.found(Error, r.Host, "name it with --vcenter "+strings.TrimSuffix(r.Host, fmt.Sprint(":", VCenterPort)), "the ledgers have it as %s, and it was not asked: neither its distributed switches and virtual machines nor ports of hosts on them are written", r.Device)
				continue
			}
			if a, ok := parseAddress(r.Device); ok {
				known[r.Host] = a
				credentials[r.Host], _ = credentialName(r.Credential)
			} else if !d.inFiles(r.Host) {
				d.site.found(Error, r.Host, "write that module by hand", "the ledgers call it %s, in a module, and discover writes none", r.Device)
			}
			if !asked[r.Host] && !d.inFiles(r.Host) { // those are read for the proof
				d.site.found(Error, r.Host, "name it with --seed (a switch) or --hosts (a server), or write a removed block for it", "the ledger of %s has it as %s, and it was not asked", m.Host, r.Device)
			}
		}
	}
	return known, credentials
}
