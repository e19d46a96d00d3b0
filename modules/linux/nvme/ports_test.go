package nvme

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"weft/internal/remote"
)

// A port of the kernel's target that exports something is open, unless the connection manager
// of RDMA has lost its listener; where that cannot be read, it is not known.
func TestTargetPorts(t *testing.T) {
	var tree strings.Builder
	for n, port := range []string{"rdma 10.0.0.1 4420", "rdma 10.0.1.1 4420", "tcp 10.0.0.1 4420", "rdma fd00::1 4420", "rdma 10.0.2.1 4420"} {
		w := strings.Fields(port)
		fmt.Fprintf(&tree, "ports/%d/\nports/%d/addr_trtype %s\nports/%d/addr_traddr %s\nports/%d/addr_trsvcid %s\n", n, n, w[0], n, w[1], n, w[2])
		if n < 4 {
			fmt.Fprintf(&tree, "ports/%d/subsystems/nqn.x@\n", n)
		}
	}
	const listens = `link mlx5_0/1 cm-idn 0 state LISTEN ps TCP comm [nvmet_rdma] src-addr 10.0.0.1:4420 dst-addr 0.0.0.0:0
link mlx5_0/1 cm-idn 1 state CONNECT ps TCP comm [nvmet_rdma] src-addr 10.0.1.1:4420 dst-addr 10.0.1.9:40001
link mlx5_0/1 cm-idn 2 state LISTEN ps TCP comm [nvmet_rdma] src-addr fd00::1:4420 dst-addr :::0
`
	for _, test := range []struct {
		sight remote.Sight
		want  string
	}{
		{remote.Sight{Content: []byte(listens)}, "open closed open open empty"},
		{remote.Sight{Content: []byte("")}, "closed closed open closed empty"},
		{remote.Sight{Err: errors.New("rdma: not found")}, "unknown unknown open unknown empty"},
	} {
		ports, err := parsePorts(remote.NewSeen(
			remote.Answer{Look: nvmetLook(), Sight: remote.Sight{Content: []byte(tree.String())}}, remote.Answer{Look: listenersLook(), Sight: test.sight}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range ports {
			switch {
			case len(p.NQNs) == 0:
				got = append(got, "empty")
			case p.Unknown != nil:
				got = append(got, "unknown")
			case p.Closed != "":
				got = append(got, "closed")
			default:
				got = append(got, "open")
			}
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%+v: %s, want %s", test.sight, text, test.want)
		}
	}
}
