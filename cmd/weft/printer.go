package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weft/internal/findings"
	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

// A printer is how a command speaks: to a person, or in JSON to a program.
type printer struct {
	opts *options

	stdin          io.Reader
	stdout, stderr io.Writer
	document       io.Writer      // standard output, of a file that is written there; stdout is then stderr
	names          findings.Names // of devices and ports of the files
	started        bool           // the command has begun: --json events may be written
	once           sync.Once      // where events go is known when the first is shown
	sink           plan.Emit
}

// screens puts screens before the streams, and returns that of the standard output
// and how they end.
func (p *printer) screens() (stdout *view.Screen, end func()) {
	stdout, stderr := view.NewScreen(p.stdout), view.NewScreen(p.stderr)
	p.stdout, p.stderr = stdout, stderr
	return stdout, func() { _ = errors.Join(stdout.Close(), stderr.Close()) } // nobody is left to be told
}

// stream is what a writer of the app's leads to: for documents to the letter,
// and for programs that have the terminal to themselves.
func stream(w io.Writer) io.Writer {
	if s, ok := w.(*view.Screen); ok {
		return s.Stream()
	}
	return w
}

// events is the annotation of commands that hand stdout to another program, and
// so do not take --json.
const events = "events"

func noEvents() map[string]string { return map[string]string{events: "none"} }

// begin opens the stream of events of a command.
func (p *printer) begin(cmd *cobra.Command) {
	p.started = true
	if p.opts.json {
		p.emit(plan.Event{Type: plan.EventVersion, Message: "weft " + version(),
			Data: map[string]any{"weft": version(), "ui": "1.0", "command": cmd.Name(), "simulated": p.opts.lab}})
	}
}

// does is what a command runs: do, once its stream of events is open.
func (p *printer) does(do func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		p.begin(cmd)
		return do(cmd.Context(), args)
	}
}

// emit shows an event: as JSON on stdout, or as progress on stderr.
func (p *printer) emit(e plan.Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	p.once.Do(func() {
		if p.opts.json {
			p.sink = view.JSON(p.stdout)
		} else {
			p.sink = view.Progress(p.stderr, p.style(p.stderr))
		}
	})
	p.sink(e)
}

// style dresses text for a stream.
func (p *printer) style(w io.Writer) view.Style {
	color := p.opts.color == "always" || p.opts.color == "auto" && onTerminal(w) && os.Getenv("NO_COLOR") == ""
	if s, ok := w.(*view.Screen); ok {
		style := s.Style(color)
		style.Verbose, style.Names, style.Width = p.opts.verbose, p.names, widthOf(w)
		return style
	}
	return view.Style{Color: color, Verbose: p.opts.verbose, Names: p.names, Width: widthOf(w)}
}

// summary reports the end of a run: the error for people, and for machines
// the last event of the stream.
func (p *printer) summary(code int, err error) {
	var quiet *quietError
	if p.opts.json && (p.started || code != exitDone) {
		e := plan.Event{Type: plan.EventRunSummary, Message: exitText(code), Data: map[string]any{"exit_code": code}}
		if err != nil {
			if !errors.As(err, &quiet) {
				e.Data["error"] = err.Error()
				if h := hint.Of(err); h != "" {
					e.Data["hint"] = h
				}
			}
			if failed := new(commandError); errors.As(err, &failed) {
				e.Message = failed.Error()
			}
			if told := (*toldError)(nil); errors.As(err, &told) {
				e.Message = told.text
			}
			if code != exitChanges && code != exitDone {
				e.Level = "error"
			}
		}
		p.emit(e)
		return
	}
	if err == nil || errors.As(err, &quiet) {
		return
	}
	fmt.Fprintf(p.stderr, "error: %v\n", err)
	if h := hint.Of(err); h != "" {
		fmt.Fprintf(p.stderr, "  hint: %s\n", h)
	}
}

