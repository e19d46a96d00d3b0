package prove

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"weft/inventory"
)

// accounting is the validation that nobody declares: what weft's own agents say
// of what was measured with them.
const accounting = "accounting"

// An account is what targets of weft's own say of themselves.
type account struct {
	bytes   map[string]uint64    // that each subsystem has read, by NQN
	started map[string]time.Time // when weft-target was, by server and by its clock
}

// served asks the targets of flows. One that does not answer is left out.
func (r *run) served(ctx context.Context, flows []flow) account {
	out := account{map[string]uint64{}, map[string]time.Time{}}
	asked := map[*inventory.Server]bool{}
	for _, f := range flows {
		if f.target.Server == nil || f.target.Engine == "nvmet" || asked[f.target.Server] {
			continue // there is no weft-target, or it was asked
		}
		asked[f.target.Server] = true
		status, err := r.status(ctx, f.target.Server)
		r.keepSaying(f.target.Server, saying{status: status, err: err})
		if err != nil {
			continue
		}
		if !status.Started.IsZero() {
			out.started[f.target.Server.Addr] = status.Started
		}
		for _, sub := range status.Subsystems {
			out.bytes[sub.NQN] = sub.BytesRead
		}
	}
	return out
}

// account judges what targets served, and whether they were started again.
func (res *Result) account(before, after account, since *Snapshot) {
	res.Judgements = append(res.Judgements, reckon(res.Rows, before, after)...)
	if since != nil { // what was asked then is older than what was asked just now
		maps.Copy(before.started, since.Agents)
	}
	res.Judgements = append(res.Judgements, restarted(before.started, after.started)...)
	if res.After != nil {
		res.After.Agents = after.started
	}
}

// reckon compares what the probes read with what the targets say they served.
// Another owner's reads make it inconclusive, never a pass.
func reckon(rows []*Row, before, after account) []Judgement {
	read := map[string]uint64{}
	whole := map[string]bool{}
	var order []*Row
	for _, row := range rows {
		if t := row.flow.target; row.Probe != "" || row.Unprobed || t.Server == nil || t.Engine == "nvmet" {
			continue // nobody counts it
		}
		nqn := row.flow.sub.NQN
		if _, seen := whole[nqn]; !seen {
			whole[nqn] = true
			order = append(order, row)
		}
		read[nqn] += row.Bytes
		whole[nqn] = whole[nqn] && row.Why == "" && row.Errors == 0
	}
	var out []Judgement
	for _, row := range order {
		nqn := row.flow.sub.NQN
		j := Judgement{Validation: accounting, Metric: "bytes", Pair: row.Target, Limit: float64(read[nqn]), Verdict: Pass}
		b, okBefore := before.bytes[nqn]
		a, okAfter := after.bytes[nqn]
		j.Value = float64(a - b)
		switch {
		case !whole[nqn]:
			continue // the failed reads are judged already
		case !okBefore || !okAfter || a < b:
			j.Verdict, j.Why, j.Value = Inconclusive, "weft-target does not say what it served", 0
		case a-b != read[nqn]:
			j.Verdict = Inconclusive
			j.Why = fmt.Sprintf("the target served %d bytes, the probes read %d: another host reads, or a probe did not reach this target", a-b, read[nqn])
		}
		out = append(out, j)
	}
	return out
}

// restarted names the servers whose weft-target is not the process that it was:
// its unit starts it again when it crashes, and hosts come back to it, so that
// nothing else might tell. Each time is by the clock of its server.
func restarted(before, after map[string]time.Time) []Judgement {
	var out []Judgement
	for _, server := range slices.Sorted(maps.Keys(after)) {
		was, known := before[server]
		if !known || was.Equal(after[server]) {
			continue
		}
		out = append(out, Judgement{Validation: accounting, Metric: "restarts", Pair: server, Counted: true, Verdict: Inconclusive,
			Why: fmt.Sprintf("weft-target restarted at %s, which its unit does after a crash: the effect on hosts was not measured; on the server: journalctl -u weft-target",
				after[server].Format(time.RFC3339))})
	}
	return out
}
