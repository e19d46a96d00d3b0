package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/inventory/language"
	"weft/inventory/problem"
	"weft/modules"
)

// A schemaCommand is weft schema.
type schemaCommand struct {
	opts *options
	out  *printer
}

func (c *schemaCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "schema [BLOCK…]", Short: "Show the language: blocks, attributes, functions; no network",
		Long: `schema lists the blocks of the language, their attributes with required values and
defaults, and the functions of expressions: all of them, or the named blocks. It is
generated from the definitions that validate the files.

! marks required attributes. = gives the default; (derived) means that it follows from
other attributes, and (observed) that devices report it. For named blocks it also prints
the purpose of each attribute.

With --json it is one object, for editors and generators.`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
			blocks := slices.Sorted(maps.Keys(language.Describe(modules.Blocks()).Blocks))
			return slices.DeleteFunc(blocks, func(b string) bool { return !strings.HasPrefix(b, begun) || slices.Contains(args, b) }), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			l := language.Describe(modules.Blocks())
			if err := onlyBlocks(l, args); err != nil {
				return err
			}
			if c.opts.json {
				return c.out.encode(l)
			}
			p := &schemaPrinter{w: c.out.stdout, explain: len(args) > 0}
			p.language(l)
			return p.err
		},
	}
}

// onlyBlocks takes out what was not asked for, where anything was.
func onlyBlocks(l *language.Language, asked []string) error {
	if len(asked) == 0 {
		return nil
	}
	for _, name := range asked {
		if l.Blocks[name] == nil {
			all := slices.Sorted(maps.Keys(l.Blocks))
			if near := problem.Near(name, all); near != "" {
				return usage(hint.Wrap(fmt.Errorf("there is no block %q", name), "did you mean %s?", near))
			}
			return usage(hint.Wrap(fmt.Errorf("there is no block %q", name), "there are %s", strings.Join(all, ", ")))
		}
	}
	maps.DeleteFunc(l.Blocks, func(name string, _ *language.BlockType) bool { return !slices.Contains(asked, name) })
	l.Functions = nil // they belong to no block
	return nil
}

// A schemaPrinter writes the language as a tree.
type schemaPrinter struct {
	w       io.Writer
	explain bool // what each attribute is for
	err     error
}

func (p *schemaPrinter) print(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *schemaPrinter) language(l *language.Language) {
	for i, name := range slices.Sorted(maps.Keys(l.Blocks)) {
		if i > 0 {
			p.print("\n")
		}
		p.block("", name, l.Blocks[name])
	}
	if len(l.Functions) > 0 {
		p.print("\nfunctions\n")
	}
	for _, name := range slices.Sorted(maps.Keys(l.Functions)) {
		p.print("    %s(%s)\n", name, parameters(l.Functions[name]))
	}
}

// block prints a block, its attributes in columns, and the blocks within it.
func (p *schemaPrinter) block(indent, name string, b *language.BlockType) {
	header := name
	switch {
	case b.Label != "":
		header += ` "` + strings.ToUpper(b.Label) + `"`
	case b.Several:
		header += " (several)"
	}
	comment := b.Description
	if b.Later {
		comment = strings.TrimSpace(comment + " Described, not yet managed.")
	}
	if header = needed(b.Required, header); comment != "" {
		header += "  # " + comment
	}
	p.print("%s%s\n", indent, header)
	indent += "    "
	p.attributes(indent, b)
	if b.Open {
		p.print("%sany other name = any value\n", indent)
	}
	for _, inner := range slices.Sorted(maps.Keys(b.Blocks)) {
		p.block(indent, inner, b.Blocks[inner])
	}
}

func (p *schemaPrinter) attributes(indent string, b *language.BlockType) {
	names := slices.Sorted(maps.Keys(b.Attributes))
	width := 0
	for _, name := range names {
		width = max(width, len(assignment(name, b.Attributes[name])))
	}
	for _, name := range names {
		a := b.Attributes[name]
		p.print("%s%-*s  %s\n", indent, width, assignment(name, a), takes(a))
		if p.explain && a.Description != "" {
			p.print("%s%-*s  # %s\n", indent, width, "", a.Description)
		}
	}
}

// needed marks what must be written.
func needed(required bool, name string) string {
	if required {
		return name + "!"
	}
	return name
}

// assignment is an attribute with the value that it has where none is
// written.
func assignment(name string, a *language.Attribute) string {
	switch {
	case a.Observed:
		return name + " = (observed)"
	case a.Derived:
		return name + " = (derived)"
	case a.Default != nil:
		return name + " = " + string(a.Default)
	}
	return needed(a.Required, name)
}

// manyTypes is how many types of blocks are named that an attribute may refer
// to; JSON has them all.
const manyTypes = 8

func takes(a *language.Attribute) string {
	text := a.Takes
	if len(a.RefersTo) > manyTypes {
		text = "references to blocks"
	}
	if a.ReadOnly {
		text += ", cannot be written"
	}
	if a.Sensitive {
		text += ", sensitive"
	}
	switch {
	case a.Later:
		text += "; described, not yet managed"
	case len(a.LaterValues) > 0:
		text += "; not yet managed: " + strings.Join(a.LaterValues, ", ")
	}
	return text
}

func parameters(f *language.Function) string {
	var names []string
	for _, p := range f.Parameters {
		if p.Several {
			p.Name += "…"
		}
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
