package prove

import (
	"fmt"

	"weft/internal/agent"
)

// Encryption is the metric of pairs that are declared to speak TLS.
const Encryption = "tls"

// mute is why a reply to a request is no result: weft-initiator was given a key for TLS,
// and does not say that it has spoken TLS. nil: it was not, or does.
func mute(q *agent.Request, reply *agent.Reply) error {
	key, said := "", ""
	switch {
	case q.Read != nil && reply.Probe != nil && reply.Probe.Samples > 0:
		key, said = q.Read.Over.TLSKeyFile, reply.Probe.TLS
	case q.Load != nil && reply.Load != nil && (reply.Load.Reads > 0 || reply.Load.Worked != nil):
		key, said = q.Load.Over.TLSKeyFile, reply.Load.TLS
	}
	if key == "" || said != "" {
		return nil
	}
	return fmt.Errorf("%s (%s) received a TLS key but does not report TLS: its results do not count; weft apply installs the matching version", agent.ProbeBin, reply.Version)
}

// encrypted judges what was measured of targets with tls = true: it passes only where
// the probe says by which cipher suite.
func encrypted(rows []*Row) []Judgement {
	var out []Judgement
	for _, row := range rows {
		if t := row.flow.target; t == nil || !t.TLS || row.Probe != "" {
			continue
		}
		j := Judgement{Validation: pathName, Metric: Encryption, Pair: row.Pair(), Size: row.Size, Verdict: Pass, Note: row.TLS}
		switch {
		case row.Unprobed:
			j.Verdict, j.Why, j.Absence = NotMeasured, row.Why, row.Absence
		case row.Why != "" || row.Samples == 0:
			j.Verdict, j.Why = Inconclusive, row.lacks()
		case row.TLS == "":
			j.Verdict, j.Why = Fail, "all was said in clear, and "+row.Target+" has tls = true"
		}
		out = append(out, j)
	}
	return out
}

// Over is what carried a row, for people: TLS stands for TCP with it.
func (r *Row) Over() string { return carried(r.Transport, r.TLS) }

// Over is what carried it, as of a row.
func (t *Throughput) Over() string { return carried(t.Transport, t.TLS) }

// Over is what carried it, as of a row.
func (l *Load) Over() string { return carried(l.Transport, l.TLS) }

func carried(transport, suite string) string {
	if suite != "" {
		return "tls"
	}
	return transport
}
