//go:build unix

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"weft/internal/lab/simesxi"
	"weft/internal/lab/simserver"
	"weft/internal/labctl"
	"weft/inventory"
)

// A vcenterSpec is what a vCenter of the twin is made of, as its program reads it.
type vcenterSpec struct {
	host, addr string

	User       string
	Also       string // labctl.VCenterPassword
	Datacenter string
	Cluster    string `json:",omitempty"`
	Hosts      []vcenterHost
	VMs        []vcenterVM
}

type vcenterHost struct {
	Name       string
	NICs, RDMA []string     // PCI addresses
	VSAN       *vcenterVSAN `json:",omitempty"`
	Ports      []string     `json:",omitempty"` // of the VMkernel that others have made
}

type vcenterVSAN struct {
	NIC, Subnet string // PCI address of the one that vSAN uses
}

type vcenterVM struct {
	Path, Host string
	Hardware   int // version
}

// A vcenter is one that runs.
type vcenter struct {
	device labctl.Device
	life   io.Closer     // its standard input: it ends with it
	in     io.Writer     // the same
	heard  chan struct{} // closed when it says nothing any more
	cmd    *exec.Cmd

	faults   sync.Mutex  // held by whoever asks for one
	answered chan string // what became of it
}

// newVCenter derives a vCenter: the datacenter of its distributed switches and clusters, and
// the hosts that are their members.
func newVCenter(m *inventory.Model, v *inventory.VCenter, cards map[*inventory.RNIC]simserver.Interface) (*vcenterSpec, error) {
	spec := &vcenterSpec{host: v.Host, addr: v.Addr, Also: labctl.VCenterPassword}
	if v.Credential != nil {
		spec.User = v.Credential.User
	}
	within := func(path string) error {
		datacenter, _, _ := strings.Cut(path, "/")
		if spec.Datacenter != "" && spec.Datacenter != datacenter {
			return fmt.Errorf("%s: a vCenter of the lab has one datacenter, and %s is in another one than %s", v.Addr, path, spec.Datacenter)
		}
		spec.Datacenter = datacenter
		return nil
	}
	for _, c := range v.Clusters {
		if spec.Cluster != "" {
			return nil, fmt.Errorf("%s: a vCenter of the lab has one cluster, and %s is not %s", v.Addr, c.Path, spec.Cluster)
		}
		if err := within(c.Path); err != nil {
			return nil, err
		}
		spec.Cluster = c.Path
	}
	members := map[*inventory.Server]bool{}
	for _, d := range m.DVSwitches {
		if d.VCenter != v {
			continue
		}
		if err := within(d.Path); err != nil {
			return nil, err
		}
		for _, r := range d.Uplinks {
			members[r.Server] = true
		}
	}
	for _, s := range m.Servers {
		if s.OS != simesxi.System || !members[s] && len(m.VCenters) > 1 {
			continue
		}
		h := vcenterHost{Name: s.Host, Ports: lowerPorts(s)}
		for _, r := range s.RNICs {
			h.NICs = append(h.NICs, cards[r].PCI)
			if r.Fabric == nil || r.Fabric.Transport != "tcp" {
				h.RDMA = append(h.RDMA, cards[r].PCI)
			}
			if r.VMK != nil && slices.Contains(r.VMK.Services, "vsan") {
				h.VSAN = &vcenterVSAN{NIC: cards[r].PCI, Subnet: r.Address.Masked().String()}
			}
		}
		spec.Hosts = append(spec.Hosts, h)
	}
	spec.VMs = newVMs(m, v)
	return spec, nil
}

// lowerPorts are the names that a host has given out already, so that its vCenter gives the
// files theirs: the first that are free.
func lowerPorts(s *inventory.Server) (names []string) {
	ours, most := map[int]bool{}, 0
	for _, r := range s.RNICs {
		if r.VMK != nil && r.VMK.PortGroup != nil {
			ours[r.VMK.Number()], most = true, max(most, r.VMK.Number())
		}
	}
	for n := 1; n < most; n++ {
		if !ours[n] {
			names = append(names, fmt.Sprintf("vmk%d", n))
		}
	}
	return names
}

