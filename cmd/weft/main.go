// Command weft rolls out RDMA storage fabrics that are described in HCL, and
// proves that they work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata" // a window means its zone also where the machine knows none

	"github.com/spf13/cobra"

	"weft/internal/bundle"
	"weft/internal/findings"
	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
)

func main() {
	collectLate()
	os.Exit(weft(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// collectLate has garbage collected for the first time when there are 32 MiB, and not 4:
// most commands end before. From then on all is as usual: a collection finds what nobody
// holds. It has a pointer, as what is small and has none shares its place with others, and
// goes with the last of them.
func collectLate() {
	usual := debug.SetGCPercent(800)
	runtime.AddCleanup(new(*int), func(usual int) { debug.SetGCPercent(usual) }, usual)
}

// weft is the command as a function: arguments in, exit code out.
func weft(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, agents: bundle.New()}
	return a.run(args)
}

func (a *app) run(args []string) int {
	stdout, end := a.screens()
	defer end()
	ctx, stop := a.listen()
	defer stop()
	root := a.root()
	root.SetArgs(args)
	a.json = wantsJSON(args) // also where the rest of the line is not understood
	err := singleDash(args, root)
	if err == nil {
		a.command, err = root.ExecuteContextC(ctx)
	}
	if err != nil && !a.accepted && exitCode(ctx, err) == exitError {
		err = usage(err) // cobra's own: an unknown command, too many arguments
	}
	code := exitCode(ctx, err)
	if lost := stdout.Lost(); errors.Is(lost, syscall.EPIPE) {
		if errors.Is(err, syscall.EPIPE) {
			return exitUnread
		}
	} else if code == exitDone && lost != nil && err == nil {
		err = hint.Wrap(fmt.Errorf("it was done, and not all that it says could be written: %w", lost), "make room, or see that standard output is open, and ask again")
		code = exitError
	}
	a.summary(code, err)
	return code
}

// screens puts screens before the streams, and returns that of the standard output
// and how they end.
func (a *app) screens() (stdout *view.Screen, end func()) {
	stdout, stderr := view.NewScreen(a.stdout), view.NewScreen(a.stderr)
	a.stdout, a.stderr = stdout, stderr
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

// An app is one run of the command.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	document       io.Writer      // standard output, of a file that is written there; stdout is then stderr
	agents         *bundle.Bundle // that are installed

	dir         string
	vars        []string
	varFiles    []string
	lab         bool
	json        bool
	color       string
	verbose     bool           // list every finding
	names       findings.Names // of devices and ports of the files
	approvals   approvals
	untrusted   bool // whoever wrote the files may be anybody
	parallelism int

	twin      string     // directory of the lab of a rehearsal
	rehearsal *rehearsal // nil: it is none

	command  *cobra.Command // that was carried out; nil: none was found
	accepted bool           // the command line was understood
	started  bool           // the command has begun: --json events may be written
	settle   bool           // the command waits for timed reverts that a dead apply left on switches

	store string // where runs are kept; "": as WEFT_STORE or the files say

	reading   sync.Mutex   // of records
	records   *run.Records // see runs
	recordsOf string       // the place that they are of

	pauses      run.Pauses    // that Ctrl-C asks for
	workersWait time.Duration // for workers that apply leads; 0: without a limit
	once        sync.Once     // where events go is known when the first is shown
	sink        plan.Emit
}

// place is the directory that holds .weft.
func (a *app) place() string {
	if a.twin != "" {
		return a.twin
	}
	return a.dir
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "Rolls out RDMA storage fabrics described in HCL, and proves that they work",
		Long: `weft reads *.weft.hcl, compares it with what switches and servers report, shows
what would change, carries it out, and measures what the fabric then does.
There is no state file: every command reads the devices.`,
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if a.json && cmd.Annotations[events] == "none" {
				return fmt.Errorf("--json: what %s prints is for others than weft's readers", cmd.CommandPath())
			}
			if !slices.Contains([]string{"auto", "always", "never"}, a.color) {
				return fmt.Errorf("--color: there are auto, always and never, and not %q", a.color)
			}
			if a.parallelism < 1 {
				return fmt.Errorf("--parallelism: %d devices at once; 1 or more", a.parallelism)
			}
			a.accepted = true
			if err := a.guarded(cmd); err != nil {
				return err
			}
			return a.outputs(cmd)
		},
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.Version = version()
	root.SetVersionTemplate(versionLine() + "\n")
	root.InitDefaultVersionFlag()
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(misspelt)
	f := root.PersistentFlags()
	f.StringVarP(&a.dir, "chdir", "C", ".", "directory with the *.weft.hcl files")
	f.StringArrayVar(&a.vars, "var", nil, "set a variable: NAME=VALUE (may be repeated)")
	f.StringArrayVar(&a.varFiles, "var-file", nil, "read variables from a file, relative to --chdir (may be repeated)")
	f.BoolVar(&a.lab, "lab", false, "talk to the SIMULATED devices of weft lab up instead of the real ones")
	f.StringVar(&a.store, "store", "", "where runs are kept: a credential of a hub, its URL, or a directory; else WEFT_STORE, the store block of the files, or .weft/store")
	f.BoolVar(&a.json, "json", false, "write events as JSON lines to stdout, ending in run_summary; what only prints a document prints that as JSON")
	f.StringVar(&a.color, "color", "auto", "auto, always or never; NO_COLOR is honoured")
	f.BoolVar(&a.verbose, "verbose", false, "list every finding, also where many have one cause; --json always does")
	f.IntVar(&a.parallelism, "parallelism", 16, "devices worked on at once")
	root.AddCommand(a.validateCmd(), a.planCmd(), a.applyCmd(), a.showCmd(), a.rolloutCmd(), a.approveCmd(), a.auditCmd(), a.runsCmd(), a.driftCmd(), a.factsCmd(), a.doctorCmd(), a.discoverCmd(), a.recordCmd(), a.execCmd(), a.unlockCmd(), a.verifyCmd(), a.watchCmd(), a.reportCmd(), a.rehearseCmd(), a.labCmd(), a.hubCmd(), a.storeCmd(), a.workerCmd(), a.versionCmd(),
		a.initCmd(), a.fmtCmd(), a.graphCmd(), a.catalogueCmd(), a.completionCmd(root),
		a.consoleCmd(), a.schemaCmd(), a.explainCmd())
	explained(root)
	return root
}

// events is the annotation of commands that hand stdout to another program, and
// so do not take --json.
const events = "events"

func noEvents() map[string]string { return map[string]string{events: "none"} }

// begin opens the stream of events of a command.
func (a *app) begin(cmd *cobra.Command) {
	a.started = true
	if a.json {
		a.emit(plan.Event{Type: plan.EventVersion, Message: "weft " + version(),
			Data: map[string]any{"weft": version(), "ui": "1.0", "command": cmd.Name(), "simulated": a.lab}})
	}
}

// does is what a command runs: do, once its stream of events is open.
func (a *app) does(do func(context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.begin(cmd)
		return do(cmd.Context(), args)
	}
}

// emit shows an event: as JSON on stdout, or as progress on stderr.
func (a *app) emit(e plan.Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	a.once.Do(func() {
		if a.json {
			a.sink = view.JSON(a.stdout)
		} else {
			a.sink = view.Progress(a.stderr, a.style(a.stderr))
		}
	})
	a.sink(e)
}

// style dresses text for a stream.
func (a *app) style(w io.Writer) view.Style {
	color := a.color == "always" || a.color == "auto" && onTerminal(w) && os.Getenv("NO_COLOR") == ""
	if s, ok := w.(*view.Screen); ok {
		style := s.Style(color)
		style.Verbose, style.Names, style.Width = a.verbose, a.names, widthOf(w)
		return style
	}
	return view.Style{Color: color, Verbose: a.verbose, Names: a.names, Width: widthOf(w)}
}

// summary reports the end of a run: the error for people, and for machines
// the last event of the stream.
func (a *app) summary(code int, err error) {
	var quiet *quietError
	if a.json && (a.started || code != exitDone) {
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
		a.emit(e)
		return
	}
	if err == nil || errors.As(err, &quiet) {
		return
	}
	fmt.Fprintf(a.stderr, "error: %v\n", err)
	if h := hint.Of(err); h != "" {
		fmt.Fprintf(a.stderr, "  hint: %s\n", h)
	}
}

// wantsJSON reports whether --json is among the arguments.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json")
}

// singleDash answers Terraform's spelling of long flags with weft's.
func singleDash(args []string, root *cobra.Command) error {
	for _, arg := range args {
		if arg == "--" {
			return nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || strings.HasPrefix(arg, "--") || len(name) < 3 {
			continue
		}
		for _, c := range append(root.Commands(), root) {
			if c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil {
				return usage(fmt.Errorf("%s: did you mean -%s?", arg, arg))
			}
		}
	}
	return nil
}
