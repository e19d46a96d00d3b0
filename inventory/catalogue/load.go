package catalogue

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

//go:embed *.hcl
var files embed.FS

// none is how a row says that an attribute has no source.
const none = "none"

// Load returns the catalogue that is built into weft, which nobody changes.
func Load() (*Catalogue, error) { return built() }

var built = sync.OnceValues(read)

func read() (*Catalogue, error) {
	l := &loader{titles: map[string]cty.Value{none: cty.StringVal("")}, seen: map[string]bool{}}
	l.readSources()
	c := &Catalogue{}
	l.rows("servers.hcl", l.read("servers.hcl"), map[string]func(*row){"server": func(r *row) { c.Servers = append(c.Servers, r.server()) }})
	l.rows("nics.hcl", l.read("nics.hcl"), map[string]func(*row){"nic": func(r *row) { c.NICs = append(c.NICs, r.nic()) }})
	l.rows("switches.hcl", l.read("switches.hcl"), map[string]func(*row){
		"os":     func(r *row) { c.OS = append(c.OS, r.switchOS()) },
		"switch": func(r *row) { c.Switches = append(c.Switches, r.switchModel()) },
	})
	l.rows("hosts.hcl", l.read("hosts.hcl"), map[string]func(*row){"system": func(r *row) { c.Hosts = append(c.Hosts, r.host()) }})
	l.rows("arrays.hcl", l.read("arrays.hcl"), map[string]func(*row){"array": func(r *row) { c.Arrays = append(c.Arrays, r.array()) }})
	if l.diags.HasErrors() {
		return nil, fmt.Errorf("read the hardware catalogue: %w", l.diags)
	}
	return c, nil
}

func (r *row) server() *Server {
	return &Server{
		ID: r.id, Vendor: r.text("vendor"), Model: r.text("model"),
		SysVendor:      fact[[]string](r, "sys_vendor"),
		Product:        fact[[]string](r, "product"),
		PCIeGeneration: fact[int](r, "pcie_generation"),
		PCIeSlots:      fact[int](r, "pcie_slots"),
		OCPSlots:       fact[int](r, "ocp_slots"),
	}
}

func (r *row) nic() *NIC {
	return &NIC{
		ID: r.id, Vendor: r.text("vendor"), Model: r.text("model"),
		PCI:              fact[[]string](r, "pci"),
		VirtualFunctions: fact[[]string](r, "virtual_functions"),
		Driver:           fact[string](r, "driver"),
		RDMADriver:       fact[string](r, "rdma_driver"),
		Transports:       fact[[]string](r, "transports"),
		PCIeGeneration:   fact[int](r, "pcie_generation"),
		Speed:            fact[int](r, "speed"),
		MaxMTU:           fact[int](r, "max_mtu"),
		IOQueues:         fact[int](r, "io_queues"),
	}
}

func (r *row) switchOS() *SwitchOS {
	o := &SwitchOS{
		ID: r.id, Vendor: r.text("vendor"),
		PortNames:      fact[[]string](r, "port_names"),
		PortExample:    fact[string](r, "port_example"),
		PortKinds:      fact[map[string]string](r, "port_kinds"),
		PortSpeeds:     fact[map[string]int](r, "port_speeds"),
		ConfirmSeconds: fact[[]int](r, "confirm_seconds"),
		PFCPriorities:  fact[[]int](r, "pfc_priorities"),
		CommitMethods:  fact[[]string](r, "commit_methods"),
		Models:         fact[string](r, "models"),
		Queues:         fact[int](r, "queues"),
		MaxMTU:         fact[int](r, "max_mtu"),
		AvoidPFC:       fact[[]int](r, "avoid_pfc"),
		ECN:            fact[bool](r, "ecn"),
	}
	o.models = r.compile("(?i)" + o.Models.Value)
	o.ports = r.compile("^(?:" + strings.Join(o.PortNames.Value, "|") + ")$")
	return o
}

func (r *row) switchModel() *Switch {
	s := &Switch{
		ID: r.id, OS: r.text("os"), Model: r.text("model"), Pattern: r.text("pattern"),
		Ports:          fact[map[string]int](r, "ports"),
		Queues:         fact[int](r, "queues"),
		NoDropClasses:  fact[int](r, "no_drop_classes"),
		NoPFCReleases:  fact[[]string](r, "no_pfc_releases"),
		PauseBufferMin: fact[int](r, "pause_buffer_min"),
		HeadroomCells:  fact[int](r, "headroom_cells"),
		CellBytes:      fact[int](r, "cell_bytes"),
		WREDUnit:       fact[string](r, "wred_unit"),
		QoSTCAM:        fact[string](r, "qos_tcam"),
		Releases:       fact[string](r, "releases"),
	}
	s.model = r.compile("(?i)" + s.Pattern)
	return s
}

