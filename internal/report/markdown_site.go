package report

import (
	"strings"

	"weft/internal/slice"
)

// markdownWorth writes what RDMA costs and saves by the site's figures.
func (r *Report) markdownWorth(p *printer) {
	if r.Figures == nil {
		return
	}
	p.line("\n## What RDMA costs and saves\n\n%s", r.Figures.Premium())
	list := r.Paybacks()
	for i, b := range list {
		if i == 0 {
			p.line("\n| reads | cores saved | money saved a month | months until it is paid back |\n|---|---|---|---|")
		}
		if b.Why != "" {
			p.line("| %s | %s | | |", b.Size, cell("not measured: "+b.Why))
			continue
		}
		p.line("| %s | %s | %s | %s |", b.Size, b.Spared, b.Saved, b.After)
	}
	switch {
	case len(list) > 0:
		p.line("\nFrom the least to the most of all pairs, with 95 %% of confidence. %s", notCounted)
	case len(r.compared()) == 0:
		p.line("\nNot calculated: RDMA and TCP were not compared (weft verify --compare).")
	}
}

// markdownDevices writes what devices have counted, what they are, and what was not measured.
func (r *Report) markdownDevices(p *printer) {
	if c := r.Counted(); c != nil {
		p.line("\n## Counters before and after\n\n%d grew, %d did not.", len(c.Grown)+c.More, c.Still)
		for i, g := range c.Grown[:min(len(c.Grown), mostGrownText)] {
			if i == 0 {
				p.line("\n| device | port | priority | counter | before | after | growth |\n|---|---|---|---|---|---|---|")
			}
			p.line("| %s | %s | %s | %s | %d | %d | %s |", cell(g.Device), cell(g.Port), g.Priority, cell(g.Name), g.Before, g.After, g.By())
		}
	}
	if h := r.Hardware; h != nil {
		p.line("\n## Hardware\n\nAs devices said of themselves, %s.", h.Age())
		for _, text := range h.Against {
			p.line("\n**! %s**", cell(text))
		}
		for _, t := range h.Tables {
			if len(t.Rows) == 0 {
				continue
			}
			p.line("\n| %s |\n|%s", strings.Join(t.Head, " | "), strings.Repeat("---|", len(t.Head)))
			for _, row := range t.Rows {
				cells := slice.Map(row, cell)
				p.line("| %s |", strings.Join(cells, " | "))
			}
		}
	}
	for i, g := range r.NotMeasured() {
		if i == 0 {
			p.line("\n## What was not measured\n\n| what | where | why |\n|---|---|---|")
		}
		p.line("| %s | %s | %s |", cell(g.What), cell(g.Where()), cell(g.Why))
	}
}

// mostGrownText is how many counters the Markdown shows; the page has more, the JSON all.
const mostGrownText = 20