// encode writes one JSON document for people and machines.
func (p *printer) encode(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// say writes a line for people, or an event.
func (p *printer) say(text string) {
	if p.opts.json {
		p.emit(plan.Event{Type: plan.EventNote, Message: text})
		return
	}
	fmt.Fprintln(p.stdout, text)
}

// says shows what a device has to say while something takes long.
func (p *printer) says(device, text string) {
	p.emit(plan.Event{Type: plan.EventHeartbeat, Device: device, Message: text})
}

// report shows diagnostics; it returns an error when one of them is.
func (p *printer) diagnose(m *inventory.Model, diags hcl.Diagnostics) error {
	if p.opts.json {
		for _, d := range diags {
			p.emit(diagnosticEvent(d))
		}
	} else if len(diags) > 0 {
		p.names = namesIn(m)
		if err := view.Diagnostics(p.stderr, p.style(p.stderr), m.Files, diags); err != nil {
			return err
		}
	}
	if diags.HasErrors() {
		return &quietError{exitError}
	}
	return nil
}

func diagnosticEvent(d *hcl.Diagnostic) plan.Event {
	e := plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: d.Summary,
		Data: map[string]any{"summary": d.Summary, "detail": d.Detail}}
	if d.Severity == hcl.DiagWarning {
		e.Level = "warn"
	}
	if d.Subject != nil {
		e.Data["range"] = view.Place(*d.Subject)
	}
	return e
}

// lost is the event of a device that cannot be reached.
func (p *printer) lost(device string, err error) {
	data := map[string]any{"error": err.Error()}
	text := device + " cannot be reached: " + err.Error()
	if h := hint.Of(err); h != "" {
		data["hint"] = h
	}
	p.emit(plan.Event{Type: plan.EventConnect, Level: "error", Device: device, Message: text, Data: data})
}

// lostAll says which devices cannot be reached: an event for each with --json, for people those
// with one reason together.
func (p *printer) lostAll(devices []string, lost map[string]error) {
	var list []view.Lost
	for _, d := range devices {
		err := lost[d]
		if err == nil {
			continue
		}
		if p.opts.json {
			p.lost(d, err)
		}
		list = append(list, view.Lost{Device: d, Text: err.Error(), Hint: hint.Of(err)})
	}
	if !p.opts.json {
		view.NotReached(p.stderr, list, " cannot be reached: ", p.style(p.stderr))
	}
}

func (p *printer) emitConclusions(checks []prove.Check, outputs []prove.Output) {
	for _, c := range checks {
		e := plan.Event{Type: plan.EventVerdict, Message: string(c.Verdict) + " " + c.Name, Data: map[string]any{"check": c}}
		if c.Verdict == prove.Fail {
			e.Level = "error"
		}
		p.emit(e)
	}
	for _, o := range outputs {
		p.emit(plan.Event{Type: plan.EventOutput, Message: o.Name, Data: map[string]any{"output": o}})
	}
}

func (p *printer) emitJudgements(list []prove.Judgement) {
	for _, j := range list {
		e := plan.Event{Type: plan.EventVerdict, Message: string(j.Verdict) + " " + j.Metric + " " + j.Pair,
			Data: map[string]any{"judgement": j}}
		if j.Verdict == prove.Fail {
			e.Level = "error"
		}
		p.emit(e)
	}
}

// autoApprove adds the flag that answers what confirm asks.
func autoApprove(cmd *cobra.Command, approve *bool) {
	cmd.Flags().BoolVar(approve, "auto-approve", false, "skip the confirmation")
}

// confirm asks whoever sits at the terminal. otherwise says what has not
// happened where the answer is no, advice what to do where nobody is asked.
func (p *printer) confirm(approve bool, question, otherwise, advice string) error {
	if approve {
		return nil
	}
	if f, ok := p.stdin.(*os.File); !ok || p.opts.json || !isTerminal(f) {
		return usage(hint.Wrap(errors.New("there is no terminal to ask at"), "%s", advice))
	}
	fmt.Fprintf(p.stderr, "\n%s Only \"yes\" is taken: ", question)
	answer, _ := bufio.NewReader(p.stdin).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errors.New(otherwise + ": the answer was not yes")
	}
	return nil
}

// onTerminal reports whether a stream leads to a person.
func onTerminal(stream any) bool {
	if s, ok := stream.(*view.Screen); ok {
		stream = s.Stream()
	}
	f, ok := stream.(*os.File)
	return ok && isTerminal(f)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// widthOf is how many characters a line of a terminal has; 0: the stream is none, or its width
// is not known.
func widthOf(stream any) int {
	if s, ok := stream.(*view.Screen); ok {
		stream = s.Stream()
	}
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