func (r *row) host() *HostOS {
	o := &HostOS{ID: r.id, MachineID: fact[string](r, "machine_id"), Identity: fact[string](r, "identity"),
		Title: fact[string](r, "title"), Answers: fact[string](r, "answers"), Locks: fact[string](r, "locks")}
	o.answers = r.compile(o.Answers.Value)
	return o
}

func (r *row) array() *Array {
	return &Array{
		ID: r.id, Vendor: r.text("vendor"), Model: r.text("model"),
		Transports: fact[[]string](r, "transports"),
		Since:      fact[string](r, "since"),
	}
}

// A loader reads the files and collects everything that is wrong with them.
type loader struct {
	titles map[string]cty.Value // of the sources, by the name that rows give
	seen   map[string]bool      // the rows so far: server dell-r770
	diags  hcl.Diagnostics
}

// read returns one embedded file.
func (l *loader) read(name string) []byte {
	src, err := files.ReadFile(name)
	if err != nil {
		l.refuse(hcl.Range{Filename: name}, "%v", err)
	}
	return src
}

func (l *loader) parse(name string, src []byte) *hclsyntax.Body {
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	l.diags = append(l.diags, diags...)
	return f.Body.(*hclsyntax.Body)
}

func (l *loader) refuse(at hcl.Range, format string, args ...any) {
	l.diags = append(l.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: fmt.Sprintf(format, args...), Subject: &at})
}

func (l *loader) readSources() {
	for name, a := range l.parse("sources.hcl", l.read("sources.hcl")).Attributes {
		var title string
		l.diags = append(l.diags, gohcl.DecodeExpression(a.Expr, nil, &title)...)
		if title == "" || name == none {
			l.refuse(a.SrcRange, "%s is not a source", name)
		}
		l.titles[name] = cty.StringVal(title)
	}
}

// rows reads the rows of one file with the function for their type.
func (l *loader) rows(name string, src []byte, read map[string]func(*row)) {
	body := l.parse(name, src)
	for _, a := range body.Attributes {
		l.refuse(a.SrcRange, "%s stands outside of a row", a.Name)
	}
	for _, b := range body.Blocks {
		read := read[b.Type]
		switch key := b.Type + " " + strings.Join(b.Labels, " "); {
		case read == nil || len(b.Labels) != 1 || len(b.Body.Blocks) > 0:
			l.refuse(b.DefRange(), "%s is not a row of this file", key)
		case l.seen[key]:
			l.refuse(b.DefRange(), "%s is there twice", key)
		default:
			l.seen[key] = true
			r := l.row(b)
			read(r)
			r.done()
		}
	}
}

// A row is one block while it is read: what remains in it is not understood.
type row struct {
	*loader
	id      string
	at      hcl.Range
	attrs   hclsyntax.Attributes
	sources map[string]string // by attribute
}

func (l *loader) row(b *hclsyntax.Block) *row {
	r := &row{loader: l, id: b.Labels[0], at: b.DefRange(), attrs: b.Body.Attributes}
	if a, ok := r.attrs["source"]; ok {
		delete(r.attrs, "source")
		l.diags = append(l.diags, gohcl.DecodeExpression(a.Expr, &hcl.EvalContext{Variables: l.titles}, &r.sources)...)
	}
	return r
}

// take decodes an attribute into v and reports whether it is there.
func (r *row) take(name string, v any) bool {
	a, ok := r.attrs[name]
	if ok {
		delete(r.attrs, name)
		r.diags = append(r.diags, gohcl.DecodeExpression(a.Expr, nil, v)...)
	}
	return ok
}

// text reads what every row of its type has, and what needs no source: a name.
func (r *row) text(name string) (s string) {
	if !r.take(name, &s) || s == "" {
		r.refuse(r.at, "%s is missing", name)
	}
	return s
}

// fact reads an attribute with its source. One without the other is refused:
// that nobody wrote a fact down must be said.
func fact[T any](r *row, name string) Fact[T] {
	var f Fact[T]
	var sourced bool
	f.Known = r.take(name, &f.Value)
	f.Source, sourced = r.sources[name]
	delete(r.sources, name)
	if f.Known != sourced {
		r.refuse(r.at, "%s and its source do not stand together", name)
	}
	return f
}

func (r *row) compile(expr string) *regexp.Regexp {
	re, err := regexp.Compile(expr)
	if err != nil {
		r.refuse(r.at, "%v", err)
	}
	return re
}

// done refuses what nobody has read.
func (r *row) done() {
	var rest []string
	for name := range r.attrs {
		rest = append(rest, name)
	}
	for name := range r.sources {
		rest = append(rest, "source."+name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		r.refuse(r.at, "%s is not known here", name)
	}
}
