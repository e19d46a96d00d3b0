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
	each(commandTree())
	if seen < 9 {
		t.Errorf("only %d flags were found", seen)
	}
}

// TestHelpStandsAlone: help names no file of the repository, which people who have the
// program alone do not have.
func TestHelpStandsAlone(t *testing.T) {
	var each func(cmd *cobra.Command)
	each = func(cmd *cobra.Command) {
		text := cmd.Short + cmd.Long + cmd.Example
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { text += f.Usage })
		for _, place := range []string{"internal/", "switches/", "modules/", "cmd/weft", "README", "CONTRIBUTING"} {
			if strings.Contains(text, place) {
				t.Errorf("%s refers to %s", cmd.CommandPath(), place)
			}
		}
		for _, sub := range cmd.Commands() {
			each(sub)
		}
	}
	each(commandTree())
}
