package doctor

// managed is the rack with a vCenter whose hosts are well.
func managed() *Site {
	s := rack()
	s.VCenters = []*VCenter{{Name: "vcenter.dc1", Clusters: []VSAN{{Path: "dc1/host/c1", Told: true}},
		Members: []Member{{Host: "esx1.example.net", Switch: "dc1/network/weft-rdma", Told: true}}}}
	return s
}

func vcenterTrials() map[string]tried {
	return map[string]tried{
		"WD-VC-01": {managed, func(s *Site) { s.VCenters[0].Clusters[0].Wrong = "esx1 speaks TCP" }, func(s *Site) { s.VCenters[0].Clusters[0].Told = false }},
		"WD-VC-02": {managed, func(s *Site) { s.VCenters[0].Members[0].Wrong = "it is no member" }, func(s *Site) { s.VCenters[0].Members[0].Told = false }},
		"WD-VC-03": {managed, func(s *Site) { s.VCenters[0].Profiles = []string{"esx1 has the host profile gold"} }, func(s *Site) { s.VCenters[0].Blind = "no permission" }},
	}
}
