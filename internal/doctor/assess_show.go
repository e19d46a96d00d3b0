package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/review"
	"weft/internal/text"
)

// JSON writes the assessment as one document.
func (a *Assessment) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(a)
}

// mark shows a fitness in one sign and its word.
func (f Fitness) mark() string {
	return map[Fitness]string{Ready: "✓ ready", Unknown: "? unknown", Needs: "✗ needs"}[f]
}

// Text writes the assessment for a terminal.
func (a *Assessment) Text(w io.Writer) {
	for _, kind := range []string{"server", "switch", "array"} {
		head := false
		for _, x := range a.Subjects {
			if x.Kind != kind {
				continue
			}
			if !head {
				fmt.Fprintln(w, map[string]string{"server": "Servers", "switch": "Switches", "array": "Arrays"}[kind])
				head = true
			}
			fmt.Fprintf(w, "  %-9s  %s%s\n", x.State.mark(), x.Device, behind("  ", x.At))
			for _, one := range x.Answers {
				fmt.Fprintf(w, "      %-9s  %-9s  %s%s  (%s)\n", one.State.mark(), one.What, before(one.Part, ": "), one.Text, one.Source)
			}
			if kind == "server" && x.host != nil {
				fmt.Fprintf(w, "      supported RDMA: %s\n", x.Does())
			}
		}
		if head {
			fmt.Fprintln(w)
		}
	}
	for _, line := range a.conclusion() {
		fmt.Fprintln(w, line)
	}
}

func before(text, sign string) string {
	if text == "" {
		return ""
	}
	return text + sign
}

func known(list []string, unsure bool) string {
	text := strings.Join(list, ", ")
	switch {
	case text == "" && unsure:
		return "not known"
	case text == "":
		return "none"
	case unsure:
		return text + ", and perhaps more"
	}
	return text
}

// conclusion is what follows from all of it.
func (a *Assessment) conclusion() (lines []string) {
	for _, f := range a.Flavours {
		line := fmt.Sprintf("%-10s  supported by %d", f.Name, len(f.Can))
		if len(f.Cannot) > 0 {
			line += fmt.Sprintf("; not by %d: %s", len(f.Cannot), text.List(f.Cannot, mostPlaces))
		}
		if len(f.Unknown) > 0 {
			line += fmt.Sprintf("; %d unknown: %s", len(f.Unknown), text.List(f.Unknown, mostPlaces))
		}
		lines = append(lines, line)
	}
	if a.Choice != "" {
		lines = append(lines, "RDMA for all: "+a.Choice+" ("+a.Why+")")
	} else {
		lines = append(lines, "RDMA for all: none ("+a.Why+")")
	}
	if a.Pair == nil {
		return append(lines, "To pilot with: no pair ("+a.NoPair+")")
	}
	p := a.Pair
	lines = append(lines, fmt.Sprintf("To pilot with: %s as target, %s as initiator, over %s (%s)", p.Target, p.Initiator, p.Flavour, strings.Join(p.Why, "; ")))
	for _, need := range p.Needs {
		lines = append(lines, "  before that, "+need)
	}
	return lines
}

// Markdown writes the assessment for a comment or a wiki.
func (a *Assessment) Markdown(w io.Writer) {
	fmt.Fprintf(w, "## weft doctor --assess: %s\n", cell(a.Owner))
	if a.Simulated {
		fmt.Fprint(w, "\n**SIMULATED: read from weft's lab.**\n")
	}
	fmt.Fprint(w, "\n| | device | what | says | source |\n|---|---|---|---|---|\n")
	for _, x := range a.Subjects {
		fmt.Fprintf(w, "| **%s** | %s%s | | %s | |\n", x.State, cell(x.Device), behind(" ", cell(x.At)), cell(x.Does()))
		for _, one := range x.Answers {
			fmt.Fprintf(w, "| %s | | %s | %s%s | %s |\n", one.State, one.What, cell(before(one.Part, ": ")), cell(one.Text), cell(one.Source))
		}
	}
	fmt.Fprintln(w)
	for _, line := range a.conclusion() {
		fmt.Fprintf(w, "- %s\n", cell(strings.TrimSpace(line)))
	}
}

// questions are what answers are about, for people.
func questions() map[string]string {
	return map[string]string{
		"catalogue": "the catalogue entry of the model", "system": "the system of a machine", "pcie": "PCIe bandwidth compared with the speed of a NIC", "rdma": "the RDMA protocols of a NIC",
		"drives": "the drives of a machine", "model": "the model of a switch", "release": "the release of a device", "pfc": "PFC of a switch", "ecn": "ECN of a switch",
		"nvme-of": "NVMe over Fabrics support of an array",
	}
}

// SARIF adds what is needed and what is not known to a log, and what follows from it; what
// stands in no file has a logical place.
func (a *Assessment) SARIF(l *review.Log) {
	for _, x := range a.Subjects {
		for _, one := range x.Answers {
			level := map[Fitness]string{Needs: "error", Unknown: "warning"}[one.State]
			if one.Aside && level != "" {
				level = "note"
			}
			if level == "" {
				continue
			}
			at := Place{Device: x.Device, Part: one.Part}.String()
			l.Add(review.Result{Rule: "assess/" + one.What, Title: questions()[one.What], Level: level, Identity: at, At: x.place.Range, Logical: at,
				Text: fmt.Sprintf("%s: %s: %s (%s)", at, one.State, one.Text, one.Source)})
		}
	}
	for _, line := range a.conclusion() {
		line = strings.TrimSpace(line)
		l.Add(review.Result{Rule: "assess/conclusion", Title: "conclusion", Level: "note", Text: line, Identity: line, Logical: "assessment"})
	}
}

// Incomplete reports whether something of it is not known.
func (a *Assessment) Incomplete() bool {
	return slices.ContainsFunc(a.Subjects, func(x Subject) bool { return x.State == Unknown })
}
