package simswitch

import (
	"fmt"
	"strings"
)

// mostLossless is how many priorities may be lossless at a time. No document of
// the models that are simulated was found to state their limit, so it is the
// smallest that is documented of any relative: two, of Dell's M I/O Aggregator
// (Command Reference, Data Center Bridging: "only two lossless queues") and N4000
// (N-Series CLI Reference, Priority Flow Control Commands: "two"). A Nexus 9364D
// with two is in public use. A real switch may take more, and may take fewer.
const mostLossless = 2

// losslessFits judges how many priorities are lossless; lists are as lines have
// them, "3" or "3,5-6".
func losslessFits(where string, lists ...string) error {
	n := 0
	for prio := range 8 {
		for _, list := range lists {
			if listed(list, prio) {
				n++
				break
			}
		}
	}
	if n > mostLossless {
		return fmt.Errorf("%s: %d lossless priorities; a SIMULATED switch takes %d, the smallest limit that is documented of any: that of this model is not known", where, n, mostLossless)
	}
	return nil
}

// nxosLosslessFits judges a network-qos policy.
func nxosLosslessFits(policy *node) error {
	var lists []string
	for _, class := range policy.kids {
		if k := class.kid("pause pfc-cos"); k != nil {
			lists = append(lists, strings.Fields(k.line)[2])
		}
	}
	return losslessFits(policy.line, lists...)
}
