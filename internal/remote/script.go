package remote

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
)

// placeholder stands for the interface of the look's PCI device.
const placeholder = "{if}"

// prelude defines the functions that a script calls once per look. It is plain
// POSIX, and starts as few processes as it can: besides built-ins of the shell
// it runs cat once for a batch of files, and stat once where modes are asked
// for; sha256sum and ls where sums are.
//
// A file may appear while it is looked at. Whether it is missing is decided by
// the first tests alone; a later one might contradict them.
//
// Between the files of a batch cat copies its own environment, which is the
// nonce and nothing else. Where that or any of the files cannot be read (no
// /proc, an attribute that the kernel refuses), every file of the batch is read
// again by itself: the later frame of a look holds.
//
// Standard output and standard error carry the same marker lines, so that
// both can be cut apart without a temporary file on the host.
const prelude = preludeOne + preludeBatch

// preludeOne are those of single looks.
const preludeOne = `
weft_mark() {
	printf '\n%s %s\n' "$weft_nonce" "$*"
	printf '\n%s %s\n' "$weft_nonce" "$*" >&2
}
` + FindPort + `weft_netdev() {
	weft_find "$2"
	weft_mark pci "$1" "$weft_if"
	if [ -z "$weft_if" ]; then weft_mark ports "$1" $weft_more; fi
}
weft_missing() {
	weft_why=absent weft_p=$1
	while [ -n "$weft_p" ]; do
		weft_p=${weft_p%/*}
		if [ -d "${weft_p:-/}" ]; then
			if [ ! -x "${weft_p:-/}" ]; then weft_why=denied; fi
			return
		fi
	done
}
weft_unread() {
	if [ ! -e "$1" ]; then weft_missing "$1"; elif [ -r "$1" ]; then weft_why=failed; else weft_why=denied; fi
}
weft_file() {
	weft_mark look "$1"
	if [ ! -e "$2" ]; then weft_missing "$2"
	elif cat "$2"; then weft_why=seen
	else weft_unread "$2"; fi
	weft_mark end "$1" "$weft_why"
}
weft_list() {
	weft_mark list "$1"
	ls -lLdn "$2"
}
weft_sum() {
	weft_mark look "$1"
	if [ ! -e "$2" ]; then weft_missing "$2"
	elif sha256sum <"$2" && ls -lLdn "$2"; then weft_why=seen
	else weft_unread "$2"; fi
	weft_mark end "$1" "$weft_why"
}
weft_run() {
	weft_i=$1
	shift
	weft_mark look "$weft_i"
	( "$@" ) </dev/null
	weft_mark end "$weft_i" code "$?"
}
`

// preludeBatch are those of batches, and of tests.
const preludeBatch = `weft_see() {
	if [ -f "$2" ]; then
		weft_l="$weft_l $1" weft_p=$2
		return 0
	elif [ -e "$2" ]; then
		weft_file "$1" "$2"
		if [ -n "$weft_modes" ]; then weft_list "$1" "$2"; fi
		return 1
	elif [ "${2%/*}" != "$weft_dir" ]; then
		weft_dir=${2%/*}
		weft_missing "$2"
		weft_gone=$weft_why
	fi
	if [ "$weft_gone" = absent ]; then weft_a="$weft_a $1"; else weft_mark end "$1" denied; fi
	return 1
}
weft_files() {
	if [ "$#" -eq 0 ]; then return; fi
	weft_mark files $weft_l
	if ! env -i "weft=$weft_nonce" cat "$@"; then weft_each weft_file "$@"; fi
	if [ -z "$weft_modes" ]; then return; fi
	weft_mark stats $weft_l
	if ! stat -L -c %f:%s "$@"; then weft_each weft_list "$@"; fi
}
weft_each() {
	weft_do=$1
	for weft_n in $weft_l; do
		"$weft_do" "$weft_n" "$3"
		shift 2
	done
}
weft_test() {
	weft_i=$1
	shift
	weft_mark look "$weft_i"
	test "$@"
	weft_mark end "$weft_i" code "$?"
}
`

