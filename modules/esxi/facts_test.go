package esxi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/require"
	"weft/modules/host"
)

func readAll(s remote.Seen) (list []host.NICFacts, err error) {
	list = readNICs(s, &err)
	return list, err
}

func nic(name, pci, link string) string {
	return structure("AdminStatus", "Up", "DPUId", "N/A", "Description", "Mellanox ConnectX-6 Dx", "Driver", "nmlx5_core", "Duplex", "Full", "Link", link,
		"LinkStatus", link, "MACAddress", "0C:42:A1:00:00:01", "MTU", "9000", "Name", name, "PCIDevice", pci, "Speed", "100000")
}

// SYNTHETIC: documents with the fields of the tables in the ESXCLI reference.
func synthetic(t *testing.T) remote.Seen {
	return saw(t,
		uuidLook(), document("<string>5ffefdd7-0a51-3700-0b16-001E6792303A</string>"),
		versionLook(), document(structure("Build", "Releasebuild-24022510", "Patch", "0", "Product", "VMware ESXi", "Update", "3", "Version", "8.0.3")),
		platformLook(), document(structure("UUID", "0x4c 0x4c", "ProductName", "PowerEdge R770", "VendorName", "Dell Inc.", "SerialNumber", "7XYZ123")),
		nicsLook(), listOf(nic("vmnic4", "0000:41:00.0", "Up"), nic("vmnic5", "0000:41:00.1", "Down"), nic("vmnic0", "0000:01:00.0", "Up")),
		rdmaLook(), listOf(structure("Name", "vmrdma0", "Driver", "nmlx5_rdma", "State", "Active", "MTU", "4096", "Speed", "100 Gbps", "PairedUplink", "vmnic4", "Description", "x")),
		adaptersLook(), listOf(structure("Adapter", "vmhba64", "AdapterQualifiedName", "aqn:nvmerdma:0c", "TransportType", "RDMA", "Driver", "nvmerdma", "AssociatedDevices", "[]vmrdma0 vmnic4")),
		nqnLook(), document(structure("HostNQN", "nqn.2014-08.org.nvmexpress:uuid:5ffefdd7-0a51-3700-0b16-001e6792303a")),
		cpuLook(), document(structure("CPUPackages", "2", "CPUCores", "64", "CPUThreads", "128")),
		memoryLook(), document(structure("PhysicalMemory", "549755813888", "NUMANodeCount", "2")))
}

func TestWho(t *testing.T) {
	id := parseWho(synthetic(t))
	if id.MachineID != "5ffefdd70a5137000b16001e6792303a" || id.System != "VMware ESXi 8.0.3 releasebuild-24022510" || id.Serial != "7XYZ123" || len(id.Warnings) > 0 {
		t.Errorf("%+v", id)
	}
	if id = parseWho(remote.Seen{}); id.MachineID != "" || len(id.Warnings) != 1 {
		t.Errorf("of a host that says nothing: %+v", id)
	}
}

func TestFacts(t *testing.T) {
	nics := []host.NIC{{Name: "p0", PCI: "0000:41:00.0"}, {Name: "p2", PCI: "0000:99:00.0"}}
	f, err := tellFacts(synthetic(t), true, nics)
	if err != nil {
		t.Fatal(err)
	}
	if f.System != "VMware ESXi 8.0.3 releasebuild-24022510" || f.Serial != "7XYZ123" || f.CPUs != 128 || f.Nodes != 2 || f.Memory != 512<<30 ||
		f.HostNQN != "nqn.2014-08.org.nvmexpress:uuid:5ffefdd7-0a51-3700-0b16-001e6792303a" {
		t.Errorf("%+v", f)
	}
	var names []string
	for _, n := range f.NICs {
		names = append(names, n.Name+" "+n.Interface)
	}
	if want := []string{"p0 vmnic4", "p2 ", "vmnic5 vmnic5", "vmnic0 vmnic0"}; !slices.Equal(names, want) || !f.NICs[1].Absent {
		t.Errorf("NICs %q, want %q", names, want)
	}
	if r := f.NICs[0].RDMA; len(r) != 1 || r[0].Device != "vmrdma0" || r[0].State != "ACTIVE" || len(f.NICs[2].RDMA) != 0 || *f.NICs[2].Carrier {
		t.Errorf("RDMA %+v", f.NICs)
	}
	if len(f.Adapters) != 1 || f.Adapters[0].Transport != "rdma" || !slices.Equal(f.Adapters[0].Devices, []string{"vmrdma0", "vmnic4"}) {
		t.Errorf("adapters %+v", f.Adapters)
	}
	// What nothing is compared with is not asked for.
	if n := len(factsLooks(false, nics)); n != 2 {
		t.Errorf("%d looks for what NICs are compared with", n)
	}
}

