package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weft/internal/graph"
)

// A graphCommand is weft graph.
type graphCommand struct {
	opts    *options
	out     *printer
	project *project
}

func (c *graphCommand) command() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "graph", Short: "Show planes, links and paths; no network", Args: exactly(),
		Long: `graph shows planes with their switches and cables, servers with their addresses, and the
paths of each initiator to its targets on each plane. dot is for Graphviz, mermaid for
Markdown.

With --json, standard output contains one object, and events are written to standard
error.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := c.out.stdout
			if c.opts.json {
				c.out.stdout = c.out.stderr // where the events go
			}
			if c.opts.json && cmd.Flags().Changed("format") {
				return usage(errors.New("--format says what is written, and --json does not go with it"))
			}
			write, err := graphFormat(format)
			if err != nil {
				return err
			}
			endAtOnce()
			c.out.begin(cmd)
			m, err := c.project.load()
			if err != nil {
				return err
			}
			g := graph.Of(m)
			if c.opts.json {
				return json.NewEncoder(out).Encode(g)
			}
			return write(g, out)
		},
	}
	cmd.Flags().StringVar(&format, "format", "ascii", "ascii, dot or mermaid; not with --json, which writes it as JSON")
	completeFlag(cmd, "format", "ascii", "dot", "mermaid")
	return cmd
}

func graphFormat(name string) (func(*graph.Graph, io.Writer) error, error) {
	switch name {
	case "ascii":
		return (*graph.Graph).ASCII, nil
	case "dot":
		return (*graph.Graph).DOT, nil
	case "mermaid":
		return (*graph.Graph).Mermaid, nil
	}
	return nil, usage(fmt.Errorf("--format: there are ascii, dot and mermaid, and not %q", name))
}
