package remote

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"weft/internal/hint"
)

// ReaderPath is where a machine keeps its reader: see [Reader].
const ReaderPath = "/usr/local/sbin/weft-read"

// A Permit is a look that a reader carries out as root.
type Permit struct {
	What string // it tells of, in words
	Look Look   // its File may be a pattern of the shell; of a script of ours the arguments do not count

	// Each is a pattern of the shell that every argument of a script must match, or the one
	// that follows the words of a command; "": it takes none.
	Each string
	// Instead is a script that runs in place of Look's, where that would tell secrets, too.
	Instead string
}

// A Limited is a Host on which nothing runs as root but a reader, where Limited says so.
type Limited interface {
	Host
	Limited() bool
}

// readLimited carries out looks on a Limited, in one round trip: as the user what the user
// can see, and what is Root's by the reader. A file is the reader's only where the user
// may not read it.
func readLimited(ctx context.Context, h Host, looks []Look) (Seen, error) {
	var own, asked []Look
	var lines []string
	denied := map[string]Sight{}
	for _, l := range looks {
		if !l.Root || l.File != "" {
			own = append(own, l)
		}
		if !l.Root {
			continue
		}
		line, ok := l.request(len(asked))
		if !ok {
			denied[l.key()] = Sight{Err: l.refused()}
			continue
		}
		asked = append(asked, l)
		if l.PCI != "" {
			lines = append(lines, fmt.Sprintf("at %d %s", slices.Index(pciDevices(asked), l.PCI), l.PCI))
		}
		lines = append(lines, line)
	}
	nonces := []string{newNonce(), newNonce()}
	text := Script(own)
	if len(asked) > 0 {
		text += request + strings.Join(lines, "\n") + "\nend\nWEFT\n"
	}
	out, err := runScript(ctx, h, text, nonces...)
	if err != nil {
		return Seen{}, unread(h, out, err)
	}
	seen, err := parse(nonces[0], own, out)
	if err == nil && len(asked) > 0 {
		var more Seen
		more, err = parse(nonces[1], asked, out)
		seen.addTo(&more, asked)
	}
	if err != nil {
		return Seen{}, fmt.Errorf("reading %s: %w", h.Name(), err)
	}
	for k, s := range denied {
		if _, known := seen.sights[k]; !known {
			seen.sights[k] = s
		}
	}
	return seen, nil
}

// request asks the reader, in lines of words that follow the first.
const request = `sudo -n -- ` + ReaderPath + ` <<WEFT
weft-read $2
`

// addTo adds what the reader saw: where it has refused a file that the user may not read,
// either says why.
func (s Seen) addTo(more *Seen, asked []Look) {
	for _, l := range asked {
		if own, ok := s.sights[l.key()]; !ok || errors.Is(own.Err, fs.ErrPermission) {
			s.sights[l.key()] = more.sights[l.key()]
		}
		if l.PCI != "" {
			at := Look{PCI: l.PCI}.key()
			if sight, ok := more.sights[at]; ok {
				s.sights[at] = sight
			}
		}
	}
}

// refused is what comes of a look that no reader carries out.
func (l Look) refused() error {
	return hint.Wrap(fmt.Errorf("%s: %w: it takes root, and the reader of this machine does not do it", l, fs.ErrPermission),
		"where weft-read is of another weft, install that of this one: weft doctor --reader; what it never does takes a connection with become = \"sudo\"")
}

// plain are words that a line for a reader may hold.
var plain = regexp.MustCompile(`^[A-Za-z0-9./_:+@,={}-]+$`)

// request is the line that asks a reader for the look by its number; false: none can.
func (l Look) request(n int) (line string, ok bool) {
	words := []string{"run", fmt.Sprint(n)}
	switch {
	case l.Sum:
		words[0] = "sum"
	case l.Stat:
		words[0] = "stat"
	case l.File != "":
		words[0] = "file"
	case l.Own:
		words[0] = "own"
	}
	switch {
	case l.File != "":
		words = append(words, l.File)
	case l.Own:
		words = append(append(words, id(l.Args[2])), l.Args[min(4, len(l.Args)):]...)
	default:
		words = append(words, l.Args...)
	}
	odd := func(w string) bool { return !plain.MatchString(w) || strings.Contains(w, "..") }
	return strings.Join(words, " "), !slices.ContainsFunc(words, odd) && (l.PCI == "" || !odd(l.PCI))
}

// id is what a script is called by.
func id(script string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(script)))[:16] }

