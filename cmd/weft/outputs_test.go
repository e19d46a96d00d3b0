package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestOutputFlags: every flag that writes a file is checked before its command begins.
func TestOutputFlags(t *testing.T) {
	seen := 0
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			says := f.Usage
			if f.Name != "out" && !strings.Contains(says, "write the token") && !strings.Contains(says, "save ") && !strings.Contains(says, "to this file") && !strings.Contains(says, "in this file") {
				return
			}
			switch cmd.Name() + " " + f.Name {
			case "discover out": // a directory
				return
			}
			seen++
			if _, is := f.Annotations[outputKey]; !is {
				t.Errorf("%s --%s (%s) is not marked as an output", cmd.CommandPath(), f.Name, says)
			}
		})
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each((&app{}).root())
	if seen < 9 {
		t.Errorf("only %d flags were found", seen)
	}
}
