package vcenter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A cluster is one of hosts, and what its vSAN says of itself.
type cluster struct {
	ref  types.ManagedObjectReference
	path string
	note note

	on    bool // vSAN is
	rdma  bool // and it is to use RDMA
	hosts []vsanHost

	witnesses int   // hosts that only vote: it is stretched, or of two nodes
	silent    error // why the health service did not tell; nil: it did
}

// A vsanHost is what the health service tells of a host.
type vsanHost struct {
	*host
	subnets  []string
	protocol string // of what goes to other hosts: TCP, RoCEv1, RoCEv2; "": not told
	nics     []vsanNIC
}

// A vsanNIC is one that vSAN uses.
type vsanNIC struct {
	Name     string `xml:"deviceName"`
	Vendor   int64  `xml:"vendorId"`
	Device   int64  `xml:"deviceId"`
	Used     bool   `xml:"useByVsan"`
	RDMAInfo *struct {
		Capable  bool   `xml:"rdmaCapable"`
		Protocol string `xml:"rdmaProtocolCapable"`
		Mode     string `xml:"dcbMode"`
		PFC      bool   `xml:"pfcEnabled"`
		Config   string `xml:"pfcConfig"`
	} `xml:"rdmaConfig"`
}

// Where vCenter answers for vSAN. What is asked there stands in the vSAN Management API;
// govmomi knows no rdmaConfig.
const (
	vsanNamespace = "vsan"
	vsanPath      = "/vsanHealth"
)

func vsanObject(kind, name string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: kind, Value: name}
}

func vsanConfigSystem() types.ManagedObjectReference {
	return vsanObject("VsanVcClusterConfigSystem", "vsan-cluster-config-system")
}

// A rdmaConfig is VsanRdmaConfig.
type rdmaConfig struct {
	Enabled bool `xml:"rdmaEnabled"`
}

type getConfig struct {
	This    types.ManagedObjectReference `xml:"_this"`
	Cluster types.ManagedObjectReference `xml:"cluster"`
}

