package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"weft/internal/run"
	"weft/plan/rollout"
)

// A stage is how far a phase has come on a device.
type stage int

const (
	nothing  stage = iota // it has nothing to do there
	todo                  // not begun
	partly                // some of it is done
	now                   // being carried out, or cut off
	done                  // carried out, not proven
	proven                // its gate has passed
	reverted              // rolled back
	failed
	stages
)

// words say what the colour of a cell says.
func (s stage) String() string {
	return [...]string{"nothing to do", "to do", "partly done", "at work", "done, not proven", "proven", "rolled back", "failed"}[s]
}

// Class is the colour.
func (s stage) Class() string {
	return [...]string{"nothing", "todo", "partly", "now", "done", "proven", "reverted", "failed"}[s]
}

// Mark is a sign, for those who see no colours.
func (s stage) Mark() string {
	return [...]string{"", "·", "◐", "…", "●", "✓", "↩", "✗"}[s]
}

// A cell is what a phase does on a device.
type cell struct {
	Stage     stage
	All, Done int // steps
}

// Text is the cell in few words.
func (c cell) Text() string {
	if c.All == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d/%d", c.Stage.Mark(), c.Done, c.All)
}

// deviceRow is a device over all phases.
type deviceRow struct {
	Device string
	Cells  []cell // in the order of the phases
}

// devicesShown is the state of devices by phase.
type devicesShown struct {
	Phases  []string
	Rows    []deviceRow     // where there are few enough to read
	Blocks  []template.HTML // else a picture for each phase
	Counts  [][]int         // by phase, then by stage
	Stages  []stage
	Devices int
	Worth   []string // devices that are at work or have failed, where there are many
}

// readable is how many devices are listed by name.
const readable = 150

func devicesOf(pic *run.Picture) *devicesShown {
	rows := rowsOf(pic)
	d := &devicesShown{Devices: len(rows)}
	for s := range stages {
		d.Stages = append(d.Stages, s)
	}
	for i, p := range pic.Run.Phases {
		d.Phases = append(d.Phases, p.Name)
		counts := make([]int, stages)
		for _, r := range rows {
			counts[r.Cells[i].Stage]++
		}
		d.Counts = append(d.Counts, counts)
	}
	if len(rows) <= readable {
		d.Rows = rows
		return d
	}
	for i := range d.Phases {
		d.Blocks = append(d.Blocks, squares(rows, i, d.Phases[i]))
	}
	for _, r := range rows {
		for i, c := range r.Cells {
			if (c.Stage == now || c.Stage == failed || c.Stage == partly) && len(d.Worth) < readable {
				d.Worth = append(d.Worth, fmt.Sprintf("%s, phase %s: %s, %d of %d", r.Device, d.Phases[i], c.Stage, c.Done, c.All))
			}
		}
	}
	return d
}

// rowsOf counts steps by device and phase, in the order of the plan.
func rowsOf(pic *run.Picture) []deviceRow {
	place, phase := map[string]int{}, map[string]int{}
	for i, p := range pic.Run.Phases {
		phase[p.Name] = i
	}
	var rows []deviceRow
	at := func(device string) int {
		i, ok := place[device]
		if !ok {
			i = len(rows)
			place[device] = i
			rows = append(rows, deviceRow{device, make([]cell, len(pic.Run.Phases))})
		}
		return i
	}
	for _, d := range pic.Plan.Devices {
		at(d.Address)
	}
	for _, s := range pic.Plan.Steps {
		if i, ok := phase[s.Phase]; ok {
			rows[at(s.ID.Device)].Cells[i].All++
		}
	}
	begun := map[string]map[int]bool{}
	for i, p := range pic.Run.Phases {
		for _, s := range p.Steps {
			rows[at(s.ID.Device)].Cells[i].Done++
		}
		for _, s := range p.Begun {
			if begun[s.ID.Device] == nil {
				begun[s.ID.Device] = map[int]bool{}
			}
			begun[s.ID.Device][i] = true
		}
	}
	for r := range rows {
		for i := range rows[r].Cells {
			c := &rows[r].Cells[i]
			c.Stage = stageOf(pic.Run.Phases[i].State, c.All, c.Done, begun[rows[r].Device][i])
		}
	}
	return rows
}

func stageOf(phase rollout.State, all, did int, begun bool) stage {
	switch {
	case all == 0 && did == 0:
		return nothing
	case begun:
		return now
	case phase == rollout.RolledBack:
		return reverted
	case phase == rollout.Reversing && did > 0:
		return now
	case phase == rollout.Passed:
		return proven
	case phase == rollout.Failed && did > 0:
		return failed
	case did == 0:
		return todo
	case did < all:
		return partly
	}
	return done
}

// squares draws a phase over many devices, a square for each.
func squares(rows []deviceRow, phase int, name string) template.HTML {
	const side, columns = 12, 64
	var by [stages]strings.Builder
	for i, r := range rows {
		fmt.Fprintf(&by[r.Cells[phase].Stage], "M%d %dh10v10h-10z", i%columns*side, i/columns*side)
	}
	var b strings.Builder
	width, height := columns*side, (len(rows)+columns-1)/columns*side
	fmt.Fprintf(&b, `<svg width="%d" viewBox="0 0 %d %d" role="img" aria-label="%s">`, width, width, height, template.HTMLEscapeString("devices of phase "+name))
	for s := range by {
		if by[s].Len() > 0 {
			fmt.Fprintf(&b, `<path class="t-%s" d="%s"><title>%s</title></path>`, stage(s).Class(), by[s].String(), stage(s))
		}
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // the name is escaped, the rest is weft's own
}

// stepsAt are the steps that touch a port of a device, by how far they have come.
type stepsAt struct {
	all, did int
	begun    bool
	phases   []rollout.State // of those phases
}

func (s stepsAt) plus(o stepsAt) stepsAt {
	return stepsAt{s.all + o.all, s.did + o.did, s.begun || o.begun, slices.Concat(s.phases, o.phases)}
}
