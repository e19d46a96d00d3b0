package nvme

import (
	"strings"
	"testing"

	"weft/internal/remote"
)

// Discovery services are no storage: by the well-known name, the controller's type, or the
// subsystem's. FC and loop are, and print as they are.
func TestDiscoveryControllers(t *testing.T) {
	const text = `nvme nvme0
transport tcp
address traddr=10.0.0.1,trsvcid=8009
subsysnqn nqn.2014-08.org.nvmexpress.discovery
state live
nvme nvme1
transport tcp
address traddr=10.0.0.1,trsvcid=8009
subsysnqn nqn.1992-08.com.example:sn.aa:discovery
state live
cntrltype discovery
nvme nvme2
transport rdma
address traddr=10.0.0.1,trsvcid=4420
subsysnqn nqn.1992-08.com.example:sn.bb:discovery
state live
subsystype discovery
nvme nvme3
transport fc
address traddr=nn-0x202400a098000001:pn-0x202500a098000001,host_traddr=nn-0x200000109b000001:pn-0x100000109b000001
subsysnqn nqn.1992-08.com.example:sn.aa:subsystem.s1
state live
cntrltype io
disk nvme3n1
nvme nvme4
transport loop
address
subsysnqn nqn.2026-11.net.example:loop
state live
disk nvme4n1
`
	n := &NVMeConnection{NQN: "nqn.x"}
	var names []string
	for _, o := range n.All(remote.NewSeen(remote.Answer{Look: nvmeLook(), Sight: remote.Sight{Content: []byte(text)}})) {
		names = append(names, o.Name)
	}
	want := "nvme3: nqn.1992-08.com.example:sn.aa:subsystem.s1 at traddr=nn-0x202400a098000001:pn-0x202500a098000001,host_traddr=nn-0x200000109b000001:pn-0x100000109b000001; nvme4: nqn.2026-11.net.example:loop at "
	if got := strings.Join(names, "; "); got != want {
		t.Errorf("%q", got)
	}
}
