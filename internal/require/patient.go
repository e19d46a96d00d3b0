package require

import (
	"flag"
	"runtime"
	"strconv"
)

// Patience lets so many tests for each processor run side by side, unless -parallel says how
// many: where most of the time they wait. TestMain asks for it before it runs them.
func Patience(perProcessor int) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "test.parallel" })
	if !told {
		_ = flag.Set("test.parallel", strconv.Itoa(perProcessor*runtime.GOMAXPROCS(0))) // it is there, and a number
	}
}
