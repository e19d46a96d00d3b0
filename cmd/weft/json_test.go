package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command takes --json, or commands.md says that it does not.
func TestEveryCommandTakesJSON(t *testing.T) {
	guide := strings.Join(strings.Fields(pages(t, ".md")["cmd/weft/commands.md"]), " ")
	pilot := t.TempDir()
	if err := copyFiles(filepath.Join("..", "..", "examples", "pilot"), pilot); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (int, string) {
		var stdout, stderr bytes.Buffer
		code := weft(append(args, "--json"), strings.NewReader(""), &stdout, &stderr)
		if stdout.Len() == 0 { // graph and console print a document there, and events here
			return code, stderr.String()
		}
		return code, stdout.String()
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, c := range c.Commands() {
			walk(c)
		}
		if c.HasSubCommands() || c.Name() == "help" {
			return
		}
		name := strings.TrimPrefix(c.CommandPath(), "weft ")
		code, out := run(append([]string{"-C", t.TempDir()}, append(strings.Fields(name), arguments(c)...)...)...)
		if c.Annotations[events] == "none" {
			if code != exitUsage || !strings.Contains(guide, "`"+name+"`") {
				t.Errorf("%s: exit %d, and commands.md must say that it takes no --json", name, code)
			}
			return
		}
		if err := onlyJSON(out); err != nil {
			t.Errorf("%s --json, in an empty directory: %v\n%.300s", name, err, out)
		}
	}
	walk(commandTree())
	for _, args := range [][]string{
		{"validate"}, {"version"}, {"graph"}, {"catalogue"}, {"schema"}, {"explain"}, {"explain", "WF-NET-001"}, {"fmt", "--check"},
		{"console", "--eval", "1"}, {"lab", "down"},
	} {
		code, out := run(append([]string{"-C", pilot}, args...)...)
		if err := onlyJSON(out); err != nil || code != exitDone {
			t.Errorf("%s --json: exit %d, %v\n%.300s", strings.Join(args, " "), code, err, out)
		}
	}
}

// arguments are as many as a command may want.
func arguments(c *cobra.Command) []string {
	_, rest, _ := strings.Cut(c.Use, " ")
	var list []string
	for _, w := range strings.Fields(rest) {
		if !strings.HasPrefix(w, "[") && !strings.HasPrefix(w, "-") {
			list = append(list, "x")
		}
	}
	if c.Name() == "view" { // it serves until it is interrupted
		list = append(list, "--http", "nowhere")
	}
	return list
}

// onlyJSON demands at least one JSON value and nothing else.
func onlyJSON(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) && n > 0 {
			return nil
		} else if err != nil {
			return err
		}
	}
}
