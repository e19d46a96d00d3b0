//go:build linux

package tcp_test

import (
	"runtime"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// TestPollOnOneProcessor: a host that polls lets the target run that it waits
// for, even where both have only one processor between them.
func TestPollOnOneProcessor(t *testing.T) {
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20), Async: true}
	defer disk.Wait()
	tr := &tcp.Transport{Poll: true}
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "127.0.0.1:0"}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: 8, InCapsule: fabric.DefaultInCapsule, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	errs := make(chan error)
	go func() {
		err := rawsock.Own(-1)
		connect := wire.ConnectCommand{QID: 1, SQSize: 8, Attributes: wire.ConnectNoFlow}.Command()
		data := make([]byte, 8192)
		for i := 0; i < 100 && err == nil; i++ {
			cmd := connect
			if i > 0 {
				cmd = wire.Command{Opcode: []uint8{wire.OpRead, wire.OpWrite}[i%2]}
				cmd.SetBlocks(0, len(data)/nvmetest.BlockSize)
			}
			var c wire.Completion
			if c, err = fabric.Do(q, &cmd, data[:max(len(data)*min(i, 1), wire.ConnectDataSize)]); err == nil {
				err = c.Status.Err()
			}
		}
		errs <- err
	}()
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
}
