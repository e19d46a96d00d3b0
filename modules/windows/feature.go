package windows

import (
	"fmt"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// A Feature is one of Windows Server's.
type Feature struct {
	Name string // Data-Center-Bridging
}

// FeatureKind is the kind windows_feature.
func FeatureKind() *host.Kind[Feature] {
	return &host.Kind[Feature]{
		Name: "windows_feature",
		Declares: &inventory.BlockType{
			Name: "windows_feature", About: "An installed feature of Windows Server.", Label: "name",
			Named: inventory.Form{Is: "Data-Center-Bridging: others are not managed yet", Pattern: `Data-Center-Bridging`},
		},
		Blocks: func(s *inventory.Server) (list []host.Block[Feature]) {
			for _, b := range s.Declared("windows_feature") {
				list = append(list, host.Block[Feature]{Block: &b.Block, Name: b.Label, Want: &Feature{Name: b.Label}})
			}
			return list
		},
		Looks: (*Feature).Looks, Parse: (*Feature).Parse, Diff: (*Feature).Diff, Steps: (*Feature).Steps,
	}
}

// look asks for the name of the state, which is that of an enumeration: no language has
// another.
func (f *Feature) look() remote.Look {
	return query("Name Installed:bool InstallState", "Get-WindowsFeature", "-Name", f.Name)
}

func (f *Feature) Looks() []remote.Look { return []remote.Look{f.look()} }

func (f *Feature) Parse(s remote.Seen) (*Feature, error) {
	type feature struct {
		Name, InstallState string
		Installed          bool
	}
	list, err := rows[feature](s, f.look())
	switch {
	case err != nil:
		return nil, err
	case len(list) != 1 || list[0].Name != f.Name:
		return nil, fmt.Errorf("the host has no feature %s: Get-WindowsFeature", f.Name)
	case list[0].InstallState == "InstallPending" || list[0].InstallState == "UninstallPending":
		return nil, fmt.Errorf("the feature %s is %s: restart the host first", f.Name, list[0].InstallState)
	case !list[0].Installed:
		return nil, nil
	}
	return &Feature{Name: f.Name}, nil
}

func (f *Feature) Diff(have *Feature) []plan.Change {
	return plan.Changed("installed", have != nil, f != nil, plan.ImpactNone)
}

func (f *Feature) Steps(have *Feature) []remote.Step {
	switch {
	case f != nil && have == nil:
		return []remote.Step{host.Run("Install-WindowsFeature", "-Name", f.Name, "-Confirm:$false")}
	case f == nil && have != nil:
		return []remote.Step{host.Run("Uninstall-WindowsFeature", "-Name", have.Name, "-Confirm:$false")}
	}
	return nil
}