// Reader renders the reader: a program, in POSIX shell, that an administrator puts at
// ReaderPath, and the only one that sudo lets a user run who may read and not change. It
// takes no arguments. From its standard input it reads which of the permits to carry out; it
// evaluates nothing of that, and answers as scripts of [Script] do.
func Reader(permits []Permit) string {
	var files, runs, scripts strings.Builder
	for _, p := range permits {
		switch l := p.Look; {
		case l.File != "":
			fmt.Fprintf(&files, "\t%s) ;; # %s\n", l.File, p.What)
		case l.Own:
			scripts.WriteString(p.arm())
		default:
			runs.WriteString("\t" + p.line() + ") ;; # " + p.What + "\n")
		}
	}
	return strings.NewReplacer("@PRELUDE@", strings.TrimPrefix(preludeOne, "\n"), "@FILES@", files.String(), "@RUNS@", runs.String(), "@SCRIPTS@", scripts.String()).Replace(reader)
}

// line is a pattern of how many words a command has, and of the words.
func (p Permit) line() string {
	n, text := len(p.Look.Args), strings.Join(p.Look.Args, " ")
	if p.Each != "" {
		return Quote(fmt.Sprintf("%d:%s ", n+1, text)) + p.Each
	}
	return Quote(fmt.Sprintf("%d:%s", n, text))
}

// arm is what the reader does for a script.
func (p Permit) arm() string {
	check := `	if [ "$#" -gt 0 ]; then weft_refuse; return; fi`
	if p.Each != "" {
		check = "	for weft_a; do case $weft_a in -*) weft_refuse; return ;; " + p.Each + ") ;; *) weft_refuse; return ;; esac; done"
	}
	text := p.Look.Args[2]
	if p.Instead != "" {
		text = p.Instead
	}
	return fmt.Sprintf("%s) # %s\n%s\n\tweft_mark look \"$weft_n\"\n(\n%s\n) 3<&-\n\tweft_mark end \"$weft_n\" code \"$?\" ;;\n", id(p.Look.Args[2]), p.What, check, text)
}

const reader = `#!/bin/sh
# weft-read tells weft what only root may read of a machine, and changes nothing. Each line
# that it is asked asks for one thing of the lists below, and anything else is refused:
# no word of a line is ever evaluated. Made by weft doctor --reader; do not edit.
exec 3<&0 </dev/null
LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL PATH
unset CDPATH ENV
umask 077
@PRELUDE@weft_refuse() { weft_mark end "$weft_n" refused; }
weft_look_file() {
	case $1 in
@FILES@	*) weft_refuse; return ;;
	esac
	case $weft_verb in
	file) weft_file "$weft_n" "$1" ;;
	stat) weft_file "$weft_n" "$1"; weft_list "$weft_n" "$1" ;;
	sum) weft_sum "$weft_n" "$1" ;;
	esac
}
weft_look_run() {
	case "$#:$*" in
@RUNS@	*) weft_refuse; return ;;
	esac
	weft_run "$weft_n" "$@" 3<&-
}
weft_look_own() {
weft_id=$1
shift
case $weft_id in
@SCRIPTS@*) weft_refuse ;;
esac
}
weft_line() {
	if [ "$#" -lt 3 ]; then exit 65; fi
	weft_verb=$1 weft_n=$2
	shift 2
	case $weft_n in *[!0-9]*) exit 65 ;; esac
	weft_left=$#
	while [ "$weft_left" -gt 0 ]; do
		weft_a=$1
		shift
		if [ "$weft_a" = "{if}" ]; then weft_a=$weft_if; fi
		set -- "$@" "$weft_a"
		weft_left=$((weft_left-1))
	done
	case $weft_verb in
	at) weft_netdev "$weft_n" "$1" ;;
	file|stat|sum) weft_look_file "$1" ;;
	run) weft_look_run "$@" ;;
	own) weft_look_own "$@" ;;
	*) weft_refuse ;;
	esac
}
weft_if=
IFS=' ' read -r weft_verb weft_nonce <&3
case $weft_verb:$weft_nonce in
*[!a-z0-9:-]*) exit 65 ;;
weft-read:weft-*) ;;
*) echo "weft-read: weft asks it, over a connection with become = \"weft-read\"" >&2; exit 65 ;;
esac
while IFS= read -r weft_l <&3; do
	case $weft_l in
	end) weft_mark done; exit 0 ;;
	*[!A-Za-z0-9\ ./_:+@,={}-]*|*..*|"") exit 65 ;;
	esac
	set -f
	set -- $weft_l
	set +f
	weft_line "$@"
done
exit 65
`
