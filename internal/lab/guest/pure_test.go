package guest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestBridges(t *testing.T) {
	for _, c := range []struct {
		name  string
		buses []int
		want  []string
	}{
		{"the bus that is there", []int{0}, nil},
		{"one", []int{0x41, 0x41}, []string{"pxb,id=bus41,bus=pci.0,addr=10.0,bus_nr=64"}},
		{"a run", []int{0x42, 0x41}, []string{"pxb,id=bus41,bus=pci.0,addr=10.0,bus_nr=64", "pci-bridge,id=bus42,bus=bus41,addr=1f.0,chassis_nr=66,shpc=off"}},
		{"the first", []int{1, 2}, []string{"pci-bridge,id=bus01,bus=pci.0,addr=10.0,chassis_nr=1,shpc=off", "pci-bridge,id=bus02,bus=bus01,addr=1f.0,chassis_nr=2,shpc=off"}},
		{"two roots", []int{0xc1, 0x41}, []string{"pxb,id=bus41,bus=pci.0,addr=10.0,bus_nr=64", "pxb,id=busc1,bus=pci.0,addr=11.0,bus_nr=192"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, names, err := bridges(c.buses)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(args, func(a string) bool { return a == "-device" })
			if !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			for _, bus := range c.buses {
				if names[bus] == "" {
					t.Errorf("bus %02x has no name", bus)
				}
			}
		})
	}
	if _, _, err := bridges([]int{3, 6, 9, 12, 15, 18, 21, 24, 27}); err == nil {
		t.Error("nine roots were taken")
	}
}

func TestParsePCI(t *testing.T) {
	if a, err := parsePCI("0000:c1:1e.7"); err != nil || a != (pciAddress{0xc1, 0x1e, 7}) {
		t.Errorf("%v, %v", a, err)
	}
	for _, s := range []string{"", "0001:41:00.0", "0000:41:20.0", "0000:41:00.8", "0000:00:02.0", "0000:00:1d.0", "0000:41:1f.0", "41:00.0"} {
		if _, err := parsePCI(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestSpec(t *testing.T) {
	s, err := Spec{Name: "st1.example.net", NICs: []NIC{{Plane: "a"}, {Plane: "b", PCI: "0000:41:00.0", MAC: "02:00:00:00:00:AA"}}}.whole()
	if err != nil {
		t.Fatal(err)
	}
	if s.NICs[0].PCI == "" || s.NICs[0].MAC == "" || s.NICs[1].MAC != "02:00:00:00:00:aa" || len(s.MachineID) != 32 || s.Memory == 0 {
		t.Errorf("not filled in: %+v", s)
	}
	for _, bad := range []Spec{
		{Name: ""}, {Name: "a b"}, {Name: "-x"}, {Name: "../x"},
		{Name: "a", MachineID: "x"},
		{Name: "a", Users: []string{"root; reboot"}},
		{Name: "a", Drives: []Drive{{ID: "x\" RUN+=\"y", Size: 1 << 20}}},
		{Name: "a", Drives: []Drive{{ID: "x", Size: 1}}},
		{Name: "a", NICs: []NIC{{PCI: "0000:41:00.0"}, {PCI: "0000:41:00.0"}}},
		{Name: "a", NICs: []NIC{{RDMA: "mlx5"}}},
		{Name: "a", NICs: []NIC{{MAC: "02:00:00:00:00:01,romfile=x"}}},
	} {
		if _, err := bad.whole(); err == nil {
			t.Errorf("taken: %+v", bad)
		}
	}
}

// TestClock: an emulated guest is told how fast it counts, where that is known.
func TestClock(t *testing.T) {
	s, err := Spec{Name: "one.example.net"}.whole()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		accel     string
		thousands int
		want      bool
	}{{"tcg", 2_000_000, true}, {"tcg", 0, false}, {"kvm", 2_000_000, false}} {
		args, err := s.arguments(&Image{}, test.accel, files{}, 0, test.thousands)
		if err != nil {
			t.Fatal(err)
		}
		line := args[slices.Index(args, "-append")+1]
		if told := strings.HasSuffix(line, " tsc_early_khz=2000000"); told != test.want || !told && strings.Contains(line, "khz") {
			t.Errorf("%+v: %s", test, line)
		}
	}
}

func TestSeed(t *testing.T) {
	got := seed([]seedFile{{"/etc/ssh/key", 0o600, []byte("secret")}, {"/etc/hostname", 0o644, []byte("one\n")}})
	names := map[string]string{}
	for rest := got; ; {
		if len(rest) < 110 || string(rest[:6]) != "070701" {
			t.Fatalf("no header at %d", len(got)-len(rest))
		}
		field := func(n int) (v int) {
			for _, c := range rest[6+8*n : 14+8*n] {
				v = v<<4 | strings.IndexByte("0123456789ABCDEF", c)
			}
			return v
		}
		round := func(n int) int { return (n + 3) &^ 3 }
		mode, size, named := field(1), field(6), field(11)
		name := string(rest[110 : 110+named-1])
		text := string(rest[round(110+named):][:size])
		if name == "TRAILER!!!" {
			break
		}
		names[name] = strings.TrimSpace(text)
		if dir := !strings.Contains(name, "key") && !strings.Contains(name, "hostname"); dir != (mode&0o170000 == 0o040000) {
			t.Errorf("%s: mode %o", name, mode)
		}
		rest = rest[round(110+named)+round(size):]
	}
	if names["seed/etc/ssh/key"] != "secret" || names["seed/etc/hostname"] != "one" || len(names) != 5 {
		t.Errorf("got %q", names)
	}
}

// ends plugs so many cards into a hub and returns their other ends.
func ends(t *testing.T, h *Hub, n int) (far []net.Conn, ports []*Port) {
	t.Helper()
	for range n {
		near, other := net.Pipe()
		p, err := h.Plug(Card{Guest: "guest"}, near)
		if err != nil {
			t.Fatal(err)
		}
		far, ports = append(far, other), append(ports, p)
	}
	t.Cleanup(func() {
		for _, c := range far {
			_ = c.Close()
		}
		_ = h.Close() // closed by some tests
	})
	return far, ports
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	frame := append([]byte{0, 0, 0, byte(len(text))}, text...)
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, c net.Conn, text string) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	frame, err := readFrame(c)
	if err != nil || string(frame[lengthSize:]) != text {
		t.Fatalf("got %q, %v; want %q", frame, err, text)
	}
}

func TestHub(t *testing.T) {
	h := NewHub("a")
	far, ports := ends(t, h, 3)
	send(t, far[0], "hello")
	want(t, far[1], "hello")
	want(t, far[2], "hello")

	// What a cut port sends and would get is lost, and counted.
	ports[2].Cut(true)
	send(t, far[0], "two")
	want(t, far[1], "two")
	send(t, far[2], "nobody")
	send(t, far[1], "three") // after what was lost, so both are counted
	want(t, far[0], "three")
	ports[2].Cut(false)
	send(t, far[0], "four")
	want(t, far[2], "four")
	want(t, far[1], "four")
	if c := ports[0].Counts(); c != (Counts{In: 3, Out: 1, InBytes: 12, OutBytes: 5}) {
		t.Errorf("the first port: %+v", c)
	}
	if c := ports[2].Counts(); c.In != 2 && c.In != 1 || c.Out != 2 {
		t.Errorf("the port that was cut: %+v", c)
	}

	// A card that goes is no longer served, and the others are.
	_ = far[2].Close()
	send(t, far[1], "five")
	want(t, far[0], "five")
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	near, _ := net.Pipe()
	if _, err := h.Plug(Card{Guest: "late"}, near); !errors.Is(err, net.ErrClosed) {
		t.Errorf("plugged into a closed hub: %v", err)
	}
}

func TestHubDelays(t *testing.T) {
	h := NewHub("a")
	far, _ := ends(t, h, 2)
	const wait = 30 * time.Millisecond
	h.Delay(wait)
	begun := time.Now()
	send(t, far[0], "one")
	send(t, far[0], "two")
	want(t, far[1], "one")
	if took := time.Since(begun); took < wait {
		t.Errorf("after %v", took)
	}
	h.Delay(0)
	send(t, far[0], "three")
	want(t, far[1], "two") // the order is kept
	want(t, far[1], "three")
}

func TestHubCut(t *testing.T) {
	h := NewHub("a")
	far, ports := ends(t, h, 2)
	h.Cut(true)
	send(t, far[0], "lost")
	send(t, far[1], "lost, too")
	h.Close()
	if a, b := ports[0].Counts(), ports[1].Counts(); a.Out+b.Out != 0 {
		t.Errorf("%+v %+v", a, b)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02ab"))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Add([]byte("\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		frame, err := readFrame(r)
		if err == nil && !bytes.HasPrefix(data, frame) {
			t.Errorf("%q from %q", frame, data)
		}
	})
}

