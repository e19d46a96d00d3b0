package language

import (
	"cmp"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory/problem"
)

// An otherWay is a way to RDMA that files may name and weft sets up for nobody.
type otherWay struct {
	name, why string
	code      problem.Code // "": OtherWay
}

// otherWayOf is the one that a word means; nil: none.
func otherWayOf(word string) *otherWay {
	switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(word)) {
	case "directpath", "directpathio", "dynamicdirectpath", "dynamicdirectpathio", "passthrough", "pcipassthrough":
		return &otherWay{name: "DirectPath I/O", why: "it gives one adapter to one machine, is the fastest, and restricts vMotion; pvrdma keeps that possible"}
	case "sriov", "virtualfunction", "virtualfunctions":
		return &otherWay{name: "SR-IOV", why: "it gives a machine a function of an adapter, and restricts vMotion; pvrdma keeps that possible"}
	case "iser":
		return &otherWay{name: "iSER", why: "it is iSCSI over RDMA, of vSphere 6.7 on; NVMe over RDMA, of 7.0 on, is the service nvme-rdma"}
	case "fc", "fcoe", "fibrechannel", "fiberchannel", "nvmefc", "fcnvme":
		return &otherWay{name: "Fibre Channel", why: "weft manages NVMe over RDMA and TCP; existing FC connections are reported and stay as they are", code: problem.FC}
	}
	return nil
}

func (w *otherWay) Error() string { return w.name + " is described, not managed: " + w.why }

func (w *otherWay) at(rng hcl.Range) *hcl.Diagnostic {
	return problem.New(cmp.Or(w.code, problem.OtherWay), rng, w.name+": described, not managed", "weft sets up no %s: %s. Set it up by other means, or take the word away.", w.name, w.why)
}
