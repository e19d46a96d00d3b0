package simvcenter

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// A VSAN is what the health service of vSAN tells of a host.
type VSAN struct {
	NIC    string // PCI address of the one in use
	Subnet string
	Device int64  // of its model; 0: 4119
	Mode   string // of DCB; "": IEEE
	PFC    string // its configuration; "": 3, "-": it is off
	TCP    bool   // it stays with TCP
}

const vsanPath = "/vsanHealth"

// A vsan is the service of a vCenter for the vSAN of its only cluster. vcsim has one that
// knows nothing of RDMA.
type vsan struct {
	model   *simulator.Model
	cluster types.ManagedObjectReference
	spec    Spec
	refs    map[string]string // of hosts, by name

	mu   sync.Mutex
	rdma bool
}

func newVSAN(m *simulator.Model, cluster types.ManagedObjectReference, spec Spec) *vsan {
	v := &vsan{model: m, cluster: cluster, spec: spec, refs: map[string]string{}}
	for _, o := range m.Map().All("HostSystem") {
		v.refs[o.(*simulator.HostSystem).Name] = o.Reference().Value
	}
	return v
}

// A question is what is asked: one of the fields is there.
type question struct {
	Config    *aboutCluster `xml:"Body>VsanClusterGetConfig"`
	Witnesses *aboutCluster `xml:"Body>VSANVcGetWitnessHosts"`
	Health    *struct {
		aboutCluster
		Fields []string `xml:"fields"`
	} `xml:"Body>VsanQueryVcClusterHealthSummary"`
	Change *struct {
		aboutCluster
		Modify bool `xml:"vsanReconfigSpec>modify"`
		RDMA   *struct {
			Enabled bool `xml:"rdmaEnabled"`
		} `xml:"vsanReconfigSpec>rdmaConfig"`
	} `xml:"Body>VsanClusterReconfig"`
}

type aboutCluster struct {
	This    string `xml:"_this"`
	Cluster string `xml:"cluster"`
}

// ServeHTTP answers what the service is asked, and refuses what it does not know.
func (v *vsan) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q question
	if c, err := r.Cookie(soap.SessionCookieName); err != nil || c.Value == "" {
		refuse(w, "NotAuthenticated")
		return
	}
	if err := xml.NewDecoder(r.Body).Decode(&q); err != nil {
		refuse(w, err.Error())
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	about := func(a *aboutCluster, system string) bool {
		return a != nil && a.This == system && a.Cluster == v.cluster.Value
	}
	switch {
	case about(q.Config, "vsan-cluster-config-system"):
		answer(w, "VsanClusterGetConfig", fmt.Sprintf("<returnval><enabled>true</enabled><rdmaConfig><rdmaEnabled>%t</rdmaEnabled></rdmaConfig></returnval>", v.rdma))
	case about(q.Witnesses, "vsan-stretched-cluster-system"):
		text := ""
		for i := range v.spec.Witnesses {
			text += fmt.Sprintf("<returnval><nodeUuid>%d</nodeUuid></returnval>", i)
		}
		answer(w, "VSANVcGetWitnessHosts", text)
	case q.Health != nil && about(&q.Health.aboutCluster, "vsan-cluster-health-system") && !v.spec.Mute && slices.Equal(q.Health.Fields, []string{"networkHealth", "hclInfo"}):
		answer(w, "VsanQueryVcClusterHealthSummary", v.health())
	case q.Change != nil && about(&q.Change.aboutCluster, "vsan-cluster-config-system") && q.Change.Modify && q.Change.RDMA != nil:
		v.rdma = q.Change.RDMA.Enabled
		task := simulator.CreateTask(v.cluster, "vsanClusterReconfig", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) { return nil, nil })
		ref := task.Run(v.model.Service.Context)
		answer(w, "VsanClusterReconfig", fmt.Sprintf(`<returnval type="Task">%s</returnval>`, ref.Value))
	default:
		refuse(w, "the SIMULATED vSAN does not know this")
	}
}

// health is what is found of hosts: all speak TCP where one of them does.
func (v *vsan) health() string {
	var network, hardware string
	protocol := "TCP"
	if v.rdma && !slices.ContainsFunc(v.spec.Hosts, func(h Host) bool { return h.VSAN != nil && h.VSAN.TCP }) {
		protocol = "RoCEv2"
	}
	for _, h := range v.spec.Hosts {
		if h.VSAN == nil {
			continue
		}
		network += fmt.Sprintf(`<hostResults><host type="HostSystem">%s</host><hostname>%s</hostname><ipSubnets>%s</ipSubnets><rdmaEnabled>%t</rdmaEnabled><rdtConnProtocol>%s</rdtConnProtocol></hostResults>`,
			v.refs[h.Name], h.Name, h.VSAN.Subnet, v.rdma, protocol)
		capable := slices.Contains(h.RDMA, h.VSAN.NIC)
		pfc := cmp.Or(h.VSAN.PFC, "3")
		hardware += fmt.Sprintf(`<hostResults><hostname>%s</hostname><hclChecked>true</hclChecked><pnics><deviceName>%s</deviceName><vendorId>5555</vendorId><deviceId>%d</deviceId><useByVsan>true</useByVsan>`+
			`<rdmaConfig><rdmaCapable>%t</rdmaCapable><rdmaProtocolCapable>%s</rdmaProtocolCapable><dcbEnabled>true</dcbEnabled><dcbMode>%s</dcbMode><pfcEnabled>%t</pfcEnabled><pfcConfig>%s</pfcConfig></rdmaConfig></pnics></hostResults>`,
			h.Name, h.vmnic(h.VSAN.NIC), cmp.Or(h.VSAN.Device, 4119), capable, map[bool]string{true: "RoCEv2"}[capable], cmp.Or(h.VSAN.Mode, "IEEE"), pfc != "-", pfc)
	}
	return "<returnval><networkHealth>" + network + "</networkHealth><hclInfo>" + hardware + "</hclInfo><overallHealth>green</overallHealth></returnval>"
}

func answer(w http.ResponseWriter, method, text string) {
	envelope(w, fmt.Sprintf(`<%[1]sResponse xmlns="urn:vsan">%[2]s</%[1]sResponse>`, method, text))
}

func refuse(w http.ResponseWriter, why string) {
	w.Header().Set("Content-Type", `text/xml; charset="utf-8"`)
	w.WriteHeader(http.StatusInternalServerError)
	envelope(w, "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>"+why+"</faultstring></soapenv:Fault>")
}

func envelope(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", `text/xml; charset="utf-8"`)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>%s</soapenv:Body></soapenv:Envelope>`, body) // who asked has gone otherwise
}