type getConfigBody struct {
	Req *getConfig `xml:"urn:vsan VsanClusterGetConfig,omitempty"`
	Res *struct {
		Value struct {
			Enabled bool        `xml:"enabled"`
			RDMA    *rdmaConfig `xml:"rdmaConfig"`
		} `xml:"returnval"`
	} `xml:"urn:vsan VsanClusterGetConfigResponse,omitempty"`
	Failed *soap.Fault `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

func (b *getConfigBody) Fault() *soap.Fault { return b.Failed }

type reconfig struct {
	This    types.ManagedObjectReference `xml:"_this"`
	Cluster types.ManagedObjectReference `xml:"cluster"`
	Spec    struct {
		Modify bool       `xml:"modify"` // what is not said stays
		RDMA   rdmaConfig `xml:"rdmaConfig"`
	} `xml:"vsanReconfigSpec"`
}

type reconfigBody struct {
	Req *reconfig `xml:"urn:vsan VsanClusterReconfig,omitempty"`
	Res *struct {
		Task types.ManagedObjectReference `xml:"returnval"`
	} `xml:"urn:vsan VsanClusterReconfigResponse,omitempty"`
	Failed *soap.Fault `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

func (b *reconfigBody) Fault() *soap.Fault { return b.Failed }

type getHealth struct {
	This    types.ManagedObjectReference `xml:"_this"`
	Cluster types.ManagedObjectReference `xml:"cluster"`
	UUIDs   bool                         `xml:"includeObjUuids"`
	Fields  []string                     `xml:"fields"`
	Cached  bool                         `xml:"fetchFromCache"`
}

type getHealthBody struct {
	Req *getHealth `xml:"urn:vsan VsanQueryVcClusterHealthSummary,omitempty"`
	Res *struct {
		Value vsanHealth `xml:"returnval"`
	} `xml:"urn:vsan VsanQueryVcClusterHealthSummaryResponse,omitempty"`
	Failed *soap.Fault `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

func (b *getHealthBody) Fault() *soap.Fault { return b.Failed }

// A vsanHealth is what VsanClusterHealthSummary tells of RDMA.
type vsanHealth struct {
	Network struct {
		Hosts []struct {
			Host     types.ManagedObjectReference `xml:"host"`
			Name     string                       `xml:"hostname"`
			Subnets  []string                     `xml:"ipSubnets"`
			Protocol string                       `xml:"rdtConnProtocol"`
		} `xml:"hostResults"`
	} `xml:"networkHealth"`
	Hardware struct {
		Hosts []struct {
			Name string    `xml:"hostname"`
			NICs []vsanNIC `xml:"pnics"`
		} `xml:"hostResults"`
	} `xml:"hclInfo"`
}

// listClusters notes those at some paths, and those with a mark, without their vSAN.
func (r *reading) listClusters(all []mo.ClusterComputeResource, folders []mo.ManagedEntity, key int32, paths []string) {
	r.clusters = map[string]*cluster{}
	for _, m := range all {
		k := &cluster{ref: m.Self, path: pathOf(m.ManagedEntity, folders), note: readNote(noteIn(m.CustomValue, key))}
		if k.note.owner == "" && !slices.Contains(paths, k.path) {
			continue
		}
		for _, ref := range m.Host {
			for _, h := range r.hosts {
				if h.ref == ref {
					k.hosts = append(k.hosts, vsanHost{host: h})
				}
			}
		}
		slices.SortFunc(k.hosts, func(a, b vsanHost) int { return strings.Compare(a.name, b.name) })
		r.clusters[k.path] = k
	}
}

// survey reads, and asks the clusters among it about their vSAN, for which others need not
// wait.
func (c *client) survey(ctx context.Context, paths ...string) (*reading, error) {
	r, err := c.read(ctx, paths...)
	if err != nil {
		return nil, err
	}
	for _, at := range sorted(r.clusters) {
		if err := c.readVSAN(ctx, r.clusters[at]); err != nil {
			return nil, fmt.Errorf("vSAN of %s: %w", at, err)
		}
	}
	return r, nil
}

// errNoAnswer is of a body that holds neither what was asked for nor a fault.
var errNoAnswer = errors.New("the answer has nothing in it that weft knows")

// readVSAN reads how the vSAN of a cluster is set up, and what was found of it last.
func (c *client) readVSAN(ctx context.Context, k *cluster) error {
	body := getConfigBody{Req: &getConfig{vsanConfigSystem(), k.ref}}
	if err := c.vsan.RoundTrip(ctx, &body, &body); err != nil {
		return err
	}
	if body.Res == nil {
		return errNoAnswer
	}
	k.on, k.rdma = body.Res.Value.Enabled, body.Res.Value.RDMA != nil && body.Res.Value.RDMA.Enabled
	if !k.on {
		return nil
	}
	votes := getWitnessesBody{Req: &getConfig{vsanObject("VimClusterVsanVcStretchedClusterSystem", "vsan-stretched-cluster-system"), k.ref}}
	if k.silent = c.vsan.RoundTrip(ctx, &votes, &votes); k.silent == nil && votes.Res != nil {
		k.witnesses = len(votes.Res.Value)
	}
	if k.silent == nil {
		k.silent = c.readHealth(ctx, k, true)
	}
	return nil
}

// readHealth asks the health service about the hosts of a cluster: what it found last, or
// afresh.
func (c *client) readHealth(ctx context.Context, k *cluster, cached bool) error {
	body := getHealthBody{Req: &getHealth{This: vsanObject("VsanVcClusterHealthSystem", "vsan-cluster-health-system"), Cluster: k.ref,
		Fields: []string{"networkHealth", "hclInfo"}, Cached: cached}}
	if err := c.vsan.RoundTrip(ctx, &body, &body); err != nil {
		return err
	}
	if body.Res == nil {
		return errNoAnswer
	}
	k.tell(body.Res.Value)
	return nil
}

// tell notes what the health service says of each host.
func (k *cluster) tell(said vsanHealth) {
	for i := range k.hosts {
		h := &k.hosts[i]
		names := []string{h.name}
		h.subnets, h.protocol, h.nics = nil, "", nil
		for _, n := range said.Network.Hosts {
			if n.Host == h.ref || n.Host.Value == "" && strings.EqualFold(n.Name, h.name) {
				h.subnets, h.protocol = n.Subnets, n.Protocol
				names = append(names, n.Name)
			}
		}
		for _, n := range said.Hardware.Hosts {
			if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, n.Name) }) {
				h.nics = slices.DeleteFunc(slices.Clone(n.NICs), func(n vsanNIC) bool { return !n.Used })
			}
		}
	}
}

type getWitnessesBody struct {
	Req *getConfig `xml:"urn:vsan VSANVcGetWitnessHosts,omitempty"`
	Res *struct {
		Value []struct {
			Node string `xml:"nodeUuid"`
		} `xml:"returnval"`
	} `xml:"urn:vsan VSANVcGetWitnessHostsResponse,omitempty"`
	Failed *soap.Fault `xml:"http://schemas.xmlsoap.org/soap/envelope/ Fault,omitempty"`
}

func (b *getWitnessesBody) Fault() *soap.Fault { return b.Failed }

// A VSANState is whether a cluster that is to use RDMA for vSAN does.
type VSANState struct {
	Cluster string // path
	Hosts   int
	On      bool   // it is switched on
	Told    bool   // all hosts say what they speak
	Why     string // it does not, or is not known to; "": it does
}

// VSAN asks in a session of its own about the clusters that are to use RDMA, afresh.
func (d *Device) VSAN(ctx context.Context) (list []VSANState, err error) {
	c, err := d.login.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.end(ctx) }() // it ends by itself
	for _, v := range d.vsans {
		if !v.RDMA {
			continue
		}
		k, err := c.findCluster(ctx, v.Cluster)
		if err != nil {
			return list, err
		}
		if k.on {
			k.silent = c.readHealth(ctx, k, false)
		}
		s := VSANState{Cluster: k.path, Hosts: len(k.hosts), On: k.on && k.rdma, Told: k.silent == nil, Why: k.fallen(true)}
		if !s.On {
			s.Why = "RDMA is switched off there"
		}
		s.Told = s.Told && !slices.ContainsFunc(k.hosts, func(h vsanHost) bool { return s.On && h.protocol == "" })
		list = append(list, s)
	}
	return list, nil
}
