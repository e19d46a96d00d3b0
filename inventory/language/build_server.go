package language

import (
	"path"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"

	"github.com/zclconf/go-cty/cty"
)

// serverBlocks are the small blocks in a server that keep one thing each, with those
// that kinds declare for themselves.
func serverBlocks(own []*inventory.BlockType) blocks {
	all := blocks{
		"file": {schema: part("path", attrs{
			"content": {takes: text(), needed: true, private: true},
			"mode":    opt(matching(`a mode such as "0644"`, `0?[0-7]{3,4}`)).orText("0644"),
		}, nil).named("an absolute path", absolutePath)},
		"kernel_module": {schema: part("name", attrs{
			"options": opt(moduleOptions()),
		}, nil).named("the name of a kernel module", `[A-Za-z0-9_][A-Za-z0-9_-]*`)},
		"package": {schema: part("name", attrs{
			"version": opt(matching("a version", `[!-~]+`)),
			"state":   opt(oneOf("present", "absent")).orText("present"),
		}, nil).named("the name of a package", `[A-Za-z0-9][A-Za-z0-9.+:_-]*`)},
		"service": {schema: part("name", attrs{
			"enabled": opt(boolean()).or(cty.True),
			"running": opt(boolean()).or(cty.True),
		}, nil).named("the name of a unit", `[A-Za-z0-9_][A-Za-z0-9@:_.\\-]*`)},
		"smb": {schema: part("", attrs{"direct_port": opt(integer(1, 65535)).orNumber(445)}, nil)},
		"command": {schema: part("name", attrs{
			"run":     need(argumentVector()),
			"creates": opt(matching("an absolute path", "(?:"+absolutePath+")/?")),
			"unless":  opt(argumentVector()),
			"undo":    opt(argumentVector()),
		}, nil)},
	}
	for _, t := range own {
		all[t.Name] = ownBlock(t)
	}
	return all
}

// ownBlock is a block that a kind declares.
func ownBlock(t *inventory.BlockType) nested {
	takes := attrs{}
	for _, a := range t.Attributes {
		is := attr{takes: matching(a.Form.Is, a.Form.Pattern), needed: a.Needed}
		if a.Default != "" {
			is = is.orText(a.Default)
		}
		takes[a.Name] = is
	}
	return nested{schema: part(t.Label, takes, nil).named(t.Named.Is, t.Named.Pattern)}
}

// serverBlocks makes the small blocks in a server.
func (b *builder) serverBlocks(o *object, s *inventory.Server) {
	s.FileBlocks = append(s.FileBlocks, slice.Map(o.all("file"), b.file)...)
	for _, t := range b.own {
		for _, c := range o.all(t.Name) {
			is := &inventory.Setting{Block: b.block(c), Type: t.Name, Label: c.label, Values: map[string]string{}}
			for _, a := range t.Attributes {
				is.Values[a.Name] = b.text(c, a.Name)
			}
			s.Settings = append(s.Settings, is)
		}
	}
	for _, c := range o.all("smb") {
		s.SMB = &inventory.SMB{Block: b.block(c), DirectPort: b.integer(c, "direct_port")}
	}
	for _, c := range o.all("kernel_module") {
		s.KernelModules = append(s.KernelModules, &inventory.KernelModule{Block: b.block(c), Name: c.label, Options: b.textMap(c, "options")})
	}
	for _, c := range o.all("package") {
		s.Packages = append(s.Packages, &inventory.Package{Block: b.block(c), Name: c.label, Version: b.text(c, "version"), Absent: b.text(c, "state") == "absent"})
	}
	for _, c := range o.all("service") {
		s.Services = append(s.Services, &inventory.Service{Block: b.block(c), Name: c.label, Enabled: b.flag(c, "enabled"), Running: b.flag(c, "running")})
	}
	s.Commands = append(s.Commands, slice.Map(o.all("command"), b.command)...)
}

// command makes a command that says when it need not run.
func (b *builder) command(o *object) *inventory.Command {
	c := &inventory.Command{
		Block:   b.block(o),
		Name:    o.label,
		Run:     b.texts(o, "run"),
		Creates: b.text(o, "creates"),
		Unless:  b.texts(o, "unless"),
		Undo:    b.texts(o, "undo"),
	}
	creates, unless := o.body.attrs["creates"], o.body.attrs["unless"]
	switch {
	case creates == nil && unless == nil && o.body.broken: // one of them may be misspelt
	case creates == nil && unless == nil:
		b.report(problem.New(problem.Missing, *o.header, blockName("command", o.label)+" lacks creates or unless",
			"weft would run the command on every apply: name the file that it creates, or a command that succeeds once it is done."))
	case creates != nil && unless != nil:
		b.report(problem.New(problem.Attribute, unless.NameRange, "creates and unless", "A command takes only one of the two."))
	case c.Creates != "" && c.Creates != path.Clean(c.Creates):
		b.report(problem.New(problem.Value, creates.Expr.Range(), "not a clean path", "Write %s.", path.Clean(c.Creates)))
	}
	return c
}
