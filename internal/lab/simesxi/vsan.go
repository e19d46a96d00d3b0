//go:build unix

package simesxi

import (
	"maps"
	"slices"
)

// Cluster makes the host a member of a cluster of vSAN, or not.
func (h *Host) Cluster(member bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clustered = member
}

func vsanList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(h.now.vmks)) {
		if h.now.vmks[name].vsan {
			rows = append(rows, structure("VsanNetwork", "IPProtocol", "IP", "TrafficType", "vsan", "VmkNicName", name))
		}
	}
	return list(rows...), nil
}

func vsanAdd(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	if err != nil {
		return "", err
	}
	if t, given := o["T"]; given && t != "vsan" {
		return "", says("This SIMULATED host has no traffic type %s", t)
	}
	if v.vsan {
		return "", says("%s carries vSAN already", o["i"])
	}
	v.vsan = true
	h.now.vmks[o["i"]] = v
	return "", nil
}

func vsanRemove(h *Host, o map[string]string) (string, error) {
	v, err := h.vmk(o["i"])
	if err != nil {
		return "", err
	}
	if !v.vsan {
		return "", says("%s carries no vSAN", o["i"])
	}
	v.vsan = false
	h.now.vmks[o["i"]] = v
	return "", nil
}

func vsanCluster(h *Host, _ map[string]string) (string, error) {
	if !h.clustered {
		return "", says("vSAN Clustering is not enabled on this host")
	}
	return structure("VsanCluster", "Enabled", true, "LocalNodeState", "AGENT"), nil
}
