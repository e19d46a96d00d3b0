package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/slice"
	"weft/internal/text"
	"weft/inventory/catalogue"
)

// families are the parts of the catalogue, in the order they are shown.
func families() []string { return []string{"servers", "nics", "switches", "arrays"} }

// A catalogueCommand is weft catalogue.
type catalogueCommand struct {
	opts *options
	out  *printer
}

func (cat *catalogueCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "catalogue [FAMILY]", Short: "Show the hardware catalogue with its sources; no network",
		Long: `catalogue prints the hardware that weft knows: servers, nics, switches, arrays, or all of
them. Numbers in the last column refer to the sources below the table. A value marked ?
has no source and only causes warnings; - means unknown. Hardware that is not in the
catalogue works as well; weft then reads the values from the device.`,
		ValidArgs: families(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(families(), args[0]) {
				return usage(fmt.Errorf("usage: weft catalogue [%s]", strings.Join(families(), "|")))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := catalogue.Load()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				args = families()
			}
			only(c, args)
			if cat.opts.json {
				e := json.NewEncoder(cat.out.stdout)
				e.SetIndent("", "  ")
				return e.Encode(c)
			}
			return printCatalogue(cat.out.stdout, c)
		},
	}
}

// only empties the families that are not asked for.
func only(c *catalogue.Catalogue, asked []string) {
	if !slices.Contains(asked, "servers") {
		c.Servers = nil
	}
	if !slices.Contains(asked, "nics") {
		c.NICs = nil
	}
	if !slices.Contains(asked, "switches") {
		c.OS, c.Switches = nil, nil
	}
	if !slices.Contains(asked, "arrays") {
		c.Arrays = nil
	}
}

func printCatalogue(w io.Writer, c *catalogue.Catalogue) error {
	p := &cataloguePrinter{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	p.table(c.Servers == nil, "SERVER", "MODEL", "PCIE", "SLOTS", "OCP", "DMI VENDOR", "DMI PRODUCT")
	for _, s := range c.Servers {
		p.row(s.ID+"\t"+s.Vendor+" "+s.Model, cell(s.PCIeGeneration), cell(s.PCIeSlots), cell(s.OCPSlots), cell(s.SysVendor), cell(s.Product))
	}
	p.table(c.NICs == nil, "NIC", "MODEL", "GBIT/S", "PCIE", "TRANSPORTS", "DRIVER", "RDMA", "QUEUES", "MAX MTU", "PCI")
	for _, n := range c.NICs {
		p.row(n.ID+"\t"+n.Vendor+" "+n.Model, cell(n.Speed), cell(n.PCIeGeneration), cell(n.Transports), cell(n.Driver),
			cell(n.RDMADriver), cell(n.IOQueues), cell(n.MaxMTU), short(cell(n.PCI)))
	}
	p.table(c.OS == nil, "SWITCH OS", "VENDOR", "QUEUES", "MAX MTU", "NO PFC ON", "COMMIT METHODS")
	for _, o := range c.OS {
		p.row(o.ID+"\t"+o.Vendor, cell(o.Queues), cell(o.MaxMTU), cell(o.AvoidPFC), cell(o.CommitMethods))
	}
	p.table(c.OS == nil, "SWITCH OS", "PORT NAMES, AS REGULAR EXPRESSIONS")
	for _, o := range c.OS {
		for _, name := range o.PortNames.Value {
			p.row(o.ID, cell(catalogue.Fact[string]{Value: name, Source: o.PortNames.Source, Known: true}))
		}
	}
	p.table(c.Switches == nil, "SWITCH", "OS", "MODEL", "PORTS", "QUEUES", "NO-DROP", "NO PFC IN", "PAUSE BUFFER", "HEADROOM", "CELL", "WRED UNIT", "QOS TCAM", "RELEASES")
	for _, s := range c.Switches {
		p.row(s.ID+"\t"+s.OS+"\t"+s.Model, cell(s.Ports), cell(s.Queues), cell(s.NoDropClasses), cell(s.NoPFCReleases), cell(s.PauseBufferMin),
			cell(s.HeadroomCells), cell(s.CellBytes), cell(s.WREDUnit), cell(s.QoSTCAM), cell(s.Releases))
	}
	p.table(c.Arrays == nil, "ARRAY", "MODEL", "TRANSPORTS", "SINCE")
	for _, a := range c.Arrays {
		p.row(a.ID+"\t"+a.Vendor+" "+a.Model, cell(a.Transports), cell(a.Since))
	}
	p.legend()
	return p.w.Flush()
}

// A cataloguePrinter aligns tables and numbers the sources they name.
type cataloguePrinter struct {
	w       *tabwriter.Writer
	started bool
	sources []string
}

// table begins a table, or hides it. The column of sources is added to it.
func (p *cataloguePrinter) table(hidden bool, columns ...string) {
	if hidden {
		return
	}
	p.gap()
	fmt.Fprintln(p.w, strings.Join(append(columns, "SOURCE"), "\t"))
}

// gap separates tables, which also aligns each for itself.
func (p *cataloguePrinter) gap() {
	if p.started {
		p.w.Flush()
		fmt.Fprintln(p.w)
	}
	p.started = true
}

// row prints what a row is called, in one column or more, and its values with
// the numbers of their sources.
func (p *cataloguePrinter) row(lead string, values ...value) {
	cells := []string{lead}
	var numbers []int
	for _, v := range values {
		cells = append(cells, v.text)
		if v.source == "" {
			continue
		}
		i := slices.Index(p.sources, v.source)
		if i < 0 {
			i = len(p.sources)
			p.sources = append(p.sources, v.source)
		}
		if !slices.Contains(numbers, i+1) {
			numbers = append(numbers, i+1)
		}
	}
	slices.Sort(numbers)
	if sources := list(numbers); sources != "" {
		cells = append(cells, sources)
	} else {
		cells = append(cells, "none")
	}
	fmt.Fprintln(p.w, strings.Join(cells, "\t"))
}

func (p *cataloguePrinter) legend() {
	p.gap()
	fmt.Fprintln(p.w, "Sources")
	for i, s := range p.sources {
		fmt.Fprintf(p.w, "%3d  %s\n", i+1, s)
	}
	fmt.Fprintln(p.w, "  ?  no source: weft only warns on it\n  -  not known")
}

// A value is a fact as a table shows it.
type value struct{ text, source string }

func cell[T any](f catalogue.Fact[T]) value {
	if !f.Known {
		return value{text: "-"}
	}
	v := value{source: f.Source}
	switch x := any(f.Value).(type) {
	case []string:
		v.text = strings.Join(x, ", ")
	case []int:
		v.text = list(x)
	case map[string]int:
		v.text = ports(x)
	default:
		v.text = fmt.Sprint(x)
	}
	if !f.Proven() {
		v.text += "?"
	}
	return v
}

// short keeps a list of many to its first; JSON has them all.
func short(v value) value {
	if all := strings.Split(v.text, ", "); len(all) > 1 {
		v.text = text.List(all, 1)
	}
	return v
}

func list(numbers []int) string {
	s := slice.Map(numbers, strconv.Itoa)
	return strings.Join(s, ", ")
}

// ports writes how many ports there are of each speed, the fastest last: 48×25G 6×100G.
func ports(bySpeed map[string]int) string {
	speeds := slices.SortedFunc(maps.Keys(bySpeed), func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	for i, s := range speeds {
		speeds[i] = fmt.Sprintf("%d×%sG", bySpeed[s], s)
	}
	return strings.Join(speeds, " ")
}
