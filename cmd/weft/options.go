package main

import (
	"path/filepath"

	"github.com/spf13/pflag"
)

// options are the flags that every command takes.
type options struct {
	dir         string
	vars        []string
	varFiles    []string
	lab         bool
	where       string // where runs are kept; "": as WEFT_STORE or the files say
	json        bool
	color       string
	verbose     bool // list every finding
	parallelism int

	untrusted bool   // the files may be anybody's
	twin      string // directory of the lab of a rehearsal; "": there is none
}

func (o *options) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.dir, "chdir", "C", ".", "directory with the *.weft.hcl files")
	f.StringArrayVar(&o.vars, "var", nil, "set a variable: NAME=VALUE (may be repeated)")
	f.StringArrayVar(&o.varFiles, "var-file", nil, "read variables from a file, relative to --chdir (may be repeated)")
	f.BoolVar(&o.lab, "lab", false, "use the SIMULATED devices of weft lab up in place of the real ones")
	f.StringVar(&o.where, "store", "", "store of runs: a hub credential, a hub URL, or a directory (default: WEFT_STORE, the store block of the files, or .weft/store)")
	f.BoolVar(&o.json, "json", false, "write events as JSON lines to stdout, ending in run_summary; commands that print a document print it as JSON")
	f.StringVar(&o.color, "color", "auto", "auto, always or never; NO_COLOR is honoured")
	f.BoolVar(&o.verbose, "verbose", false, "list every finding, also those with a common cause; --json always does")
	f.IntVar(&o.parallelism, "parallelism", 16, "number of devices to work on in parallel")
}

// place is the directory that holds .weft.
func (o *options) place() string {
	if o.twin != "" {
		return o.twin
	}
	return o.dir
}

// inDir is a file that was named, seen from the directory of --chdir.
func (o *options) inDir(name string) string {
	if filepath.IsAbs(name) || onStdout(name) {
		return name
	}
	return filepath.Join(o.dir, name)
}
