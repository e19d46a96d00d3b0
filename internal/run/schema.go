package run

import (
	"fmt"
	"strings"

	"weft/internal/store"
)

// What is kept of a run, and where. RUN, PHASE and DEVICE are parts of keys as
// store.Segment makes them; LAB is "real" or "lab", which never mix. No document grows
// with the number of devices: what may be large is a blob, which its document names.
//
//	owner                            whose store it is, where several might share one
//	run/RUN                          the head: state, phases, rollout, who, commit, the plan's digest;
//	                                 every change of it is made at the revision that was read
//	mark/RUN                         the mark on the devices of a run that is on its way (large)
//	pause/RUN                        an operator asked for a pause
//	abandoned/RUN                    it was begun elsewhere, and its devices were taken over
//	audit/RUN/N                      what was decided about it, each entry with the sum of the one before
//	approval/RUN/PHASE/FINGERPRINT   signatures that let a phase begin
//	plan/DIGEST                      a plan that weft plan --out has kept: which run it is to be
//	record/RUN/progress/PHASE/DEVICE the steps that were carried out there
//	record/RUN/begun/PHASE/N         the steps that may have been, five hundred in a document
//	record/RUN/verdicts/PHASE/N      what its gate said, a hundred times in a document
//	record/RUN/measured/NAME         what a gate or a record has measured last (large)
//	record/RUN/counters              the last reading of counters (large)
//	record/RUN/journal/SESSION/N     the journal, in pieces of at most 64 KB; a session is a process
//	record/RUN/soak/SESSION/N        looks at a phase, in pieces of at most 64 KB
//	record/RUN/sites                 the site of each device of the plan, where workers carry it out (large)
//	record/RUN/site/SITE/done        what the workers of a site came to, until that is read (large)
//	record/RUN/site/SITE/by          the worker that was last at work there
//	record/RUN/site/SITE/journal/SESSION/N  the journal of such a worker
//	record/RUN/site/SITE/soak/SESSION/N     what it has seen meanwhile
//	work/LAB/SITE                    what the workers of a site are asked to do (large)
//	baseline/LAB                     what measurements are compared with (large)
//
// The leases: fabric/LAB is held by whoever carries anything out, or has workers do it;
// record/RUN/site/SITE/lease by the worker that changes the devices of that site.
//
// # Retention
//
// Nothing of a run is deleted by itself, but its mark, when no device carries it any
// more, a pause, when it is over, and what was measured, when it is measured again. A
// run that never began leaves nothing. The plan of a run stays as long as the run.
const (
	keyOwner = "owner"
	maxPiece = 64 << 10 // bytes of a piece of a journal, and of what is not a blob yet
)

func keyRun(id string) string       { return "run/" + store.Segment(id) }
func keyMark(id string) string      { return "mark/" + store.Segment(id) }
func keyPause(id string) string     { return "pause/" + store.Segment(id) }
func keyAbandoned(id string) string { return "abandoned/" + store.Segment(id) }
func keyPlan(d store.Digest) string { return "plan/" + string(d) }

// keyRecord is the folder of the details of a run, or what is below it.
func keyRecord(id string, below ...string) string {
	parts := []string{"record", store.Segment(id)}
	for i, part := range below {
		if i > 0 {
			part = store.Segment(part)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/")
}

func keyBaseline(simulated bool) string { return "baseline/" + labOrReal(simulated) }

// keyWork is what the workers of a site are asked to do, keySite what they write.
func keyWork(simulated bool, site string) string {
	return "work/" + labOrReal(simulated) + "/" + store.Segment(site)
}
func keySite(id, site string) string { return keyRecord(id, "site", site) }

// ofSite reports whether the workers of a site may write a key of a run.
func ofSite(key string) bool {
	parts := strings.Split(key, "/")
	return len(parts) > 2 && parts[0] == "record" && parts[2] == "site" || parts[0] == "site"
}

// leaseAt is the lease of the worker that changes the devices of a site.
func leaseAt(id, site string) string { return keySite(id, site) + "/lease" }

// leaseOf is the lease of whoever carries anything out.
func leaseOf(simulated bool) string { return "fabric/" + labOrReal(simulated) }

func labOrReal(simulated bool) string {
	if simulated {
		return "lab"
	}
	return "real"
}

// piece numbers a piece of something that grows.
func piece(folder string, n int) string { return fmt.Sprintf("%s/%06d", folder, n) }
