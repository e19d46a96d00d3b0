package vcenter

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/lab/simvcenter"
	"weft/plan"
)

const vsanCluster = simvcenter.Datacenter + "/host/c1"

// ready are the hosts of a SIMULATED cluster that can use RDMA for vSAN.
func ready() simvcenter.Spec {
	spec := simvcenter.Spec{User: "weft@vsphere.local", Password: "p", Cluster: vsanCluster}
	for i := range 3 {
		nics := []string{"0000:41:00.0"}
		spec.Hosts = append(spec.Hosts, simvcenter.Host{Name: fmt.Sprintf("esx%d.example.net", i+1), NICs: nics, RDMA: nics, VSAN: &simvcenter.VSAN{NIC: nics[0], Subnet: "10.50.1.0/24"}})
	}
	return spec
}

func startVSAN(t *testing.T, spec simvcenter.Spec) Login {
	t.Helper()
	s, err := simvcenter.Start(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return Login{Host: s.Host, Port: s.Port, SHA256: s.SHA256, User: spec.User, Password: func() (string, error) { return spec.Password, nil }, Settle: time.Millisecond}
}

func declareVSAN(t *testing.T, login Login, owner string, things ...*VSAN) *fleet {
	f := declare(t, login, owner)
	for _, x := range things {
		id, r := f.Resource(x)
		f.items = append(f.items, plan.Item{ID: id, Resource: r})
	}
	return f
}

// RDMA is switched on, is whose it is, and goes with what declared it.
func TestVSAN(t *testing.T) {
	login := startVSAN(t, ready())
	want := &VSAN{Cluster: vsanCluster, RDMA: true}
	f := declareVSAN(t, login, "o", want)
	p, _ := f.make(t)
	if len(p.Steps) != 1 || p.Steps[0].Changes[0].Impact != plan.ImpactTraffic || strings.Join(p.Steps[0].Undo, "") != "VsanClusterReconfig of DC0/host/c1: rdmaConfig.rdmaEnabled=false" {
		t.Fatalf("planned: %+v", p.Steps)
	}
	f.apply(t)
	if p, _ := f.make(t); len(p.Steps) > 0 || len(p.Left) > 0 {
		t.Fatalf("applied, and still: %+v %+v", p.Steps, p.Left)
	}
	if told, err := f.VSAN(context.Background()); err != nil || len(told) != 1 || told[0] != (VSANState{Cluster: vsanCluster, Hosts: 3, On: true, Told: true}) {
		t.Errorf("verify: %+v, %v", told, err)
	}
	if p, _ := declareVSAN(t, login, "p", want).make(t); len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, "belongs to the owner o") {
		t.Errorf("another owner: %+v", p.Refusals)
	}
	gone := declareVSAN(t, login, "o")
	if lines := gone.apply(t); len(lines) != 1 || !strings.HasSuffix(lines[0], "rdmaEnabled=false") {
		t.Errorf("taken away by %q", lines)
	}
	c := open(t, login)
	if k := cluster1(t, c); k.rdma || k.note.String() != "" {
		t.Errorf("afterwards RDMA is %t, and the mark %q", k.rdma, k.note)
	}
}

func open(t *testing.T, login Login) *client {
	t.Helper()
	c, err := login.connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.end(context.Background()) })
	return c
}

