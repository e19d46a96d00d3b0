package see

import (
	"net"
	"slices"
	"strings"
)

// CMListeners reads the addresses that `rdma resource show cm_id` lists as listening, as
// HOST:PORT. An IPv6 address has no brackets there.
//
//	link rxe0/- cm-idn 0 state LISTEN ps TCP comm [nvmet_rdma] src-addr 10.40.1.11:4420
func CMListeners(text string) []string {
	list := []string{}
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		i := slices.Index(w, "src-addr")
		if j := slices.Index(w, "state"); j < 0 || j+1 >= len(w) || w[j+1] != "LISTEN" || i < 0 || i+1 >= len(w) {
			continue
		}
		if c := strings.LastIndexByte(w[i+1], ':'); c > 0 {
			list = append(list, net.JoinHostPort(w[i+1][:c], w[i+1][c+1:]))
		}
	}
	return list
}
