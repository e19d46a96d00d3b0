//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/wire"
	"weft/internal/require"
)

const (
	strangersMost = 200       // of them
	residentMost  = 256 << 20 // bytes that the target may have in memory beside them
	strangerTime  = time.Minute
)

// A stranger asks a target for all that it can, and reads none of it.
type stranger struct {
	net.Conn
	cid    uint16
	status wire.Status // of the last answer
}

// TestStrangersWhoDoNotRead is the proof that nobody can fill a target's memory:
// strangers and a host that is allowed ask for far more than there is, and read
// nothing; another host notices nothing.
func TestStrangersWhoDoNotRead(t *testing.T) {
	require.Long(t, "7 s")
	bin := buildAgent(t, "weft-target")
	for name, mode := range map[string][]string{"event": nil, "poll": {"--poll", "1"}} {
		t.Run(name, func(t *testing.T) {
			if name == "poll" && !canPoll() {
				t.Skip("polling needs Linux and two processors")
			}
			p := newTargetProcess(t, bin, benchConfig, mode...)
			if err := p.start(); err != nil {
				t.Fatal(err)
			}
			defer p.kill()
			asked := comeAll(t, p.port, strangersMost/2)
			var out, errs bytes.Buffer
			status := make(chan int, 1)
			go func() {
				status <- run([]string{
					"--map", "10.40.1.11:4420=" + p.port, "verify", "--json", "--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:bench:h1",
					"--nqn", "nqn.2026-11.net.example:bench:st1", "--bs", "8k", "--iodepth", "32", "--runtime", "4s",
					"--i-will-overwrite", "nqn.2026-11.net.example:bench:st1/1",
				}, &out, &errs)
			}()
			asked += comeAll(t, p.port, strangersMost/2)
			if s := <-status; s != 0 {
				t.Fatalf("exit status %d\n%s\n%s\n%s", s, errs.String(), out.String(), p.said.String())
			}
			var r report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatal(err)
			}
			v := r.Weft.Verified
			if v == nil || v.Bad != 0 || v.Blocks < 4096 || r.Jobs[0].Error != 0 || r.Weft.Lost != 0 || r.Weft.Retried != 0 {
				t.Errorf("%+v %+v", v, r.Weft)
			}
			if most := peakMemory(t, p.cmd.Process.Pid); most > residentMost {
				t.Errorf("the target had up to %d MiB in memory, want at most %d", most>>20, residentMost>>20)
			} else {
				t.Logf("%d MiB asked for, %d MiB in memory; %d commands of the host", asked>>20, most>>20, r.Jobs[0].Read.Total+r.Jobs[0].Write.Total)
			}
		})
	}
}

// TestGreedyHost is the proof that one host cannot take all that the process may
// open: it is told so, and another host, who asks for the status and whoever
// connects for the first time find what they need.
func TestGreedyHost(t *testing.T) {
	const limit, greed = 256, 400
	p := newTargetProcess(t, limited(t, buildAgent(t, "weft-target"), limit), strings.Replace(benchConfig, "bench:h1']", "bench:h1', 'nqn.2026-11.net.example:bench:h2']", 1))
	if err := p.start(); err != nil {
		t.Fatal(err)
	}
	defer p.kill()
	const sub, greedy = "nqn.2026-11.net.example:bench:st1", "nqn.2026-11.net.example:bench:h1"
	taken := 0
	for taken < greed {
		admin := meet(t, p.port)
		id := admin.connect(sub, greedy, wire.DynamicController, 0, 31)
		if id < 0 {
			if admin.status != wire.ConnectControllerBusy {
				t.Errorf("connection %d is refused with %v, want %v", taken, admin.status, wire.ConnectControllerBusy)
			}
			break
		}
		taken++
		admin.enable()
		for qid := range uint16(3) {
			if io := meet(t, p.port); io.connect(sub, greedy, uint16(id), qid+1, 31) >= 0 {
				taken++
			} else if io.status != wire.ConnectControllerBusy {
				t.Errorf("connection %d is refused with %v, want %v", taken, io.status, wire.ConnectControllerBusy)
			}
		}
	}
	if taken < limit/8 || taken > limit/2 {
		t.Errorf("a host has %d connections where the process may have %d files", taken, limit)
	}
	for range limit { // strangers who say nothing
		meet(t, p.port)
	}
	var out, errs bytes.Buffer
	if s := run([]string{
		"--map", "10.40.1.11:4420=" + p.port, "run", "--json", "--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:bench:h2",
		"--nqn", sub, "--bs", "4k", "--rw", "randread", "--runtime", "200ms",
	}, &out, &errs); s != 0 {
		t.Errorf("another host: exit status %d\n%s\n%s", s, errs.String(), p.said.String())
	}
	if text, err := exec.Command(p.bin, "--root", p.root, "status").CombinedOutput(); err != nil || !bytes.Contains(text, []byte("bench:st1")) {
		t.Errorf("status: %v\n%s", err, text)
	}
	if !strings.Contains(p.said.String(), "LimitNOFILE=") {
		t.Errorf("the log does not say which limit kept the host out:\n%s", p.said.String())
	}
}

