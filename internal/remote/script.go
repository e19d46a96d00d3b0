package remote

import (
	"fmt"
	"slices"
	"strings"
)

// placeholder stands for the interface of the look's PCI device.
const placeholder = "{if}"

// prelude defines the functions that a script calls once per look. It is
// plain POSIX: besides built-ins of the shell it runs cat, and sha256sum and
// ls where sums are asked for.
//
// A file may appear while it is looked at. Whether it is missing is decided by
// the first test alone; a second one might contradict it.
//
// Standard output and standard error carry the same marker lines, so that
// both can be cut apart without a temporary file on the host.
const prelude = `
weft_mark() {
	printf '\n%s %s\n' "$weft_nonce" "$*"
	printf '\n%s %s\n' "$weft_nonce" "$*" >&2
}
weft_netdev() {
	for weft_d in "/sys/bus/pci/devices/$1/net"/* "/sys/bus/pci/devices/$1"/virtio*/net/*; do
		if [ -e "$weft_d" ]; then printf '%s' "${weft_d##*/}"; return; fi
	done
}
weft_missing() {
	weft_p=$1
	while [ -n "$weft_p" ]; do
		weft_p=${weft_p%/*}
		if [ -d "${weft_p:-/}" ]; then
			if [ -x "${weft_p:-/}" ]; then echo absent; else echo denied; fi
			return
		fi
	done
	echo absent
}
weft_unread() {
	if [ ! -e "$1" ]; then weft_missing "$1"; elif [ -r "$1" ]; then echo failed; else echo denied; fi
}
weft_file() {
	weft_mark look "$1"
	if [ ! -e "$2" ]; then weft_mark end "$1" "$(weft_missing "$2")"
	elif cat "$2"; then weft_mark end "$1" seen
	else weft_mark end "$1" "$(weft_unread "$2")"; fi
}
weft_sum() {
	weft_mark look "$1"
	if [ ! -e "$2" ]; then weft_mark end "$1" "$(weft_missing "$2")"
	elif sha256sum <"$2" && ls -lLdn "$2"; then weft_mark end "$1" seen
	else weft_mark end "$1" "$(weft_unread "$2")"; fi
}
weft_run() {
	weft_i=$1
	shift
	weft_mark look "$weft_i"
	( "$@" ) </dev/null
	weft_mark end "$weft_i" code "$?"
}
`

// Script renders one POSIX shell script that carries out all of the looks.
// Its output is framed by lines that start with the nonce, which must not
// occur in anything that is read. Every File must be an absolute path.
func Script(nonce string, looks []Look) string {
	var b strings.Builder
	fmt.Fprintf(&b, "weft_nonce=%s\n", Quote(nonce))
	b.WriteString("LC_ALL=C; PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin; export LC_ALL PATH\n")
	b.WriteString(strings.TrimPrefix(prelude, "\n"))
	// One function, so that the shell has the whole script before it starts:
	// half a script that arrives over a dying connection runs nothing.
	b.WriteString("weft_main() {\n")
	devices := pciDevices(looks)
	for i, pci := range devices {
		fmt.Fprintf(&b, "weft_if%d=$(weft_netdev %s)\nweft_mark pci %d \"$weft_if%d\"\n", i, Quote(pci), i, i)
	}
	for i, l := range looks {
		call := l.call(i, devices)
		if call != "" && l.PCI != "" {
			call = fmt.Sprintf("if [ -n \"$weft_if%d\" ]; then %s; fi", slices.Index(devices, l.PCI), call)
		}
		if call != "" {
			b.WriteString(call + "\n")
		}
	}
	b.WriteString("weft_mark done\n}\nweft_main\n")
	return b.String()
}

// call is the line that carries out look number i; "" when resolving its PCI
// address is all there is to do.
func (l Look) call(i int, devices []string) string {
	netdev := ""
	if l.PCI != "" {
		netdev = fmt.Sprintf(`"$weft_if%d"`, slices.Index(devices, l.PCI))
	}
	switch {
	case l.File != "" && l.Sum:
		return fmt.Sprintf("weft_sum %d %s", i, word(l.File, netdev))
	case l.File != "":
		return fmt.Sprintf("weft_file %d %s", i, word(l.File, netdev))
	case len(l.Args) > 0:
		words := make([]string, len(l.Args))
		for n, a := range l.Args {
			words[n] = word(a, netdev)
		}
		return fmt.Sprintf("weft_run %d %s", i, strings.Join(words, " "))
	}
	return ""
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
