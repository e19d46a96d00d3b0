package switches

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/pattern"
)

// An OS is one switch operating system as a value: data, and functions that do
// no I/O. Nobody asks which one it is; what one of them lacks is nil, and Without
// says why.
//
// Comparing, restoring and finding what is whose are the same for every system
// whose configuration is lines below headers: they are done once, in this package,
// with the grammar of the system.
type OS struct {
	Name string // as in the files: os = "…"

	Dialect Dialect
	Files   *Files // its file system; nil: there is none that weft may use

	// Show lists the commands whose output Parse reads.
	Show []string
	// Parse reads the output of those commands, keyed by command, into what is
	// configured and observed. It never fails on lines it does not know; they
	// are in Reading.NotUnderstood once Reading.For has fitted it to a wish. The
	// result holds every port of the switch.
	Parse func(out map[string]string) (Reading, error)

	Lines Lines
	Guard Procedure // its timed revert; nil: it has none

	// Meaning reads, in the output that Parse reads, what policies of others that are in
	// force mean as classes; nil: how others write them is not known.
	Meaning func(out map[string]string) Meaning

	// Remarks are what a reader of the plan must know of what was read and stays;
	// nil: of lines beside weft's nothing is known.
	Remarks func(have Reading, want Intent) []string

	Counters   []CounterLine // typed for each port, and only showing; nil: none
	Neighbours *Neighbours   // nil: none
	Table      *Table        // nil: it does not show the MAC addresses that it has learned
	Operates   *Operation    // nil: it does not tell what PFC does
	Conditions []Condition   // lines that show how it is; what none tells is not known

	Role *Role // how a login is restricted to lines that only read; nil: that is not known

	// Advice says what a reader of the files must know of classes on this system,
	// whatever the switch reads; may be nil.
	Advice func([]Class) []string

	// Harmless are forms of what it calls its own: models, images, policies. Anonymous records
	// keep such words.
	Harmless []pattern.Pattern

	// Without says why it has no such feature, of each that it lacks.
	Without map[Feature]string
}

// A Meaning is what policies that weft did not write mean in its words.
type Meaning struct {
	Classes []Class  // none: nothing that weft has words for
	Remarks []string // what of them has no word
}

// A Feature is something that not every system has.
type Feature string

// What a system may lack.
const (
	Guarding      Feature = "timed revert"
	Filing        Feature = "file system for weft's marks"
	Counting      Feature = "counters"
	Hearing       Feature = "LLDP neighbours"
	Operating     Feature = "display of what PFC does"
	Remarking     Feature = "remarks on lines that stay"
	Recording     Feature = "recording"
	Headrooms     Feature = "headroom"
	Watchdogs     Feature = "pfc_watchdog"
	WatchdogTimes Feature = "detect and restore of pfc_watchdog"
)

// A WithoutError is a feature that a system lacks, where it is needed.
type WithoutError struct {
	OS      string
	Feature Feature
	Why     string // "" where the system does not say
}

func (e *WithoutError) Error() string {
	return fmt.Sprintf("%s has no %s: %s", e.OS, e.Feature, e.Reason())
}

// Reason is why, for people.
func (e *WithoutError) Reason() string { return cmp.Or(e.Why, "weft knows of none there") }

// Lacks is the error about a feature that the system lacks; nil: it has it.
func (o *OS) Lacks(f Feature) error {
	_, without := o.Without[f]
	switch f {
	case Guarding:
		without = o.Guard == nil
	case Filing:
		without = o.Files == nil
	case Counting:
		without = o.Counters == nil
	case Hearing:
		without = o.Neighbours == nil
	case Operating:
		without = o.Operates == nil
	case Remarking:
		without = o.Remarks == nil
	}
	if !without {
		return nil
	}
	return &WithoutError{o.Name, f, o.Without[f]}
}

// A Dialect is how an OS talks, as data.
type Dialect struct {
	Platform []byte        // scrapligo platform definition, YAML
	Hello    string        // the last line that every login types, according to it
	Prompt   string        // regular expression: where commands are run, according to it
	Version  string        // prints what the switch is; the first of OS.Show
	Identity string        // regular expression: its output is that of this OS
	Refusals []string      // regular expressions: any match in a reply is a refusal
	Absent   string        // regular expression: a refusal of a line that the switch does not have
	Harmless []string      // regular expressions: output of a configuration line that means nothing
	Running  string        // prints the running configuration
	Save     string        // makes the running configuration the one at start
	Saved    string        // regular expression of its success
	Reads    string        // the first word of every line that only reads
	Method   string        // how changes are committed, as shown in the plan
	Confirm  time.Duration // the shortest timed revert the OS takes
	Members  string        // why a port that is a member of others' is refused
}

// Files are the commands about the file system of a switch; %s is a name on
// it.
type Files struct {
	List   string // prints the names in its root, each at the end of a line
	Make   string // makes a directory; one that is there is refused
	Remove string // removes an empty directory
	Copy   string // writes the running configuration to a file
	Copied string // regular expression of its success
	Print  string // prints a file
	Delete string // deletes a file
	Clock  string // prints the time of the switch
}

// A Lines is how the lines of an OS are written, compared and owned.
type Lines struct {
	Grammar Grammar
	Words   func() *Vocabulary // the lines whose meaning weft knows
	// Global and port write a wish as blocks; Render has checked its classes.
	Global func(c Intent, f Facts) ([]Block, error)
	Port   func(c Intent, p Port, f Facts) []Block
	// Takes is what a port becomes that is wished so: the least that the switch takes
	// and that is enough. Its error says why there is none. Nil: just that.
	Takes func(observed *Text, p Port) (Port, error)
	// Settle fits wished blocks to observed ones of the same place, so that
	// what is good enough is left alone.
	Settle func(observed *Text, frame int, seen, wish []Block) []Block
	// Unowned reports lines that nobody claims even on a port of another owner.
	Unowned func(line string) bool
	// Detach lists what must be taken off before attached blocks may change,
	// and have without it. Nil: nothing.
	Detach func(have, want []Block) ([]string, []Block)

	Roles    []string // what follows a name in those of the objects that are attached; none: they are the name
	Attaches []string // the beginnings of lines that attach the object they end with
	Objects  []string // the headers that open an object, apart from its name
	PerPort  bool     // queues, marks and pause are set port by port
	// Needs reports whether a wish has something to put in the place of a line
	// that attaches an object; nil: always.
	Needs func(want Intent, line string) bool
	// Under says what the objects of a name do, as far as they are in force.
	Under func(c Reading, name string) Reading
	// Starving looks which queues get nothing by a wish although another owner
	// fills them: taken are those that are served now. Nil: none.
	Starving func(c Reading, want Intent) (taken, waiting []string)
}

// Attached returns the name of the object that a line attaches, or "".
func (o *OS) Attached(line string) string {
	if slices.ContainsFunc(o.Lines.Attaches, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
		if name := line[strings.LastIndexByte(line, ' ')+1:]; !strings.HasPrefix(name, "default-") { // what the OS itself attaches
			return name
		}
	}
	return ""
}
