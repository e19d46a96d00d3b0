package rollout

import (
	"slices"
	"strconv"
	"strings"

	"weft/plan"
)

// batches divides the steps of a phase by their devices: as many devices as
// the sizes say, one after the other; the last size holds for the rest. A step
// that needs one of a later batch waits for that.
func batches(steps []plan.PlannedStep, sizes []string) [][]plan.PlannedStep {
	var devices []string
	seen := map[string]bool{}
	for _, s := range steps {
		if !seen[s.ID.Device] {
			seen[s.ID.Device] = true
			devices = append(devices, s.ID.Device)
		}
	}
	if len(sizes) == 0 {
		sizes = []string{"100%"}
	}
	batch := map[string]int{}
	count := 0
	for left := devices; len(left) > 0; count++ {
		n := min(size(sizes[min(count, len(sizes)-1)], len(devices)), len(left))
		for _, d := range left[:n] {
			batch[d] = count
		}
		left = left[n:]
	}
	return spread(steps, count, func(s plan.PlannedStep) int { return batch[s.ID.Device] })
}

// size is a number of devices, or a share of all of them, at least one.
func size(text string, all int) int {
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, _ := strconv.Atoi(share) // the language has checked it
		return max(1, (all*percent+99)/100)
	}
	n, _ := strconv.Atoi(text)
	return max(1, n)
}

// waves divides the steps of a batch so that no two planes are disturbed at
// once: one plane after the other, and with the first what disturbs none.
func waves(steps []plan.PlannedStep) [][]plan.PlannedStep {
	var planes []string
	for _, s := range steps {
		if s.Plane != "" && s.Impact() > plan.ImpactNone && !slices.Contains(planes, s.Plane) {
			planes = append(planes, s.Plane)
		}
	}
	if len(planes) < 2 {
		return [][]plan.PlannedStep{steps}
	}
	slices.Sort(planes)
	return spread(steps, len(planes), func(s plan.PlannedStep) int { return max(0, slices.Index(planes, s.Plane)) })
}

// spread sorts steps into parts, each step not before what it needs. Parts
// without steps are left out.
func spread(steps []plan.PlannedStep, parts int, part func(plan.PlannedStep) int) [][]plan.PlannedStep {
	out := make([][]plan.PlannedStep, parts)
	at := make(map[plan.ID]int, len(steps))
	for _, s := range steps {
		n := part(s)
		for _, need := range s.Needs {
			n = max(n, at[need])
		}
		at[s.ID] = n
		out[n] = append(out[n], s)
	}
	return slices.DeleteFunc(out, func(p []plan.PlannedStep) bool { return len(p) == 0 })
}

// disturbs reports whether carrying the steps out disturbs traffic.
func disturbs(steps []plan.PlannedStep) bool {
	return slices.ContainsFunc(steps, func(s plan.PlannedStep) bool { return s.Impact() > plan.ImpactNone })
}

func ids(steps []plan.PlannedStep) map[plan.ID]bool {
	set := make(map[plan.ID]bool, len(steps))
	for _, s := range steps {
		set[s.ID] = true
	}
	return set
}