// Adapters and NQNs as hosts of others have printed them, for people: the structured
// names follow from the columns.
func TestTranscriptNVMe(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{"esxi/nvme_adapter_list_tcp__github_44379928160.txt", "vmhba64 TCP nvmetcp [vmnic0]"},
		{"esxi/nvme_netapp_esxi8.txt", "vmhba64 FC lpfc []"},
	} {
		var err error
		list := readAdapters(saw(t, adaptersLook(), tableOf(t, require.Transcript(t, test.file), "Adapter  Adapter Qualified")), &err)
		if err != nil || len(list) == 0 {
			t.Errorf("%s: %+v, %v", test.file, list, err)
			continue
		}
		if a := list[0]; strings.Join([]string{a.Name, a.Transport, a.Driver, "[" + strings.Join(a.Devices, " ") + "]"}, " ") != test.want {
			t.Errorf("%s: %+v, want %s", test.file, a, test.want)
		}
	}
	var err error
	if nqn := hostNQN(saw(t, nqnLook(), document("<string>nqn.2014-08.com.vmware:nvme:host01</string>")), &err); nqn != "nqn.2014-08.com.vmware:nvme:host01" || err != nil {
		t.Errorf("%q, %v", nqn, err)
	}
	if nqn := hostNQN(saw(t, nqnLook(), document("<string>none</string>")), &err); nqn != "" || err == nil {
		t.Errorf("%q, %v", nqn, err)
	}
}

// What keeps weft from a host is told apart, as far as the host tells it.
func TestAdvice(t *testing.T) {
	unreachable := func(err error) error {
		return &remote.UnreachableError{Name: "esx1", Address: "192.0.2.1:22", Err: err}
	}
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"SSH off", loginFailed(unreachable(hint.Wrap(&errno{syscall.ECONNREFUSED}, "something answers there"))), "TSM-SSH"},
		{"wrong password or lockdown", loginFailed(unreachable(&remote.AuthError{User: "root", Said: "unable to authenticate"})), "lockdown mode"},
		{"another failure", loginFailed(unreachable(hint.Wrap(errors.New("no route"), "the usual hint"))), "the usual hint"},
		{"host key", loginFailed(hint.Wrap(&remote.HostKeyError{Name: "esx1"}, "see known_hosts")), "see known_hosts"},
		{"sudo", cannot(&remote.BecomeError{Name: "esx1", Reply: "sudo: not found"}), "there is no sudo on ESXi"},
		{"licence", explain(&remote.ExitError{Args: []string{"esxcli"}, Code: 1, Output: remote.Output{Stdout: []byte("Unable to add: RestrictedVersion\n")}}), "licence"},
		{"hostd", explain(&remote.ExitError{Args: []string{"esxcli"}, Code: 1, Output: remote.Output{Stderr: []byte("Connect to localhost failed: Connection failure\n")}}), "hostd"},
		{"hostd hangs", cannot(fmt.Errorf("read: %w", context.DeadlineExceeded)), "hostd, which may hang"},
		{"release", explain(&remote.ExitError{Args: []string{"esxcli"}, Code: 1, Output: remote.Output{Stderr: []byte("Error: Unknown command or namespace nvme info get\n")}}), "release"},
	} {
		if got := hint.Of(test.err); !strings.Contains(got, test.want) {
			t.Errorf("%s: %v, hint %q, want %q", test.name, test.err, got, test.want)
		}
	}
	// What only stands on standard output is shown.
	if err := explain(&remote.ExitError{Args: []string{"esxcli"}, Code: 1, Output: remote.Output{Stdout: []byte("Unable to add: RestrictedVersion\n")}}); !strings.Contains(err.Error(), "Unable to add") {
		t.Error(err)
	}
	// A look that fails says which one, and what came back.
	_, err := answer(remote.NewSeen(remote.Answer{Look: rdmaLook(), Sight: remote.Sight{Err: &remote.ExitError{Code: 1}, Content: []byte("Error: Unknown command or namespace rdma device list"), Code: 1}}), rdmaLook())
	if err == nil || !strings.Contains(err.Error(), "esxcli rdma device list: exit 1: Error: Unknown command") || !strings.Contains(hint.Of(err), "release") {
		t.Errorf("%v, %q", err, hint.Of(err))
	}
}

type errno struct{ error }

func (e *errno) Unwrap() error { return e.error }
