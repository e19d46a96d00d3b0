package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"weft/inventory"
	"weft/inventory/language"
)

// maxLine is how long one expression may be, in bytes.
const maxLine = 1 << 20

// A consoleCommand is weft console.
type consoleCommand struct {
	opts    *options
	out     *printer
	project *project
}

func (con *consoleCommand) command() *cobra.Command {
	var expr string
	cmd := &cobra.Command{
		Use: "console", Short: "Evaluate expressions against the files; no network", Args: exactly(),
		Long: `console evaluates expressions as in the files: functions, var.x, local.x and blocks such
as server.node["st1"].rnic.p0.address. It prints values in HCL syntax and references as
addresses, and never prints sensitive values. Values from devices, such as live_paths,
are unknown here. In a directory without *.weft.hcl only functions are available.

Without --eval it reads one expression per line from standard input, until the end or
the line exit. It continues after an error. In non-interactive use it then exits with 1.

With --json, standard output contains one JSON value per line, and events are written to
standard error.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c := &console{consoleCommand: con, shown: con.out.stdout, source: "--eval"}
			if con.opts.json {
				con.out.stdout = con.out.stderr // where the events go
			}
			endAtOnce()
			con.out.begin(cmd)
			var err error
			if c.model, err = con.consoleModel(); err != nil {
				return err
			}
			if cmd.Flags().Changed("eval") {
				return c.eval([]byte(expr), hcl.InitialPos)
			}
			return c.session()
		},
	}
	cmd.Flags().StringVar(&expr, "eval", "", "evaluate this expression only")
	completeFlag(cmd, "eval")
	return cmd
}

// consoleModel loads the files. A directory without any has nothing to refer
// to, and that is no error.
func (con *consoleCommand) consoleModel() (*inventory.Model, error) {
	files, err := fs.Glob(os.DirFS(con.opts.dir), "*.weft.hcl")
	if err != nil || len(files) > 0 {
		return con.project.load()
	}
	if _, err := os.Stat(con.opts.dir); err != nil {
		return nil, fmt.Errorf("--chdir: %w", err)
	}
	if !con.opts.json {
		fmt.Fprintf(con.out.stderr, "There is no *.weft.hcl in %s: functions only.\n", con.opts.dir)
	}
	m, _ := readFiles(os.DirFS(con.opts.dir), language.Options{LookupEnv: os.LookupEnv}) // it would say the same
	return m, nil
}

// A console computes one expression after the other.
type console struct {
	*consoleCommand
	model  *inventory.Model
	shown  io.Writer
	source string // what diagnostics call the place expressions come from
}

// session reads expressions from standard input, one a line.
func (c *console) session() error {
	c.source = "standard input"
	typed := onTerminal(c.out.stdin) && onTerminal(c.shown)
	prompt := func() {}
	if typed {
		prompt = func() { fmt.Fprint(c.shown, "> ") }
	}
	lines := bufio.NewScanner(c.out.stdin)
	lines.Buffer(nil, maxLine)
	var failed error
	at := hcl.InitialPos
	for prompt(); lines.Scan(); prompt() {
		line := bytes.TrimSpace(lines.Bytes())
		if string(line) == "exit" {
			return c.end(failed, typed)
		}
		if len(line) > 0 && line[0] != '#' {
			failed = cmp.Or(c.eval(lines.Bytes(), at), failed)
		}
		at.Line++
		at.Byte++ // see eval
	}
	if typed {
		fmt.Fprintln(c.shown) // after the prompt
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("it is longer than %d MiB", maxLine>>20)
		}
		return fmt.Errorf("line %d of standard input: %w", at.Line, err)
	}
	return c.end(failed, typed)
}

// end is how a session ends: whoever typed has seen what failed.
func (c *console) end(failed error, typed bool) error {
	if typed {
		return nil
	}
	return failed
}

// eval computes an expression and prints its value, or what is wrong with it.
func (c *console) eval(text []byte, at hcl.Pos) error {
	value, diags := language.EvaluateText(c.model, text, c.source, at)
	if len(diags) > 0 {
		// Lines before this one are not kept; empty ones take their place.
		text = append(bytes.Repeat([]byte("\n"), at.Byte), text...)
		c.model.Files[c.source] = &hcl.File{Bytes: text}
	}
	if err := c.out.diagnose(c.model, diags); err != nil {
		return err
	}
	shown := value.HCL()
	if c.opts.json {
		text, err := value.MarshalJSON()
		if err != nil {
			return err
		}
		shown = string(text)
	}
	_, err := fmt.Fprintln(c.shown, shown)
	return err
}
