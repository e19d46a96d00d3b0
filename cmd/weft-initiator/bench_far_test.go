//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkFar reads and writes 128 KiB over a link with delay: two namespaces of the
// network, each with a TUN device, and between them a line that keeps each packet for
// half the time there and back. What goes over it is bounded by the processors, which
// agents and line share.
func BenchmarkFar(b *testing.B) {
	if os.Geteuid() != 0 {
		b.Skip("needs root: it makes namespaces of the network")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		b.Skip("needs ip (iproute2)")
	}
	own, bin := buildAgent(b, "weft-initiator"), buildAgent(b, "weft-target")
	for _, control := range []string{"bbr", "cubic"} {
		for _, there := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
			for _, rw := range []string{"randread", "randwrite"} {
				b.Run(fmt.Sprintf("%s/%v/%s", control, there, rw), func(b *testing.B) {
					near, far := farLink(b, control, there)
					var rate []float64
					for range benchRounds {
						rate = append(rate, farRun(b, own, bin, rw, near, far))
					}
					b.ReportMetric(0, "ns/op")
					b.ReportMetric(median(rate), "MiB/s")
				})
			}
		}
	}
}

// farRun is the rate, in MiB/s, of an initiator in one namespace at a target in the
// other.
func farRun(b *testing.B, own, bin, rw, near, far string) float64 {
	b.Helper()
	p := newTargetProcess(b, bin, benchConfig)
	p.port = "10.99.0.2:4420"
	p.under = []string{"ip", "netns", "exec", far}
	if err := p.start(); err != nil {
		b.Fatal(err)
	}
	defer p.kill()
	out, err := exec.Command("ip", "netns", "exec", near, own, "--map", "10.40.1.11:4420="+p.port, "run", "--json",
		"--traddr", "10.40.1.11:4420", "--hostnqn", "nqn.2026-11.net.example:bench:h1", "--nqn", "nqn.2026-11.net.example:bench:st1",
		"--rw", rw, "--bs", "128k", "--iodepth", "32", "--runtime", "2s", "--ramp-time", "1s",
		"--i-will-overwrite", "nqn.2026-11.net.example:bench:st1/1").Output()
	if err != nil {
		b.Fatalf("weft-initiator: %v", err)
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		b.Fatal(err)
	}
	return (r.Jobs[0].Read.IOPS + r.Jobs[0].Write.IOPS) / 8
}

// farLink makes two namespaces with a link of so much time there and back, and takes
// them away in the end.
func farLink(b *testing.B, control string, there time.Duration) (near, far string) {
	b.Helper()
	var lines [2]*os.File
	names := [2]string{fmt.Sprintf("weft-near-%d", os.Getpid()), fmt.Sprintf("weft-far-%d", os.Getpid())}
	for i, name := range names {
		ip(b, "netns add "+name)
		b.Cleanup(func() { ip(b, "netns del "+name) })
		ip(b, "-n "+name+" link set lo up")
		lines[i] = farTUN(b, name)
		ip(b, fmt.Sprintf("-n %s addr add 10.99.0.%d/24 dev far0", name, i+1))
		ip(b, "-n "+name+" link set far0 mtu 9000 txqueuelen 10000 up")
		if out, err := exec.Command("ip", "netns", "exec", name, "sysctl", "-q", "-w", "net.ipv4.tcp_congestion_control="+control).CombinedOutput(); err != nil {
			b.Skipf("%s is not for all here (sysctl net.ipv4.tcp_allowed_congestion_control): %s", control, out)
		}
	}
	done := make(chan struct{}, 2)
	for i := range lines {
		go farLine(lines[i], lines[1-i], there/2, done)
	}
	b.Cleanup(func() {
		for _, f := range lines {
			_ = f.Close()
		}
		<-done
		<-done
	})
	return names[0], names[1]
}

func ip(b *testing.B, args string) {
	b.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		b.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// farTUN makes a TUN device in a namespace. Its thread ends, as it is in that
// namespace.
func farTUN(b *testing.B, namespace string) *os.File {
	b.Helper()
	type made struct {
		fd  int
		err error
	}
	got := make(chan made)
	go func() {
		runtime.LockOSThread()
		fd, err := openTUN(namespace)
		got <- made{fd, err}
	}()
	m := <-got
	if m.err != nil {
		b.Skipf("needs a TUN device: %v", m.err)
	}
	return os.NewFile(uintptr(m.fd), "far0")
}

func openTUN(namespace string) (fd int, err error) {
	ns, err := unix.Open("/run/netns/"+namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(ns)
	if err := unix.Setns(ns, unix.CLONE_NEWNET); err != nil {
		return -1, err
	}
	if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		return -1, err
	}
	req, err := unix.NewIfreq("far0")
	if err == nil {
		req.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		_ = unix.Close(fd)
	}
	return fd, err
}

// farLine carries packets one way, each so much later, until the devices are closed.
func farLine(from, to *os.File, later time.Duration, done chan<- struct{}) {
	type packet struct {
		due  time.Time
		data []byte
	}
	const most = 8192 // packets under way: beyond them the line loses none, and holds up who sends
	ready, free := make(chan packet, most), make(chan []byte, most)
	for range most {
		free <- make([]byte, 9100)
	}
	go func() {
		defer close(ready)
		for {
			data := <-free
			n, err := from.Read(data[:cap(data)])
			if err != nil {
				return
			}
			ready <- packet{time.Now().Add(later), data[:n]}
		}
	}()
	for p := range ready {
		time.Sleep(time.Until(p.due))
		_, _ = to.Write(p.data) // a closed device takes none
		free <- p.data
	}
	done <- struct{}{}
}
