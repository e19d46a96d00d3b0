package switches

import (
	"regexp"
	"strings"
	"time"
)

// For the tests of switch systems, which stand outside of the package.

const (
	IsElse    = isElse
	IsKept    = isKept
	IsTold    = isTold
	IsUnknown = isUnknown
	Margin    = margin
)

// Judge is judge.
func (v *Vocabulary) Judge(path []string, line string) verdict { return v.judge(path, line) }

// Unclear is unclear.
func Unclear(o *Neighbours, text string) string { return o.unclear(text) }

// Notes are the lines that are worth a remark.
func (r *Text) Notes() map[string][]string {
	out := map[string][]string{}
	for text, n := range r.notes {
		out[text] = n.ports
	}
	return out
}

// Render compares readings and intents in either direction.
func Render(o *OS, from, to interface{ state() state }) ([]string, error) {
	return o.render(from.state(), to.state())
}

// Flattened is what a printed configuration says, in whatever order.
func Flattened(text string) string { return strings.Join(flatten(parseTree(text)), "\n") }

var (
	ParseTree    = parseTree
	ParseClock   = parseClock
	BannerLength = bannerLength
	Recorded     = recorded
)

func Question() *regexp.Regexp { return question }

func Syslog() *regexp.Regexp { return syslog }

// Patience sets how long a command may take.
func (s *Session) Patience(d time.Duration) { s.timeout = d }

// Listing is what a switch prints whose lease is held.
const Listing = `
       4096    Jun 25 04:57:33 2026  .rpmstore/
 1979826176    Nov 21 07:30:00 2026  nxos64-cs.10.3.4a.M.bin
       4096    Nov 21 07:30:00 2026  weft-armed.1795246500.0123456789ab.o.42_7_aa_me
       4096    Nov 21 07:30:00 2026  weft-held.1795248000.o.42_7_aa_me/
       4096    Nov 21 07:30:00 2026  weft-lease/
        812    Nov 21 07:30:00 2026  weft-o-base.cfg

Usage for bootflash://sup-local
 7007772672 bytes used
`

// Directory is the name of the mark on a switch.
func (r RunMark) Directory() string { return r.name }

// Anonymized is a text without anything that may tell whose switch it is.
func Anonymized(o *OS, text string) string {
	a := newAnonymizer(o.Harmless...)
	a.learn(text)
	return a.clean(text)
}
