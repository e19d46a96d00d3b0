package storage

import (
	"weft/internal/remote"
	"weft/modules/host"
)

// SurveyLooks are the looks at all volumes of a machine.
func SurveyLooks() []remote.Look { return []remote.Look{vgsLook(), lvsLook()} }

// Surveyed are all groups of a machine, whoever made them; none where lvm2 is not
// installed.
func Surveyed(s remote.Seen) (*host.VolumeFacts, error) {
	f := &host.VolumeFacts{}
	if s.Of(vgsLook()).Code == 127 {
		return f, nil
	}
	vgs, err := lvmRows(s, vgsLook())
	if err != nil {
		return nil, err
	}
	lvs, err := lvmRows(s, lvsLook())
	if err != nil {
		return nil, err
	}
	for _, row := range vgs {
		g := host.VolumeGroup{Name: row["vg_name"]}
		for _, v := range lvs {
			if v["vg_name"] == g.Name {
				g.Volumes = append(g.Volumes, v["lv_name"])
			}
		}
		f.Groups = append(f.Groups, g)
	}
	return f, nil
}
