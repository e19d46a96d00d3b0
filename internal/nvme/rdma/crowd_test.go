package rdma_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// testComeAndGo has many connections write and read what each has written, while
// others that share hubs with them come, leave commands behind that are never
// answered, and go: nobody gets or loses what is another's.
func testComeAndGo(t *testing.T, v verbs.Provider, addr string, stay, come, rounds int) {
	const blocks = 16 // of each
	tr := &rdma.Transport{Verbs: v}
	disk := &nvmetest.Disk{Data: make([]byte, (stay+1)*blocks*nvmetest.BlockSize), Async: true}
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: addr}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	dial := func() (fabric.Queue, error) {
		q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: 8, InCapsule: 4096, Timeout: patience})
		if err != nil {
			return nil, err
		}
		connect := wire.ConnectCommand{QID: 1, SQSize: 8}.Command()
		if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
			return nil, errors.Join(err, c.Status, q.Close())
		}
		return q, nil
	}
	move := func(q fabric.Queue, op uint8, at int, data []byte) error {
		cmd := wire.Command{Opcode: op}
		cmd.SetBlocks(uint64(at*blocks), blocks)
		c, err := fabric.Do(q, &cmd, data)
		if err == nil && c.Status != wire.Success {
			err = c.Status
		}
		return err
	}
	var all sync.WaitGroup
	for i := range stay {
		all.Go(func() {
			q, err := dial()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := q.Close(); err != nil {
					t.Error(err)
				}
			}()
			got := make([]byte, blocks*nvmetest.BlockSize)
			for n := range rounds {
				wrote := bytes.Repeat([]byte(fmt.Sprintf("%07d:%07d.", i, n)), len(got)/16)
				if err := errors.Join(move(q, wire.OpWrite, i, wrote), move(q, wire.OpRead, i, got)); err != nil {
					t.Errorf("%d, round %d: %v", i, n, err)
					return
				}
				if !bytes.Equal(got, wrote) {
					t.Errorf("%d, round %d: read %q, wrote %q", i, n, got[:16], wrote[:16])
					return
				}
			}
		})
	}
	for range come {
		all.Go(func() {
			q, err := dial()
			if err != nil {
				t.Error(err)
				return
			}
			for tag, op := range []uint8{nvmetest.OpNever, wire.OpRead, wire.OpWrite} {
				cmd := wire.Command{Opcode: op}
				var b fabric.Buffer
				if op != nvmetest.OpNever {
					cmd.SetBlocks(uint64(stay*blocks), blocks)
					b.Bytes = make([]byte, blocks*nvmetest.BlockSize)
				}
				if err := q.Submit(uint16(tag), &cmd, b); err != nil {
					t.Error(err)
				}
			}
			if _, err := q.Poll(nil); err != nil { // sends them
				t.Error(err)
			}
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	disk.Wait()
	if t.Failed() {
		_, ended := disk.Open()
		t.Logf("the target: %v", ended)
	}
}

func TestComeAndGo(t *testing.T) {
	for name, limit := range map[string]verbs.Limits{
		"": {}, "little room": {Device: "small", Works: 4096, Dones: 400, Reads: 4, Issues: 4},
		"iWARP": {Device: "siw", Works: 4096, Dones: 8192, Reads: 4, Issues: 4, IWARP: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := &verbstest.Fabric{Limit: limit}
			memory(t, f)
			testComeAndGo(t, f, "10.0.0.1:0", 20, 40, 50)
		})
	}
}

func TestComeAndGoHardware(t *testing.T) {
	v, ip := hardware(t)
	testComeAndGo(t, v, net.JoinHostPort(ip.String(), "0"), 6, 12, 10)
}
