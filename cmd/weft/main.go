// Command weft rolls out RDMA storage fabrics that are described in HCL, and
// proves that they work.
package main

import (
	"io"
	"os"
	"runtime"
	"runtime/debug"
	_ "time/tzdata" // a window means its zone also where the machine knows none

	"weft/internal/bundle"
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
	return newApp(stdin, stdout, stderr, bundle.New()).run(args)
}
