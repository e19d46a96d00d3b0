package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"weft/internal/discover"
	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/plan"
)

// discovered shows what was found, and writes the files where they are proven.
func (di *discoverer) discovered(ctx context.Context, site *discover.Site, r *discover.Result, out string) error {
	di.showFindings(r)
	if n := len(r.Failed); n > 0 {
		di.showFailed(r.Failed)
		if len(r.Keys) > 0 {
			di.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "the proof takes keys from " + strings.Join(r.Keys, ", ") + ": set each of them to the key on the device"})
		}
		if r.Silent {
			return &codeError{exitUnreachable, hint.Wrap(fmt.Errorf("the files are not proven, and nothing is written: not every device answered a second time, the first: %s", r.Failed[0]), "discover again when it answers: the proof reads what was read before")}
		}
		todo := "discover cannot write a block for the named resource, or it differs from its ledger"
		if r.InPart {
			todo = "weft was applied there in part, or it was changed since: with --want the files say what the fabric asks for, and weft plan shows what is missing; " + todo
		}
		return hint.Wrap(fmt.Errorf("the files are not proven, and nothing is written: %d things would change or are refused, the first: %s", n, r.Failed[0]), "%s", todo)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	var texts []document
	for name, content := range r.Files {
		texts = append(texts, document{free(out, name), content})
	}
	slices.SortFunc(texts, func(a, b document) int { return strings.Compare(a.name, b.name) })
	if err := writeNew(ctx, out, texts); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	di.showDiscovered(r, texts, out)
	errs := len(slice.Filter(r.Findings, func(f discover.Finding) bool { return f.Severity == discover.Error }))
	switch {
	case len(site.Lost) > 0:
		return &quietError{exitUnreachable}
	case errs > 0:
		return &toldError{exitFailed, fmt.Sprintf("the files are written to %s; errors were found: %d", out, errs)}
	}
	return nil
}

// proof is what the plan with the files has shown.
func proof(r *discover.Result) string {
	if r.Changes > 0 {
		return fmt.Sprintf("As wanted: the files validate, and a plan with them changes %d things, which are listed above.", r.Changes)
	}
	if r.Stood > 0 {
		return fmt.Sprintf("Proven: the files validate, and what is added changes nothing. A plan changes %d things of what stood in the files before, with it and without, which are listed above.", r.Stood)
	}
	return "Proven: the files validate, and a plan with them changes nothing."
}

// nothingToAdd says why no file is written.
func nothingToAdd(r *discover.Result, out string) string {
	if n := r.ByHand(); n > 0 {
		return fmt.Sprintf("No file was written: add the lines above (%[2]d) to the blocks in %[1]s.", out, n)
	}
	return fmt.Sprintf("Nothing to add: %s contains everything.", out)
}

// mostFailed is how many reasons are shown; --json has all.
const mostFailed = 20

func (di *discoverer) showFailed(list []string) {
	if di.opts.json {
		for _, text := range list {
			di.out.emit(plan.Event{Type: plan.EventNote, Level: "error", Message: text, Data: map[string]any{"not_proven": text}})
		}
		return
	}
	fmt.Fprintln(di.out.stdout, "\nNot proven")
	for _, text := range list[:min(len(list), mostFailed)] {
		fmt.Fprintln(di.out.stdout, "  "+text)
	}
	if more := len(list) - mostFailed; more > 0 {
		fmt.Fprintf(di.out.stdout, "  and %d more: --json has all\n", more)
	}
}

func (di *discoverer) showFindings(r *discover.Result) {
	for _, f := range r.Findings {
		level := map[discover.Severity]string{discover.Error: "error", discover.Warn: "warn"}[f.Severity]
		if di.opts.json {
			di.out.emit(plan.Event{Type: plan.EventNote, Level: level, Device: f.Device, Message: f.Text, Data: map[string]any{"finding": f}})
		}
	}
	if di.opts.json {
		return
	}
	var remarks []view.Remark
	for _, f := range r.Findings {
		remarks = append(remarks, view.Remark{Device: f.Device, Text: string(f.Severity) + ": " + f.Text, Hint: f.Hint, Refuses: f.Severity == discover.Error})
	}
	s := di.out.style(di.out.stdout)
	view.Heading(di.out.stdout, s, "discover", r.Owner, di.opts.lab)
	view.Remarks(di.out.stdout, remarks, s)
	for _, f := range r.Findings {
		if f.Lines != nil {
			fmt.Fprintf(di.out.stdout, "\n%s: %s\n", f.Device, f.Text)
			for _, line := range f.Lines {
				fmt.Fprintln(di.out.stdout, strings.TrimRight("    "+line, " "))
			}
		}
	}
}

func (di *discoverer) showDiscovered(r *discover.Result, texts []document, out string) {
	c := r.Coverage
	lines := []string{
		fmt.Sprintf("%d of %d switches are in a fabric, %d servers with %d of %d NIC ports", c.FabricsOfSwitch, c.Switches, c.Servers, c.NICs, c.NICsSeen),
		fmt.Sprintf("%d cables of %d LLDP neighbours are known by both ends", c.Cables, c.Heard),
		fmt.Sprintf("%d pools, %d volumes, %d targets with %d namespaces, %d initiators", c.Pools, c.Volumes, c.Targets, c.Namespaces, c.Connections),
	}
	if c.VCenters > 0 {
		lines = append(lines, fmt.Sprintf("%d vCenters with %d distributed switches, %d virtual machines with adapters for RDMA", c.VCenters, c.DVSwitches, c.VMs))
	}
	if di.opts.json {
		for _, t := range texts {
			di.out.emit(plan.Event{Type: eventFile, Message: "wrote " + t.name, Data: map[string]any{"file": filepath.Join(out, t.name)}})
		}
		di.out.emit(plan.Event{Type: plan.EventNote, Message: proof(r), Data: map[string]any{"coverage": c, "begins": r.Begins, "changes": r.Changes, "stood": r.Stood, "by_hand": r.ByHand(), "keys": r.Keys}})
		return
	}
	fmt.Fprintln(di.out.stdout, "\nRead")
	for _, l := range lines {
		fmt.Fprintln(di.out.stdout, "  "+l)
	}
	if len(texts) == 0 {
		fmt.Fprintf(di.out.stdout, "\n%s\n", nothingToAdd(r, out))
		return
	}
	fmt.Fprintf(di.out.stdout, "\nWrote into %s:\n", out)
	for _, t := range texts {
		fmt.Fprintf(di.out.stdout, "  %s\n", t.name)
	}
	fmt.Fprintln(di.out.stdout, "\n"+proof(r))
	if n := len(r.Begins); n > 0 {
		fmt.Fprintf(di.out.stdout, "The first apply begins or brings up to date the ledger of %d devices, and changes nothing else there: plan lists it.\n", n)
	}
	names := append(slices.Clone(r.Passwords), r.Keys...)
	if c.Switches > 0 {
		names = append([]string{discover.SwitchPassword}, names...)
	}
	if c.VCenters > 0 {
		names = append(names, discover.VCenterPassword)
	}
	if len(names) > 0 {
		fmt.Fprintf(di.out.stdout, "Set %s before weft is used with them.\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(di.out.stdout, "\nNext:\n  %s\n", remote.Quote("weft", "-C", out, "plan"))
}
