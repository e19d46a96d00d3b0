package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/prove"
	"weft/internal/tally"
)

// prometheus is a result in the text format of Prometheus.
func prometheus(owner string, res *prove.Result) []byte {
	var b bytes.Buffer
	quote := func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
	}
	b.WriteString("# HELP weft_counter What a switch port or a NIC has counted.\n# TYPE weft_counter counter\n")
	if res.After != nil {
		for _, s := range res.After.Samples {
			priority := ""
			if s.Priority != tally.AllPriorities {
				priority = strconv.Itoa(s.Priority)
			}
			if s.Off != "" {
				continue
			}
			fmt.Fprintf(&b, "weft_counter{owner=%s,device=%s,port=%s,priority=%s,name=%s} %d\n",
				quote(owner), quote(s.Device), quote(s.Port), quote(priority), quote(s.Name), s.Value)
		}
	}
	verdicts := map[prove.Verdict]int{prove.Pass: 1, prove.Fail: 0, prove.Inconclusive: -1, prove.NotMeasured: -2}
	var value, verdict bytes.Buffer
	for _, j := range res.Judgements {
		least := ""
		if j.Least { // beside a most
			least = `,limit="least"`
		}
		labels := fmt.Sprintf("{owner=%s,validation=%s,metric=%s,place=%s,size=%s,baseline=%s%s}", quote(owner), quote(j.Validation), quote(j.Metric), quote(j.Pair),
			quote(strconv.Itoa(j.Size)), quote(strconv.FormatBool(!j.Against.IsZero())), least)
		if j.Verdict == prove.Pass || j.Verdict == prove.Fail {
			fmt.Fprintf(&value, "weft_metric%s %s\n", labels, strconv.FormatFloat(j.Value, 'g', -1, 64))
		}
		fmt.Fprintf(&verdict, "weft_verdict%s %d\n", labels, verdicts[j.Verdict])
	}
	b.WriteString("# HELP weft_metric What a metric was at a place; latencies in nanoseconds.\n# TYPE weft_metric gauge\n")
	b.Write(value.Bytes())
	b.WriteString("# HELP weft_verdict 1: pass, 0: fail, -1: inconclusive, -2: not measured, nothing counts there.\n# TYPE weft_verdict gauge\n")
	b.Write(verdict.Bytes())
	return b.Bytes()
}
