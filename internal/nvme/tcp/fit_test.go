package tcp

import (
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
)

// What is sent faster with a bound keeps it, and nothing else does.
func TestFitting(t *testing.T) {
	const mib = 1 << 20
	for name, tt := range map[string]struct {
		own, bound func(window int) float64 // MiB a second
		want       int
	}{
		"faster":            {flat(3000), flat(3600), fitLeast},
		"as fast":           {flat(3000), flat(3050), 0},
		"slower":            {flat(3000), flat(1500), 0},
		"slow, and faster":  {flat(10), flat(12), fitLeast},
		"acknowledged late": {flat(3000), flat(5), 0},
		"disturbed":         {every(3, 3000, 300), every(4, 3600, 200), fitLeast},
		"once faster":       {flat(3000), every(5, 2900, 30000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var f fitting
			now, size, windows := time.Unix(0, 0), 0, 0
			for range 2 * (fitFirst + fitAgain) / mib {
				rate := tt.own
				if size > 0 {
					rate = tt.bound
				}
				now = now.Add(time.Duration(float64(time.Second) / rate(windows)))
				if !f.wrote(mib) {
					continue
				}
				if f.tries == 0 {
					f.begin(fitLeast, now)
					size = 0
				} else if bytes, change := f.step(now); change {
					size, windows = bytes, windows+1
				}
				if f.tries == 0 {
					break
				}
			}
			if f.tries != 0 || f.next-f.sent != fitAgain {
				t.Fatalf("the trial did not end: half %d, sent %d, next %d", f.half, f.sent, f.next)
			}
			if size != tt.want {
				t.Errorf("the trial ends with a send buffer of %d bytes, want %d (times %v)", size, tt.want, f.times)
			}
			if most := uint64(fitFirst + 4*fitPairs*(fitHalf+fitLook)); f.sent > most {
				t.Errorf("the trial took %d bytes, more than %d", f.sent, most)
			}
		})
	}
}

func flat(rate float64) func(int) float64 { return func(int) float64 { return rate } }

func every(n int, rate, odd float64) func(int) float64 {
	return func(window int) float64 {
		if window/2%n == n-1 {
			return odd
		}
		return rate
	}
}

// Over a long way nothing is tried.
func TestFittingFar(t *testing.T) {
	var f fitting
	f.sent = fitFirst
	f.begin(fits(rawsock.Path{RTT: 20 * time.Millisecond, Rate: 1e9}), time.Unix(0, 0))
	if f.tries != 0 || f.wrote(fitFirst) || !f.wrote(fitAgain) {
		t.Errorf("a path of 20 MB: %+v; want another look after %d bytes", f, fitAgain)
	}
}

// Half as much again as is on its way, and never so little that it is held up.
func TestFits(t *testing.T) {
	for _, tt := range []struct {
		path rawsock.Path
		want int
	}{
		{rawsock.Path{}, fitLeast},
		{rawsock.Path{RTT: 5 * time.Microsecond, Rate: 4e9}, fitLeast},
		{rawsock.Path{RTT: 100 * time.Microsecond, Rate: 5e9}, 750_000},
		{rawsock.Path{RTT: 20 * time.Millisecond, Rate: 1e9}, 30_000_000},
	} {
		if got := fits(tt.path); got != tt.want {
			t.Errorf("%+v: a send buffer of %d bytes, want %d", tt.path, got, tt.want)
		}
	}
}

// A connection that sends much goes through a trial, and loses nothing by it.
func TestFittingOverSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("polling sockets works on Linux only")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	type result struct {
		n   int64
		err error
	}
	read := make(chan result, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			read <- result{0, err}
			return
		}
		defer c.Close()
		n, err := io.Copy(io.Discard, struct{ io.Reader }{c})
		read <- result{n, err}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	sock, err := rawsock.Detach(conn)
	if err != nil {
		t.Fatal(err)
	}
	o := newPolledOutbox(sock, nil, nil)
	data := make([]byte, 1<<20)
	sent := int64(0)
	for o.fitting.tries > 0 || o.fitting.sent <= fitFirst {
		o.lock().data(fabric.Buffer{Bytes: data})
		o.unlock()
		o.flush()
		o.drained(0)
		sent += int64(len(data))
		if o.fitting.off {
			err := rawsock.SendBuffer(sock.FD(), 0)
			_ = sock.Close()
			if err == nil {
				t.Fatal("the kernel leaves a send buffer to itself again, and the connection has given up")
			}
			t.Skipf("the kernel does not take a send buffer back (Linux 5.14 does): %v", err)
		}
	}
	if err := o.failure(); err != nil {
		t.Fatal(err)
	}
	if err := sock.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-read; got.err != nil || got.n != sent {
		t.Errorf("read %d bytes of %d: %v", got.n, sent, got.err)
	}
	if f := &o.fitting; f.next < fitAgain || f.own <= 0 {
		t.Errorf("no trial: %+v", f)
	}
}
