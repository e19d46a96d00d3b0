package linux

import (
	"fmt"
	"testing"
)

func TestParseAddresses(t *testing.T) {
	have, err := parseAddresses([]byte(`[{"ifname":"lo","addr_info":[{"local":"127.0.0.1","prefixlen":8}]},
		{"ifname":"ens1","addr_info":[{"local":"10.0.0.1","prefixlen":24},{"local":"fe80::1","prefixlen":64},{"local":"fd00::1","prefixlen":64},{}]},{"addr_info":[{"local":"10.0.0.2","prefixlen":99}]}]`))
	if err != nil || fmt.Sprint(have) != "map[ens1:[10.0.0.1/24 fd00::1/64] lo:[127.0.0.1/8]]" {
		t.Errorf("%v %v", have, err)
	}
	if _, err := parseAddresses([]byte("Object")); err == nil {
		t.Error("what is no JSON is an error")
	}
}

func TestParseNVMe(t *testing.T) {
	f := parseNVMe([]byte(`/sys/class/nvme/nvme0/subsysnqn:nqn.2014-08.org.nvmexpress:uuid:x
/sys/class/nvme/nvme0/transport:rdma
/sys/class/nvme/nvme0/address:traddr=10.0.0.1,trsvcid=4420,host_traddr=10.0.0.2
/sys/class/nvme/nvme1/subsysnqn:nqn.local
/sys/class/nvme/nvme1/transport:pcie
/sys/kernel/config/nvmet/ports/1/addr_trtype:tcp
/sys/kernel/config/nvmet/ports/1/addr_traddr:fd00::1
/sys/kernel/config/nvmet/ports/1/addr_trsvcid:4420
/sys/kernel/config/nvmet/subsystems/nqn.a:b
/sys/kernel/config/nvmet/subsystems/nqn.c
/sys/kernel/config/nvmet/ports/1/subsystems/nqn.a:b
no such line
`))
	want := "{[{nqn.a:b [{tcp [fd00::1]:4420}]} {nqn.c []}] [{nqn.2014-08.org.nvmexpress:uuid:x {rdma 10.0.0.1:4420}}]}"
	if got := fmt.Sprint(*f); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
