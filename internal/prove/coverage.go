package prove

import (
	"slices"

	"weft/inventory"
)

// smbDirect is the metric of two hosts that share files: its places are declared pairs.
const smbDirect = "smb_direct"

// A Coverage is how much of what was declared a result has measured.
type Coverage struct {
	Pairs    int `json:"pairs"`          // that are declared, over each plane; of a sample: those in it
	Measured int `json:"pairs_measured"` // at every size
	// Missing and Allowed are the systems, devices or places that were not measured, without
	// and with the leave of allow_unmeasured.
	Missing []string `json:"not_measured,omitempty"`
	Allowed []string `json:"not_measured_allowed,omitempty"`
	// Allow are the names that allow_unmeasured would have to list.
	Allow []string `json:"allow_unmeasured,omitempty"`
}

// Whole reports whether everything that was declared was measured.
func (c Coverage) Whole() bool { return len(c.Missing)+len(c.Allowed) == 0 }

// Coverage counts what a result has measured.
func (res *Result) Coverage() Coverage {
	var c Coverage
	missed := map[string]bool{}
	for _, row := range res.Rows {
		missed[row.Pair()] = missed[row.Pair()] || row.Why != ""
	}
	for _, j := range res.Judgements {
		if j.Metric == smbDirect && j.Validation == pathName {
			missed[j.Pair] = missed[j.Pair] || j.Verdict == NotMeasured || j.Verdict == Inconclusive
		}
	}
	c.Pairs = len(missed)
	for _, missing := range missed {
		if !missing {
			c.Measured++
		}
	}
	for _, j := range res.Judgements {
		if j.Verdict != NotMeasured || j.Undeclared {
			continue
		}
		where := &c.Missing
		if j.Allowed != "" {
			where = &c.Allowed
		}
		if name := j.Without(); !slices.Contains(*where, name) {
			*where = append(*where, name)
		}
		if name := j.allowedBy(); name != "" && j.Allowed == "" && !slices.Contains(c.Allow, name) {
			c.Allow = append(c.Allow, name)
		}
	}
	return c
}

// Without names what keeps a place from being measured: the system where that is the
// reason, else the device, else the place.
func (j Judgement) Without() string {
	switch {
	case j.System != "":
		return j.System
	case len(j.Lacks) > 0:
		return j.Lacks[0]
	}
	return j.Pair
}

// allowedBy is the name that would allow that a place is not measured; "": none would.
func (a Absence) allowedBy() string {
	switch n := len(a.Lacks); {
	case n == 0:
		return ""
	case a.System != "":
		return a.Lacks[n-1]
	}
	return a.Lacks[0]
}

// allow notes which places may go without a measurement: by the validation that asks for
// it, by any that was chosen where the check is one of weft's own, or by the command line.
func (r *run) allow(res *Result, chosen []*inventory.Validation) {
	own, all := map[string][]string{}, slices.Clone(r.in.Allow)
	for _, v := range r.in.Model.Validations {
		own[v.Name] = append(slices.Clone(r.in.Allow), v.AllowUnmeasured...)
	}
	for _, v := range chosen {
		all = append(all, v.AllowUnmeasured...)
	}
	for i := range res.Judgements {
		j := &res.Judgements[i]
		names, declared := own[j.Validation]
		if !declared {
			names = all
		}
		// A metric that no place measures is inconclusive, and lacks the same.
		if j.Verdict != NotMeasured && j.Verdict != Inconclusive || j.Undeclared {
			continue
		}
		if n := slices.IndexFunc(j.Lacks, func(name string) bool { return slices.Contains(names, name) }); n >= 0 {
			j.Verdict, j.Allowed = NotMeasured, j.Lacks[n]
		}
	}
}

// absent is what is lacking where the system of a server is why nothing is measured.
func (r *run) absent(s *inventory.Server) Absence {
	system := s.OS
	if r.in.System != nil {
		system = r.in.System(s.OS)
	}
	return Absence{Lacks: []string{s.Addr, s.OS}, System: system}
}

// absentAt is absent of the server with that address.
func (r *run) absentAt(addr string) Absence {
	n := slices.IndexFunc(r.in.Model.Servers, func(s *inventory.Server) bool { return s.Addr == addr })
	if n < 0 {
		return Absence{Lacks: []string{addr}}
	}
	return r.absent(r.in.Model.Servers[n])
}

// unread reports whether a device told nothing of what it has counted, before or after.
func (res *Result) unread(device string) bool {
	return res.Before.silent(device) || res.After.silent(device)
}

func (r *Snapshot) silent(device string) bool {
	return r != nil && slices.ContainsFunc(r.Missing, func(m Missing) bool { return m.Device == device && m.Port == "" })
}