const usernet = `Hub -1 (management):
  Protocol[State]    FD  Source Address  Port   Dest. Address  Port RecvQ SendQ
  TCP[ESTABLISHED]   13       127.0.0.1 40123       10.0.2.15    22     0     0
  TCP[HOST_FORWARD]  12       127.0.0.1 45813       10.0.2.15    22     0     0
`

func TestSSHPort(t *testing.T) {
	if port, err := sshPort(strings.ReplaceAll(usernet, "\n", "\r\n")); err != nil || port != 45813 {
		t.Errorf("%d, %v", port, err)
	}
	if _, err := sshPort("TCP[HOST_FORWARD]  12  127.0.0.1 99999  10.0.2.15 22 0 0"); err == nil {
		t.Error("port 99999")
	}
}

func FuzzSSHPort(f *testing.F) {
	f.Add(usernet)
	f.Fuzz(func(t *testing.T, text string) {
		if port, err := sshPort(text); err == nil && (port < 1 || port > 65535) {
			t.Errorf("port %d", port)
		}
	})
}

// TestMonitor holds a conversation in which events come in between.
func TestMonitor(t *testing.T) {
	in, out := io.Pipe()
	asked, answers := io.Pipe()
	go func() {
		_, _ = io.WriteString(out, `{"QMP": {"version": {}, "capabilities": ["oob"]}}`+"\r\n"+
			`{"return": {}}`+"\r\n"+`{"timestamp": {}, "event": "RESUME"}`+"\r\n"+`{"return": "hello\r\n"}`+"\r\n"+
			`{"error": {"class": "GenericError", "desc": "no such nic"}}`+"\r\n")
		_ = out.Close()
	}()
	var said bytes.Buffer
	read := make(chan error, 1)
	go func() { _, err := io.Copy(&said, asked); read <- err }()
	m, err := newMonitor(answers, in)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := m.human("info usernet"); err != nil || text != "hello\r\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := m.do("set_link", map[string]any{"name": "nic0", "up": false}); err == nil || !strings.Contains(err.Error(), "no such nic") {
		t.Errorf("refused: %v", err)
	}
	if _, err := m.do("stop", nil); err == nil {
		t.Error("QEMU has ended, and nobody noticed")
	}
	_ = answers.Close()
	if err := <-read; err != nil {
		t.Fatal(err)
	}
	if want := `{"execute":"set_link","arguments":{"name":"nic0","up":false}}` + "\n"; !strings.Contains(said.String(), want) {
		t.Errorf("said %s", said.String())
	}
}
