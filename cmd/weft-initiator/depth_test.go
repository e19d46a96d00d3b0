package main

import (
	"errors"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// shallow is a target's queue whose controller says that queues have 128 entries.
type shallow struct{ fabric.Handler }

func (s shallow) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpFabrics && x.Command.FabricsType() == wire.FabricsPropertyGet && x.Command.Property().Offset == wire.PropCAP {
		x.Complete(wire.CAP{MQES: 127, CQR: true, TO: 30, CSS: 1}.Value(), wire.Success)
		return
	}
	s.Handler.Execute(x)
}

// TestDepth: more than a queue takes is cut to what it takes, and that is said.
func TestDepth(t *testing.T) {
	const nqn, host = "nqn.2026-11.net.example:pilot:st1", "nqn.2026-11.net.example:pilot:h1"
	m, err := backend.NewMemory(4<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	served, err := target.New(target.Config{Subsystems: []target.Subsystem{
		{NQN: nqn, Serial: "WEFT01", AllowHosts: []string{host}, Namespaces: []target.Namespace{{ID: 1, UUID: [16]byte{1}, Backend: m}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := new(tcp.Transport).Listen(t.Context(), fabric.ListenParams{
		Addr: "127.0.0.1:0", MaxDepth: target.MaxDepth, InCapsule: target.InCapsule, MaxTransfer: target.MaxTransfer,
	}, func(c fabric.Conn) fabric.Handler { return shallow{served.Accept(c)} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(served.Drain(t.Context()), l.Close(), served.Close()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	var out, errs strings.Builder
	status := run([]string{
		"run", "--json", "--traddr", l.Addr(), "--hostnqn", host, "--nqn", nqn, "--iodepth", "128", "--number-ios", "500", "--ramp-time", "0s",
	}, &out, &errs)
	if status != 0 || !strings.Contains(out.String(), `"iodepth": "127"`) || !strings.Contains(out.String(), `"total_ios": 500`) ||
		!strings.Contains(errs.String(), "--iodepth 128: a queue of "+nqn+"/1 takes 127 commands at once, so it is 127") {
		t.Errorf("status %d\n%s\n%s", status, &out, &errs)
	}

	// A load that cannot begin is an error with a message, and no result.
	out.Reset()
	errs.Reset()
	status = run([]string{
		"verify", "--json", "--traddr", l.Addr(), "--hostnqn", host, "--nqn", nqn, "--iodepth", "100", "--size", "100k", "--bs", "4k", "--i-will-overwrite", nqn + "/1",
	}, &out, &errs)
	if status != agent.ExitError || out.Len() != 0 || !strings.Contains(errs.String(), "error: 102400 bytes have room for 25 commands") {
		t.Errorf("status %d\n%s\n%s", status, &out, &errs)
	}
}
