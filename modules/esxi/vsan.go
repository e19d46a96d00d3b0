package esxi

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A VSANNetwork has a port of the VMkernel carry the traffic of vSAN.
type VSANNetwork struct {
	VMKernel string

	cluster string // why it stays: the host is in a cluster of vSAN, or that is not known; "": it may go
}

// VSANNetworkKind is the kind vsan_network.
func VSANNetworkKind() *host.Kind[VSANNetwork] {
	return &host.Kind[VSANNetwork]{
		Name: "vsan_network", Present: "carries",
		Looks: (*VSANNetwork).Looks, Parse: (*VSANNetwork).Parse, Steps: (*VSANNetwork).Steps, Together: holdVSAN,
	}
}

func vsanNetworkLook() remote.Look { return ask("vsan", "network", "list") }
func vsanClusterLook() remote.Look { return ask("vsan", "cluster", "get") }

func (v *VSANNetwork) Looks() []remote.Look {
	return []remote.Look{portsLook(), vsanNetworkLook(), vsanClusterLook()}
}

// Parse: the port may come with a step before. One that carries a witness, too, is refused:
// it would lose that with what weft takes away.
func (v *VSANNetwork) Parse(s remote.Seen) (*VSANNetwork, error) {
	var err error
	there := slices.ContainsFunc(table(s, portsLook(), &err), func(r row) bool { return r.text("Name") == v.VMKernel })
	var carries []string
	for _, r := range table(s, vsanNetworkLook(), &err) {
		if r.text("VmkNicName") == v.VMKernel {
			carries = r.list("TrafficType")
		}
	}
	switch {
	case err != nil || !there || len(carries) == 0:
		return nil, err
	case !slices.Equal(carries, []string{"vsan"}):
		return nil, hint.Wrap(fmt.Errorf("%s carries %s: esxcli vsan network list", v.VMKernel, strings.Join(carries, ", ")), "weft uses separate ports for vSAN: add a port for it")
	}
	return &VSANNetwork{VMKernel: v.VMKernel, cluster: clustered(s)}, nil
}

// clustered says why a host needs its network of vSAN; "": it is in no cluster. Releases
// write the name of vSAN in several ways there.
func clustered(s remote.Seen) string {
	_, err := answer(s, vsanClusterLook())
	if err == nil {
		return "the host is a member of a vSAN cluster"
	}
	got := s.Of(vsanClusterLook())
	if printed := strings.ToLower(string(got.Content) + string(got.Stderr)); got.Err != nil && strings.Contains(printed, "clustering is not enabled on this host") {
		return ""
	}
	return "whether the host is a member of a vSAN cluster is not known: " + err.Error()
}

func (v *VSANNetwork) Steps(have *VSANNetwork) []remote.Step {
	switch {
	case v == nil && have != nil:
		return []remote.Step{host.Run("esxcli", "vsan", "network", "ip", "remove", "-i", have.VMKernel)}
	case v != nil && have == nil:
		return []remote.Step{host.Run("esxcli", "vsan", "network", "ip", "add", "-i", v.VMKernel, "-T", "vsan")}
	}
	return nil
}

// holdVSAN takes no network away from a host that is in a cluster of vSAN: its data would
// be cut off.
func holdVSAN(rs []plan.Resource, states []plan.State) {
	for i := range rs {
		if v, _ := host.Leaving[VSANNetwork](rs[i], states[i]); v != nil && v.cluster != "" {
			states[i] = host.Stopped(hint.Wrap(fmt.Errorf("%s carries vSAN, and %s", v.VMKernel, v.cluster),
				"keep vsan among its services, or take the host out of the cluster first: in maintenance mode, with its data evacuated"))
		}
	}
}