// Script renders one POSIX shell script that carries out all of the looks: the
// same text for the same looks, whatever the host. Its first argument is the
// nonce. Its output is framed by lines that start with it, which must not occur
// in anything that is read. Every File must be an absolute path.
func Script(looks []Look) string {
	var b strings.Builder
	b.WriteString("weft_nonce=$1\n")
	b.WriteString("LC_ALL=C; PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH\n")
	b.WriteString(strings.TrimPrefix(prelude, "\n"))
	// One function, so that the shell has the whole script before it starts:
	// half a script that arrives over a dying connection runs nothing.
	b.WriteString("weft_main() {\n")
	devices := pciDevices(looks)
	for i, pci := range devices {
		fmt.Fprintf(&b, "weft_netdev %d %s\nweft_if%d=$weft_if\n", i, Quote(pci), i)
	}
	b.WriteString("weft_a= weft_dir=.\n")
	for _, group := range batches(looks) {
		modes := ""
		if looks[group[0]].Stat {
			modes = "yes"
		}
		fmt.Fprintf(&b, "weft_l= weft_modes=%s\nset --\n", modes)
		for _, i := range group {
			file := word(looks[i].File, looks[i].netdev(devices))
			looks[i].line(&b, fmt.Sprintf(`if weft_see %d %s; then set -- "$@" /proc/self/environ "$weft_p"; fi`, i, file), devices)
		}
		b.WriteString("weft_files \"$@\"\n")
	}
	b.WriteString("weft_mark absent $weft_a\n")
	for i, l := range looks {
		if call := l.call(i, devices); call != "" {
			l.line(&b, call, devices)
		}
	}
	b.WriteString("weft_mark done\n}\nweft_main\n")
	return b.String()
}

// batch is how many files one cat reads.
const batch = 100

// batches sorts files into those that are read together, by number of the look.
// Attributes of the kernel that cannot be read hold up no other files.
func batches(looks []Look) (list [][]int) {
	groups := map[[2]bool][]int{}
	for i, l := range looks {
		if l.File != "" && !l.Sum {
			kind := [2]bool{strings.HasPrefix(l.File, "/sys/"), l.Stat}
			groups[kind] = append(groups[kind], i)
		}
	}
	for _, kind := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		list = slices.AppendSeq(list, slices.Chunk(groups[kind], batch))
	}
	return list
}

// netdev is the shell expansion of the interface behind the look's PCI address.
func (l Look) netdev(devices []string) string {
	if l.PCI == "" {
		return ""
	}
	return fmt.Sprintf(`"$weft_if%d"`, slices.Index(devices, l.PCI))
}

// line writes a line of the script that is about the look.
func (l Look) line(b *strings.Builder, text string, devices []string) {
	if l.PCI != "" {
		text = fmt.Sprintf("if [ -n %s ]; then %s; fi", l.netdev(devices), text)
	}
	b.WriteString(text)
	b.WriteByte('\n')
}

// call is the line that carries out look number i, unless it is one of a batch
// of files, or resolving its PCI address is all there is to do: then it is "".
func (l Look) call(i int, devices []string) string {
	netdev := l.netdev(devices)
	switch {
	case l.File != "" && l.Sum:
		return fmt.Sprintf("weft_sum %d %s", i, word(l.File, netdev))
	case l.File != "" || len(l.Args) == 0:
		return ""
	}
	words := slice.Map(l.Args, func(a string) string { return word(a, netdev) })
	if l.Own {
		// A subshell may exit, and change what it likes.
		return fmt.Sprintf("weft_mark look %d\n(\nset -- %s\n%s\n) </dev/null\nweft_mark end %d code \"$?\"",
			i, strings.Join(words[min(4, len(words)):], " "), l.Args[2], i)
	}
	if words[0] == "test" {
		return fmt.Sprintf("weft_test %d %s", i, strings.Join(words[1:], " "))
	}
	return fmt.Sprintf("weft_run %d %s", i, strings.Join(words, " "))
}

// word quotes s, with netdev, a shell expansion, in every place of {if}.
func word(s, netdev string) string {
	if netdev == "" || !strings.Contains(s, placeholder) {
		return Quote(s)
	}
	var b strings.Builder
	for i, part := range strings.Split(s, placeholder) {
		if i > 0 {
			b.WriteString(netdev)
		}
		if part != "" {
			b.WriteString(Quote(part))
		}
	}
	return b.String()
}

// pciDevices lists the PCI addresses of the looks, each once.
func pciDevices(looks []Look) []string {
	var devices []string
	for _, l := range looks {
		if l.PCI != "" && slices.Index(devices, l.PCI) < 0 {
			devices = append(devices, l.PCI)
		}
	}
	return devices
}