func cluster1(t *testing.T, c *client) *cluster {
	t.Helper()
	k, err := c.findCluster(context.Background(), vsanCluster)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What was on before weft came is on again when weft's block has gone.
func TestVSANBefore(t *testing.T) {
	login := startVSAN(t, ready())
	c := open(t, login)
	if err := c.tellVSAN(context.Background(), cluster1(t, c), true); err != nil {
		t.Fatal(err)
	}
	declareVSAN(t, login, "o", &VSAN{Cluster: vsanCluster}).apply(t)
	if cluster1(t, c).rdma {
		t.Fatal("it was not switched off")
	}
	if lines := declareVSAN(t, login, "o").apply(t); len(lines) != 1 || !strings.HasSuffix(lines[0], "rdmaEnabled=true") || !cluster1(t, c).rdma {
		t.Errorf("it was on before, and is brought back by %q", lines)
	}
}

// A change by somebody else is drift, and is put right.
func TestVSANDrift(t *testing.T) {
	login := startVSAN(t, ready())
	f := declareVSAN(t, login, "o", &VSAN{Cluster: vsanCluster, RDMA: true})
	f.apply(t)
	c := open(t, login)
	if err := c.tellVSAN(context.Background(), cluster1(t, c), false); err != nil {
		t.Fatal(err)
	}
	f.make(t)
	if kept := f.Kept(); len(kept.Entries) != 1 || !f.Drifted(kept.Entries[0], nil) {
		t.Errorf("kept %+v, and no drift", kept.Entries)
	}
	f.apply(t)
	if !cluster1(t, c).rdma {
		t.Error("it is still off")
	}
}

// One host that stays with TCP takes the cluster with it: what was done is undone, and where
// it was on it is said.
func TestVSANFalls(t *testing.T) {
	spec := ready()
	spec.Hosts[1].VSAN.TCP = true
	login := startVSAN(t, spec)
	f := declareVSAN(t, login, "o", &VSAN{Cluster: vsanCluster, RDMA: true})
	p, in := f.make(t)
	if _, err := plan.Apply(context.Background(), p, in); err == nil || !strings.Contains(err.Error(), "esx2.example.net speaks TCP") || !strings.Contains(err.Error(), "takes the whole cluster to TCP") {
		t.Errorf("got %v", err)
	}
	c := open(t, login)
	if k := cluster1(t, c); k.rdma || k.note.String() != "" {
		t.Errorf("afterwards RDMA is %t, and the mark %q", k.rdma, k.note)
	}
	if err := c.tellVSAN(context.Background(), cluster1(t, c), true); err != nil {
		t.Fatal(err)
	}
	if p, _ := f.make(t); len(p.Left) != 1 || !strings.Contains(p.Left[0].Text, "esx2.example.net speaks TCP") {
		t.Errorf("it is on and speaks TCP: %+v", p.Left)
	}
	told, err := f.VSAN(context.Background())
	if err != nil || len(told) != 1 || !told[0].On || !told[0].Told || !strings.Contains(told[0].Why, "esx2.example.net speaks TCP") {
		t.Errorf("verify: %+v, %v", told, err)
	}
}

// Each thing that vSAN over RDMA wants and that is not there refuses the plan by its name.
func TestVSANRefused(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*simvcenter.Spec)
		want  string
	}{
		"two nodes":   {func(s *simvcenter.Spec) { s.Hosts = s.Hosts[:2] }, "it is stretched, or of two nodes"},
		"stretched":   {func(s *simvcenter.Spec) { s.Witnesses = 1 }, "it is stretched, or of two nodes"},
		"no health":   {func(s *simvcenter.Spec) { s.Mute = true }, "the health service of vSAN does not tell of its hosts: the SIMULATED vSAN does not know this"},
		"old release": {func(s *simvcenter.Spec) { s.Hosts[2].Release = "7.0.1" }, "esx3.example.net has ESXi 7.0.1, and vSAN over RDMA came with 7.0 Update 2"},
		"no RDMA":     {func(s *simvcenter.Spec) { s.Hosts[0].RDMA = nil }, "vmnic1 of esx1.example.net has no RoCE v2"},
		"two models":  {func(s *simvcenter.Spec) { s.Hosts[0].VSAN.Device = 4125 }, "its NICs are of several models: 15b3:1017 in esx3.example.net, 15b3:101d in esx1.example.net"},
		"two subnets": {func(s *simvcenter.Spec) { s.Hosts[0].VSAN.Subnet = "10.50.2.0/24" }, "its hosts are in several subnets: 10.50.1.0/24, 10.50.2.0/24"},
		"no cluster":  {func(s *simvcenter.Spec) { s.Cluster = simvcenter.Datacenter + "/host/c2" }, "vCenter has no cluster DC0/host/c1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := ready()
			test.spoil(&spec)
			p, _ := declareVSAN(t, startVSAN(t, spec), "o", &VSAN{Cluster: vsanCluster, RDMA: true}).make(t)
			if len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, test.want) {
				t.Errorf("got %+v, want %s", p.Refusals, test.want)
			}
		})
	}
}

// What a leaf is to give by DCBX is waited for, and where it does not come nothing is done.
func TestVSANWaits(t *testing.T) {
	for name, test := range map[string]struct {
		is   simvcenter.VSAN
		want string
	}{
		"CEE":            {simvcenter.VSAN{Mode: "CEE"}, `vmnic1 of esx1.example.net: DCB is in mode "CEE", and must be IEEE`},
		"no PFC":         {simvcenter.VSAN{PFC: "-"}, "vmnic1 of esx1.example.net: PFC is off"},
		"other priority": {simvcenter.VSAN{PFC: "0 0 0 0 1 0 0 0"}, "vmnic1 of esx1.example.net: PFC is not on for priority 3: 0 0 0 0 1 0 0 0"},
		"unknown words":  {simvcenter.VSAN{PFC: "some"}, `vCenter says of its PFC "some", which weft does not understand`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := ready()
			test.is.NIC, test.is.Subnet = spec.Hosts[0].VSAN.NIC, spec.Hosts[0].VSAN.Subnet
			spec.Hosts[0].VSAN = &test.is
			login := startVSAN(t, spec)
			f := declareVSAN(t, login, "o", &VSAN{Cluster: vsanCluster, RDMA: true})
			p, in := f.make(t)
			if len(p.Steps) != 1 || len(p.Steps[0].Changes) != 2 || p.Steps[0].Changes[1].Path != "waits for" || !strings.Contains(p.Steps[0].Changes[1].After, test.want) {
				t.Fatalf("planned: %+v", p.Steps)
			}
			if _, err := plan.Apply(context.Background(), p, in); err == nil || !strings.Contains(err.Error(), test.want) || cluster1(t, open(t, login)).rdma {
				t.Errorf("got %v", err)
			}
		})
	}
}
