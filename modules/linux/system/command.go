package system

import (
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// Command runs one command where it has not done its work.
type Command struct {
	Run     []string // an argument vector; no shell reads it
	Creates string   // a file that is there afterwards, or
	Unless  []string // a command that succeeds then
	Undo    []string `json:",omitempty"` // reverts it; none: it cannot be reverted
	Done    bool
}

// CommandKind is the kind command.
func CommandKind() *host.Kind[Command] {
	return &host.Kind[Command]{
		Name:   "command",
		Blocks: commandBlocks, Writes: commandWritten,
		Looks: (*Command).Looks, Parse: (*Command).Parse, Diff: (*Command).Diff, Steps: (*Command).Steps, Absent: (*Command).absent,
		Advice: (*Command).Advice,
	}
}

func commandWritten(name string, c *Command) (string, []host.Setting, error) {
	set := []host.Setting{host.Set("run", c.Run), host.Set("creates", c.Creates)}
	if c.Creates == "" {
		set[1] = host.Set("unless", c.Unless)
	}
	if len(c.Undo) > 0 {
		set = append(set, host.Set("undo", c.Undo))
	}
	return name, set, nil
}

func commandBlocks(s *inventory.Server) (list []host.Block[Command]) {
	for _, b := range s.Commands {
		w := &Command{Run: b.Run, Creates: b.Creates, Unless: b.Unless, Undo: b.Undo, Done: true}
		list = append(list, host.Block[Command]{Block: &b.Block, Name: b.Name, Want: w})
	}
	return list
}

func (c *Command) look() remote.Look {
	if c.Creates != "" {
		return remote.Look{Args: []string{"test", "-e", c.Creates}, Root: true}
	}
	return remote.Look{Args: c.Unless, Root: true}
}

func (c *Command) Looks() []remote.Look { return []remote.Look{c.look()} }

func (c *Command) Parse(s remote.Seen) (*Command, error) {
	have := *c
	have.Done = s.Of(c.look()).Err == nil
	return &have, nil
}

// absent is the command before it has done its work.
func (c *Command) absent() *Command {
	before := *c
	before.Done = false
	return &before
}

func (c *Command) Diff(have *Command) []plan.Change {
	return plan.Changed("done", have.Done, c.Done, plan.ImpactNone)
}

func (c *Command) Steps(have *Command) []remote.Step {
	switch {
	case c.Done && !have.Done:
		return []remote.Step{host.Run(c.Run...)}
	case have.Done && !c.Done && len(c.Undo) > 0:
		return []remote.Step{host.Run(c.Undo...)}
	}
	return nil
}

func (c *Command) Advice(reply string) string {
	switch {
	case reply != "" || !c.Done:
		return ""
	case c.Creates != "":
		return "it ran, and " + c.Creates + " is not there"
	}
	return "it ran, and what unless says still fails: " + remote.Quote(c.Unless...)
}
