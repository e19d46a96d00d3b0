package doctor

// vcenterChecks are about what vCenters tell.
func vcenterChecks() []*Check {
	return []*Check{
		{ID: "WD-VC-01", Title: "vSAN with RDMA enabled uses TCP", Severity: Error, Reads: "VsanQueryVcClusterHealthSummary, VsanClusterGetConfig", Limit: "RDMA is enabled, and each host uses RoCE", Source: "Broadcom, vSAN over RDMA: one host without RDMA switches the whole cluster to TCP",
			Remedy: "Check DCB and the vSAN ports of the listed hosts; weft plan lists the missing conditions.", Mends: []string{"vsan_rdma"}, judge: each((*Site).vcenters, vsanRDMA)},
		{ID: "WD-VC-02", Title: "a host is not a member of its distributed switch", Severity: Error, Reads: "DistributedVirtualSwitch.config.host", Limit: "each declared uplink is the only one of its host", Source: "the files",
			Remedy: "weft apply makes it a member, unless it has another uplink there, which weft does not move.", Mends: []string{"dvswitch_member"}, judge: each((*Site).vcenters, uplinked)},
		{ID: "WD-VC-03", Title: "a host profile may override settings of weft", Severity: Warn, Reads: "HostProfileManager.profile: name, entity", Limit: "no profile on a host of a distributed switch managed by weft", Source: "a remediation restores the values of the profile",
			Remedy: "Remove the switches and ports that weft manages from the profile.", judge: each((*Site).vcenters, profiles)},
	}
}

func vsanRDMA(v *VCenter, r *ruling) {
	if r.knows(v.Silent == "", Place{Device: v.Name}, "%s", v.Silent) {
		for _, c := range v.Clusters {
			p := Place{Device: v.Name, Part: c.Path, Range: c.Range}
			if r.knows(c.Told, p, "not all of its hosts report their protocol") {
				r.unless(c.Wrong != "", p, "%s", c.Wrong)
			}
		}
	}
}

func uplinked(v *VCenter, r *ruling) {
	for _, m := range v.Members {
		p := Place{Device: v.Name, Part: m.Switch, Range: m.Range}
		if r.knows(m.Told, p, "%s: vCenter does not report its NICs; it may be disconnected", m.Host) {
			r.unless(m.Wrong != "", p, "%s: %s", m.Host, m.Wrong)
		}
	}
}

func profiles(v *VCenter, r *ruling) {
	switch {
	case v.Blind != "":
		r.unknown(Place{Device: v.Name}, "%s", v.Blind)
		return
	case len(v.Members) == 0:
		return
	}
	for _, text := range v.Profiles {
		r.bad(Place{Device: v.Name}, "%s", text)
	}
	if len(v.Profiles) == 0 {
		r.fine()
	}
}
