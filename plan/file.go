package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/slice"
)

// MaxFile is the largest plan file that is read, in bytes: several times the
// plan of 10,000 servers in which everything changes.
const MaxFile = 1 << 30

// file is a plan as it stands in its file. Its fields hide those of the plan:
// the ranges of steps, notes and refusals are text, and what is long is last.
type file struct {
	Plan
	Steps    []fileStep                 `json:"steps"`
	Notes    []fileNote                 `json:"notes,omitempty"`
	Refusals []fileRefusal              `json:"refusals,omitempty"`
	Inputs   map[string]json.RawMessage `json:"inputs,omitempty"`
	Sources  map[string]string          `json:"sources,omitempty"`
}

// shown is a plan file that is shown next to something else.
type shown struct {
	file
	Uses any `json:"uses"`
}

type fileStep struct {
	PlannedStep
	Range rangeText `json:"range"`
}

func (s fileStep) step() PlannedStep {
	s.PlannedStep.Range = hcl.Range(s.Range)
	return s.PlannedStep
}

type fileNote struct {
	Note
	Range rangeText `json:"range"`
}

type fileRefusal struct {
	Refusal
	Range rangeText `json:"range"`
}

// rangeText is a range as file:line,col; "" is no range.
type rangeText hcl.Range

func (r rangeText) MarshalText() ([]byte, error) { return []byte(place(hcl.Range(r))), nil }

func (r *rangeText) UnmarshalText(b []byte) error {
	*r = rangeText{}
	s := string(b)
	if s == "" {
		return nil
	}
	comma := strings.LastIndexByte(s, ',')
	colon := strings.LastIndexByte(s[:max(comma, 0)], ':')
	if colon < 0 {
		return fmt.Errorf("%q is not file:line,col", s)
	}
	line, err1 := strconv.ParseUint(s[colon+1:comma], 10, 31)
	col, err2 := strconv.ParseUint(s[comma+1:], 10, 31)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("%q is not file:line,col", s)
	}
	at := hcl.Pos{Line: int(line), Column: int(col)}
	*r = rangeText{Filename: s[:colon], Start: at, End: at}
	return nil
}

// DigestOf names a plan file by its content.
func DigestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + hex.EncodeToString(sum[:])
}

// Write writes the plan file: indented JSON with what the caller of Make gave
// and the devices reported, nothing else.
func (p *Plan) Write(w io.Writer) error { return writeJSON(w, p.file()) }

// WriteWith writes the same with something else in it, under "uses". That is
// for readers: it is no plan file any more.
func (p *Plan) WriteWith(w io.Writer, uses any) error { return writeJSON(w, shown{p.file(), uses}) }

// file is the plan as it stands in its file.
func (p *Plan) file() file {
	f := file{Plan: *p, Steps: make([]fileStep, 0, len(p.Steps)), Inputs: p.Inputs, Sources: p.Sources}
	for _, s := range p.Steps {
		f.Steps = append(f.Steps, fileStep{s, rangeText(s.Range)})
	}
	f.Notes = slice.Map(p.Notes, func(n Note) fileNote { return fileNote{n, rangeText(n.Range)} })
	f.Refusals = slice.Map(p.Refusals, func(r Refusal) fileRefusal { return fileRefusal{r, rangeText(r.Range)} })
	return f
}

func writeJSON(w io.Writer, what any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // people read it
	e.SetIndent("", "  ")
	if err := e.Encode(what); err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return nil
}

// ReadPlan reads what Write wrote. It refuses other formats, unknown fields,
// anything after the plan, and steps that do not fit together. Ranges have
// only file and start.
func ReadPlan(r io.Reader) (*Plan, error) { return readPlan(r, MaxFile) }

func readPlan(r io.Reader, limit int64) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("read plan: more than %d bytes", limit)
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		// The fields of another format are unknown for that reason.
		if err := checkFormat(text); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("read plan: %w", brief(err))
	}
	if err := checkFormat(text); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errFollowed
	}
	p, err := f.plan()
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", brief(err))
	}
	return p, nil
}

// headSize is more bytes than the fields take that each plan file begins with.
const headSize = 256

var (
	errNoPlan   = errors.New("read plan: this is not a plan file")
	errFollowed = errors.New("read plan: something follows the plan")
)

// noPlan is what is wrong with a text that is no JSON of a plan.
func noPlan(text []byte, err error) error {
	if err == nil || !bytes.Contains(text[:min(len(text), headSize)], []byte(`"weft_version"`)) {
		return errNoPlan
	}
	return hint.Wrap(fmt.Errorf("read plan: it is cut off, or damaged: %w", err), "copy it once more, or plan again")
}

// checkFormat looks at the format number alone.
func checkFormat(text []byte) error {
	var head struct {
		Format  *int   `json:"format"`
		Version string `json:"weft_version"`
	}
	// Only the first value: what follows it is judged elsewhere.
	err := json.NewDecoder(bytes.NewReader(text)).Decode(&head)
	if err != nil || head.Format == nil {
		return noPlan(text, err)
	}
	if *head.Format >= oldest && *head.Format <= Format {
		return nil
	}
	err = fmt.Errorf("read plan: the file has format %d, this weft reads format %d to %d", *head.Format, oldest, Format)
	if head.Version != "" {
		return hint.Wrap(err, "use weft %s, which wrote it, or plan again", head.Version)
	}
	return hint.Wrap(err, "use the weft that wrote it, or plan again")
}

// plan takes the ranges over and checks the whole.
func (f *file) plan() (*Plan, error) {
	p := f.Plan
	p.Inputs, p.Sources = f.Inputs, f.Sources
	p.Steps = make([]PlannedStep, 0, len(f.Steps))
	p.Steps = append(p.Steps, slice.Map(f.Steps, fileStep.step)...)
	for _, n := range f.Notes {
		n.Note.Range = hcl.Range(n.Range)
		p.Notes = append(p.Notes, n.Note)
	}
	for _, r := range f.Refusals {
		r.Refusal.Range = hcl.Range(r.Range)
		p.Refusals = append(p.Refusals, r.Refusal)
	}
	for name, value := range p.Inputs { // undo the file's indentation
		var b bytes.Buffer
		if err := json.Compact(&b, value); err != nil {
			return nil, err
		}
		p.Inputs[name] = b.Bytes()
	}
	if p.Run != "" && RunBegan(p.Run).IsZero() {
		return nil, fmt.Errorf("%q is no name of a run", p.Run)
	}
	if err := p.checkFields(); err != nil {
		return nil, err
	}
	if _, err := p.stepGraph(); err != nil {
		return nil, err
	}
	return &p, nil
}
