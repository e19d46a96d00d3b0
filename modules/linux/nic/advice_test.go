package nic

import (
	"strings"
	"testing"
)

// What tools answer, and a word of what people are told to do about it.
func TestAdviceOnNICs(t *testing.T) {
	for _, c := range []struct {
		kind        interface{ Advice(reply string) string }
		reply, hint string
	}{
		{&RDMALink{}, "exit 1: rxe_p0 is not deleted: [nvme_rdma] of the kernel uses it; weft-target (process 812) has it open", "stop the processes"},
		{&RDMALink{}, `exit 1: rxe_p0 is not deleted: rdma does not tell who uses it: Object "resource" is unknown`, "iproute2 from 5.1"},
		{&MTU{IPoIB: true}, "", "mtu=5"},
		{&MTU{IPoIB: true}, "RTNETLINK answers: Invalid argument", "at most 4092 in datagram mode"},
		{&MTU{IPoIB: true}, "RTNETLINK answers: Operation not permitted", ""},
		{&MTU{}, "Error: mtu greater than device maximum.", "maxmtu"},
		{&MTU{}, "", ""},
	} {
		if got := c.kind.Advice(c.reply); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
			t.Errorf("%q: %q, want %q", c.reply, got, c.hint)
		}
	}
}
