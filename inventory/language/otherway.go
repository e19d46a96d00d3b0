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
		return &otherWay{name: "DirectPath I/O", why: "it assigns an adapter to one virtual machine and restricts vMotion; pvrdma does not"}
	case "sriov", "virtualfunction", "virtualfunctions":
		return &otherWay{name: "SR-IOV", why: "it assigns a function of an adapter to a virtual machine and restricts vMotion; pvrdma does not"}
	case "iser":
		return &otherWay{name: "iSER", why: "it is iSCSI over RDMA (vSphere 6.7); for NVMe over RDMA (7.0), use the service nvme-rdma"}
	case "fc", "fcoe", "fibrechannel", "fiberchannel", "nvmefc", "fcnvme":
		return &otherWay{name: "Fibre Channel", why: "weft manages NVMe over RDMA and TCP; existing FC connections are only reported", code: problem.FC}
	}
	return nil
}

func (w *otherWay) Error() string { return w.name + " is described, not managed: " + w.why }

func (w *otherWay) at(rng hcl.Range) *hcl.Diagnostic {
	return problem.New(cmp.Or(w.code, problem.OtherWay), rng, w.name+": not managed", "weft does not manage %s: %s. Configure it by other means, or remove it.", w.name, w.why)
}
