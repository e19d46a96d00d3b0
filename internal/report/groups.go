package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/latency"
	"weft/internal/prove"
	"weft/internal/view"
)

// A group are the rows that one curve stands for: of a plane and what carried
// them, or of the storages themselves.
type group struct {
	Name  string
	Size  int
	Probe string // as of a row
	Rows  int
	Hist  *latency.Histogram
	local bool
}

// grouped merges the rows of each size, plane and transport. It decodes one
// histogram at a time: each takes a lot of memory.
func grouped(res *prove.Result) ([]group, error) {
	var out []group
	for _, row := range slices.Concat(res.Local, res.Rows) {
		if !known(row) || row.Histogram == "" {
			continue
		}
		g := group{Size: row.Size, Probe: row.Probe, Name: "plane " + plane(row) + " over " + over(row)}
		if row.Plane == "" {
			g.Name = "over " + over(row)
		}
		if g.local = row.Transport == "local"; g.local {
			g.Name = "the storage itself"
		}
		h := latency.New()
		if err := h.UnmarshalText([]byte(row.Histogram)); err != nil {
			return nil, fmt.Errorf("%s: %w", row.Pair(), err)
		}
		i := slices.IndexFunc(out, func(o group) bool { return o.Probe == g.Probe && o.Size == g.Size && o.Name == g.Name })
		if i < 0 {
			g.Hist = latency.New()
			out, i = append(out, g), len(out)
		}
		out[i].Hist.Merge(h)
		out[i].Rows++
	}
	slices.SortStableFunc(out, func(a, b group) int { return cmp.Or(cmp.Compare(a.Probe, b.Probe), a.Size-b.Size) })
	return out, nil
}

// A change is what became of a group between two measurements.
type change struct {
	Name, Size    string
	Before, After string // p99
	Share         string
	from, to      float64 // nanoseconds
}

// changes compare the groups that both measurements have.
func changes(before, after []group) []change {
	var out []change
	for _, b := range before {
		i := slices.IndexFunc(after, func(a group) bool { return a.Probe == b.Probe && a.Size == b.Size && a.Name == b.Name })
		if i < 0 {
			continue
		}
		from, to := b.Hist.Quantile(0.99), after[i].Hist.Quantile(0.99)
		of := &prove.Row{Probe: b.Probe}
		of.Size = b.Size
		c := change{Name: b.Name, Size: size(of), Before: view.Duration(from), After: view.Duration(to), from: float64(from), to: float64(to)}
		if from > 0 {
			c.Share = strings.Replace(fmt.Sprintf("%+.0f %%", 100*(c.to-c.from)/c.from), "-", "−", 1)
		}
		out = append(out, c)
	}
	return out
}

// A grid is what every initiator has of every target over one plane.
type grid struct {
	Title      string
	Rows, Cols []string // initiators, targets
	Cells      [][]*prove.Row
}

// grids are the rows of one size, 4 KiB where that was measured, by plane.
func grids(res *prove.Result) []grid {
	if len(res.Rows) == 0 {
		return nil
	}
	probe, size := res.Rows[0].Probe, res.Rows[0].Size // reads come first
	if slices.ContainsFunc(res.Rows, func(r *prove.Row) bool { return r.Probe == probe && r.Size == preferred }) {
		size = preferred
	}
	var out []grid
	at := map[string]int{}
	for _, row := range res.Rows {
		if row.Probe != probe || row.Size != size {
			continue
		}
		key := row.Plane + " " + row.Over()
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			title := "over " + row.Over()
			if row.Plane != "" {
				title = "plane " + row.Plane + " " + title
			}
			out = append(out, grid{Title: view.Measured(probe, size) + ", " + title})
		}
		out[i].put(row)
	}
	return out
}

const preferred = 4096

// put places a row in the grid.
func (g *grid) put(row *prove.Row) {
	to := row.Target
	if row.At != "" {
		to += " at " + row.At
	}
	r, c := slices.Index(g.Rows, row.Initiator), slices.Index(g.Cols, to)
	if r < 0 {
		r = len(g.Rows)
		g.Rows, g.Cells = append(g.Rows, row.Initiator), append(g.Cells, nil)
	}
	if c < 0 {
		c = len(g.Cols)
		g.Cols = append(g.Cols, to)
	}
	for len(g.Cells[r]) <= c {
		g.Cells[r] = append(g.Cells[r], nil)
	}
	g.Cells[r][c] = row
}
