package lossless

import "slices"

// IDs are the numbers in the catalogue of weft doctor under which findings are reported: by
// doctor, verify and gates. Each is an error or worse, as a contradiction fails a gate.
func IDs() []string {
	return []string{"WD-MTU-01", "WD-MTU-02", "WD-QOS-01", "WD-QOS-02", "WD-QOS-03", "WD-QOS-04", "WD-QOS-12", "WD-QOS-23", "WD-QOS-27", "WD-QOS-28", "WD-QOS-29"}
}

// ID is the number of one of the findings of a result.
func (r Result) ID(f Finding) string {
	switch f.Aspect {
	case PFC:
		return "WD-QOS-01"
	case Operation:
		return "WD-QOS-02"
	case Classification:
		if f.Class == "" && !r.NIC {
			return "WD-QOS-03" // what a port goes by
		}
		return "WD-QOS-04"
	case Pause:
		return "WD-QOS-12"
	case Beside:
		if f.Why != "" {
			return "WD-QOS-25" // which doctor reports by itself
		}
		return "WD-QOS-23"
	case ECN:
		return "WD-QOS-27"
	case ETS, Queueing, Watchdog:
		return "WD-QOS-28"
	case MTU:
		if r.NIC {
			return "WD-MTU-02"
		}
		return "WD-MTU-01"
	case Presence, Reading:
		return "WD-QOS-29"
	}
	return "WD-QOS-29"
}

// IDs are the numbers of the findings that Text lists, each once.
func (r Result) IDs() (out []string) {
	for _, f := range r.said() {
		if id := r.ID(f); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