// newVMs derives the virtual machines of a vCenter, off, each on the next of the hosts that
// are members of its switch.
func newVMs(m *inventory.Model, v *inventory.VCenter) (list []vcenterVM) {
	for i, machine := range m.VMs {
		g := machine.Adapters[0].PortGroup
		if g == nil || g.Switch.VCenter != v || len(g.Switch.Uplinks) == 0 {
			continue
		}
		list = append(list, vcenterVM{machine.Path, g.Switch.Uplinks[i%len(g.Switch.Uplinks)].Server.Host, machine.HardwareVersion})
	}
	return list
}

// buildVCenters starts the vCenters of the twin, each a process of command.
func (l *Lab) buildVCenters(ctx context.Context, command []string, specs []*vcenterSpec) error {
	for _, s := range specs {
		if len(command) == 0 {
			return fmt.Errorf("%s: this program simulates no vCenter", s.addr)
		}
		v, err := startVCenter(ctx, command, s, l.attach)
		if err != nil {
			return fmt.Errorf("%s: %w", s.addr, err)
		}
		l.vcenters = append(l.vcenters, v)
	}
	return nil
}

func startVCenter(ctx context.Context, command []string, s *vcenterSpec, attach func(vcenterEvent)) (*vcenter, error) {
	cmd := exec.Command(command[0], command[1:]...)
	var said strings.Builder
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	v := &vcenter{life: in, in: in, cmd: cmd, answered: make(chan string, 1)}
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })() // it ends what is read below
	var answer struct {
		Host   string `json:"host"`
		Port   int    `json:"port"`
		SHA256 string `json:"sha256"`
	}
	told := json.NewDecoder(out)
	if err = json.NewEncoder(in).Encode(s); err == nil {
		err = told.Decode(&answer)
	}
	if err != nil {
		v.close()
		return nil, errors.Join(ctx.Err(), fmt.Errorf("the simulator did not start: %w: %s", err, strings.TrimSpace(said.String())))
	}
	v.device = labctl.Device{Name: s.host, Kind: "vcenter", Block: s.addr, Address: fmt.Sprintf("%s:%d", answer.Host, answer.Port), User: s.User, SHA256: answer.SHA256}
	v.heard = make(chan struct{})
	go v.hear(told, in, attach)
	return v, nil
}

// A vcenterEvent is what a vCenter has done to a host: maintenance mode, on or off, or a port
// of the VMkernel that it has made, changed or removed; or what it says to a fault.
type vcenterEvent struct {
	Host, ID    string
	Fault       string
	Maintenance string
	simesxi.DVPort
}

// hear has hosts follow what their vCenter does to them, until that ends.
func (v *vcenter) hear(told *json.Decoder, in io.Writer, attach func(vcenterEvent)) {
	defer close(v.heard)
	for {
		var p vcenterEvent
		if told.Decode(&p) != nil {
			return
		}
		if p.Fault != "" {
			v.answered <- p.Fault
			continue
		}
		attach(p)
		if _, err := io.WriteString(in, "done\n"); err != nil {
			return
		}
	}
}

// fault makes something break, or mends it.
func (v *vcenter) fault(name string) error {
	v.faults.Lock()
	defer v.faults.Unlock()
	if strings.ContainsAny(name, "\r\n") {
		return errors.New("a fault is one line")
	}
	if _, err := io.WriteString(v.in, "fault "+name+"\n"); err != nil {
		return err
	}
	select {
	case said := <-v.answered:
		if said != "done" {
			return errors.New(said)
		}
		return nil
	case <-v.heard:
		return errors.New("its program has ended")
	}
}

// attach has a simulated host follow.
func (l *Lab) attach(p vcenterEvent) {
	for _, d := range l.devices {
		if d.esxi == nil || d.name != p.Host {
			continue
		}
		switch {
		case p.Maintenance != "":
			d.esxi.Maintain(p.Maintenance == "on")
			continue
		case p.Switch == "":
			d.esxi.Detach(p.ID)
			continue
		}
		if err := d.esxi.Attach(p.ID, p.DVPort); err != nil {
			l.log.say("%v", err)
		}
	}
}

// close ends it, and waits.
func (v *vcenter) close() {
	_ = v.life.Close() // it ends by itself then
	if v.heard != nil {
		<-v.heard
	}
	_ = v.cmd.Wait() // how does not matter any more
}
