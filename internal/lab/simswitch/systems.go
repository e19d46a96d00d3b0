package simswitch

import (
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
)

// systems are all that are simulated: the one list.
func systems() []*system { return []*system{nxos(), comware()} }

// Systems are the names of the operating systems that are simulated.
func Systems() []string {
	return slice.Map(systems(), func(s *system) string { return s.name })
}

// systemOf is the behaviour of an OS, or nil.
func systemOf(os string) *system {
	all := systems()
	if i := slices.IndexFunc(all, func(s *system) bool { return s.name == os }); i >= 0 {
		return all[i]
	}
	return nil
}

// Negation is the word that takes a line away on an OS that is simulated.
func Negation(os string) string { return systemOf(os).dialect().negation }

// PortName is a port as an OS prints it; as it was written where that is not known.
func PortName(os, port string) string {
	at := strings.IndexAny(port, "0123456789")
	sys := systemOf(os)
	if at <= 0 || sys == nil {
		return port
	}
	if name, ok := sys.kinds[strings.ToLower(strings.TrimSpace(port[:at]))]; ok {
		return name + port[at:]
	}
	return port
}

// MTU is that of a port in the text of a configuration.
func MTU(os, text, port string) int {
	sys := systemOf(os)
	mtu, inside := sys.mtu, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n ")
		if !strings.HasPrefix(line, " ") {
			inside = strings.EqualFold(line, "interface "+port)
			continue
		}
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), sys.mtuLine); inside && ok {
			if n, err := strconv.Atoi(value); err == nil {
				mtu = n
			}
		}
	}
	return mtu
}
