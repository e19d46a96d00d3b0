package language

import (
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory/problem"
)

// An otherWay is a way to RDMA that files may name and weft sets up for nobody.
type otherWay struct{ name, why string }

// otherWayOf is the one that a word means; nil: none.
func otherWayOf(word string) *otherWay {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(word)) {
	case "directpath", "directpathio", "dynamicdirectpath", "dynamicdirectpathio", "passthrough", "pcipassthrough":
		return &otherWay{"DirectPath I/O", "it gives one adapter to one machine, is the fastest, and restricts vMotion; pvrdma keeps that possible"}
	case "sriov", "virtualfunction", "virtualfunctions":
		return &otherWay{"SR-IOV", "it gives a machine a function of an adapter, and restricts vMotion; pvrdma keeps that possible"}
	case "iser":
		return &otherWay{"iSER", "it is iSCSI over RDMA, of vSphere 6.7 on; NVMe over RDMA, of 7.0 on, is the service nvme-rdma"}
	}
	return nil
}

func (w *otherWay) Error() string { return w.name + " is described, not managed: " + w.why }

func (w *otherWay) at(rng hcl.Range) *hcl.Diagnostic {
	return problem.New(problem.OtherWay, rng, w.name+": described, not managed", "weft sets up no %s: %s. Set it up by other means, or take the word away.", w.name, w.why)
}