// limited is a program that may have only so many files open.
func limited(t *testing.T, bin string, files int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "limited")
	if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\nulimit -n %d && exec %s \"$@\"\n", files, bin), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// comeAll has the strangers come and ask; half of them as much as a target could
// ever allow, half as much as this one does. The other way to be allowed more is
// to know the name of a host. It returns how many bytes they have asked for.
func comeAll(t testing.TB, addr string, n int) (asked int) {
	t.Helper()
	for i := range n {
		s := meet(t, addr)
		const page, most = 128 << 10, 1023
		switch {
		case i%4 == 3:
			id := s.connect("nqn.2026-11.net.example:bench:st1", "nqn.2026-11.net.example:bench:h1", wire.DynamicController, 0, 31)
			if id < 0 {
				continue
			}
			io := meet(t, addr)
			if s.enable(); io.connect("nqn.2026-11.net.example:bench:st1", "nqn.2026-11.net.example:bench:h1", uint16(id), 1, most) < 0 {
				continue
			}
			read := wire.Command{Opcode: wire.OpRead, NSID: 1}
			read.SetBlocks(0, page/512)
			asked += io.ask(read, page, most)
		case i%2 == 0 && s.connect(wire.DiscoveryNQN, "nqn.2026-11.net.example:stranger", wire.DynamicController, 0, most) >= 0:
			s.enable()
			asked += s.ask(logPage(page), page, most)
		default:
			s = meet(t, addr)
			if s.connect(wire.DiscoveryNQN, "nqn.2026-11.net.example:stranger", wire.DynamicController, 0, 31) >= 0 {
				s.enable()
				asked += s.ask(logPage(4096), 4096, 31) + s.ask(logPage(16<<10), 16<<10, 31)
			}
		}
	}
	return asked
}

// meet comes from an address of its own, as strangers do.
func meet(t testing.TB, addr string) *stranger {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: strangerTime}
	conn, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(strangerTime))
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	s := &stranger{Conn: conn}
	req := wire.NewICReq()
	b, _ := req.AppendBinary(nil)
	_, _ = conn.Write(b)
	_, _ = io.ReadFull(conn, make([]byte, wire.ICSize))
	return s
}

// send is a command with data behind it, so many times; what the target makes of it
// is its own affair, and it may read as slowly as it likes, so errors are none.
func (s *stranger) send(cmd wire.Command, data []byte, times int) {
	var all []byte
	cmd.Flags = wire.FlagsSGL
	for range times {
		s.cid++
		cmd.CID = s.cid
		p := wire.NewCapsuleCmd(&cmd, len(data))
		all, _ = p.AppendBinary(all)
		all = append(all, data...)
	}
	_ = s.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	_, _ = s.Write(all)
}

// connect returns the controller's id, or less than 0 where it was refused.
func (s *stranger) connect(sub, host string, ctrl, qid, size uint16) int {
	d := wire.ConnectData{HostID: [16]byte{byte(s.LocalAddr().(*net.TCPAddr).Port)}, ControllerID: ctrl, SubNQN: sub, HostNQN: host}
	if ctrl != wire.DynamicController || qid == 0 && host == "nqn.2026-11.net.example:bench:h1" {
		d.HostID = [16]byte{7}
	}
	data, _ := d.AppendBinary(nil)
	cmd := wire.ConnectCommand{QID: qid, SQSize: size}.Command()
	cmd.SGL = wire.SGL{Type: wire.SGLInCapsule, Length: uint32(len(data))}
	s.send(cmd, data, 1)
	return s.answer()
}

func (s *stranger) answer() int {
	raw := make([]byte, wire.CapsuleRespSize)
	var r wire.CapsuleResp
	s.status = wire.InternalError
	if _, err := io.ReadFull(s, raw); err != nil || r.UnmarshalBinary(raw) != nil {
		return -1
	}
	if s.status = r.Completion.Status; s.status != wire.Success {
		return -1
	}
	return int(uint16(r.Completion.Result))
}

func (s *stranger) enable() {
	s.send(wire.PropertyCommand{Set: true, Offset: wire.PropCC, Value: uint64(wire.CCEnable | wire.CCIOSQES | wire.CCIOCQES)}.Command(), nil, 1)
	s.answer()
}

// ask sends a command n times, each for so many bytes.
func (s *stranger) ask(cmd wire.Command, bytes, n int) int {
	cmd.SGL = wire.SGL{Type: wire.SGLTransport, Length: uint32(bytes)}
	s.send(cmd, nil, n)
	return bytes * n
}

func logPage(n int) wire.Command {
	return wire.GetLogPageCommand{LID: wire.LogDiscovery, Length: uint64(n)}.Command()
}

// peakMemory is the most bytes that a process has had in memory so far.
func peakMemory(t testing.TB, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal(errors.New("the process has no VmHWM"))
	return 0
}
