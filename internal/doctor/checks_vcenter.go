package doctor

// vcenterChecks are about what vCenters tell.
func vcenterChecks() []*Check {
	return []*Check{
		{ID: "WD-VC-01", Title: "vSAN that is to use RDMA speaks TCP", Severity: Error, Reads: "VsanQueryVcClusterHealthSummary, VsanClusterGetConfig", Limit: "RDMA is on, and each host speaks RoCE", Source: "Broadcom, vSAN over RDMA: one host without takes the whole cluster to TCP",
			Remedy: "Look at DCB of the hosts that are named, and at their ports for vSAN; weft plan says what is waited for.", Mends: []string{"vsan_rdma"}, judge: each((*Site).vcenters, vsanRDMA)},
		{ID: "WD-VC-02", Title: "a host is no member of its distributed switch", Severity: Error, Reads: "DistributedVirtualSwitch.config.host", Limit: "each uplink of the files is the only one of its host there", Source: "the files",
			Remedy: "weft plan makes it a member, unless it has another uplink there: weft moves none.", Mends: []string{"dvswitch_member"}, judge: each((*Site).vcenters, uplinked)},
		{ID: "WD-VC-03", Title: "a host profile may own what weft sets", Severity: Warn, Reads: "HostProfileManager.profile: name, entity", Limit: "none is attached to a host of a distributed switch of weft's", Source: "whoever remediates with it puts back what it owns",
			Remedy: "Take switches and ports of weft's out of the profile.", judge: each((*Site).vcenters, profiles)},
	}
}

func vsanRDMA(v *VCenter, r *ruling) {
	if r.knows(v.Silent == "", Place{Device: v.Name}, "%s", v.Silent) {
		for _, c := range v.Clusters {
			p := Place{Device: v.Name, Part: c.Path, Range: c.Range}
			if r.knows(c.Told, p, "not all of its hosts say what they speak") {
				r.unless(c.Wrong != "", p, "%s", c.Wrong)
			}
		}
	}
}

func uplinked(v *VCenter, r *ruling) {
	for _, m := range v.Members {
		p := Place{Device: v.Name, Part: m.Switch, Range: m.Range}
		if r.knows(m.Told, p, "%s: vCenter does not tell what NICs it has: it may be disconnected", m.Host) {
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
