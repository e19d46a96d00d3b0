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
			p := fakePath{own: tt.own, bound: tt.bound, now: time.Unix(0, 0)}
			p.trial(t)
			if p.size != tt.want {
				t.Errorf("the trial ends with a send buffer of %d bytes, want %d (times %v)", p.size, tt.want, p.times)
			}
			if most := uint64(fitFirst + 4*fitPairs*(fitHalf+fitLook)); p.sent > most {
				t.Errorf("the trial took %d bytes, more than %d", p.sent, most)
			}
		})
	}
}

// What is kept holds back nobody for long once the path has become longer, is tried anew
// now and then where it has not, and nobody looks at the clock where nothing is kept.
func TestFittingKept(t *testing.T) {
	for name, tt := range map[string]struct {
		then  float64 // MiB a second with the size that is kept, after the trial
		least time.Duration
		most  time.Duration
	}{
		"longer":         {10, fitKeep, fitKeep + time.Second},
		"much longer":    {0.5, fitKeep, fitKeep + 2*time.Second},
		"as long":        {3600, time.Second, 2 * time.Second}, // 4 GiB
		"slow before":    {100, fitKeep, fitKeep + time.Second},
		"just as before": {410, 9 * time.Second, fitKeep + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := fakePath{own: flat(3000), bound: flat(3600), now: time.Unix(0, 0)}
			p.trial(t)
			if p.size != fitLeast {
				t.Fatalf("a send buffer of %d bytes, want %d", p.size, fitLeast)
			}
			kept := p.now
			for p.bound = flat(tt.then); p.size > 0; {
				p.send()
			}
			if took := p.now.Sub(kept); took < tt.least || took > tt.most {
				t.Errorf("the kernel has its own again after %v and %d MiB, want %v to %v", took, p.sent>>20, tt.least, tt.most)
			}
			if p.tries != fitLeast {
				t.Errorf("it tries %d bytes then, want %d", p.tries, fitLeast)
			}
		})
	}
	p := fakePath{own: flat(3000), bound: flat(3000), now: time.Unix(0, 0)}
	p.trial(t)
	if p.size != 0 || p.next-p.sent != fitAgain {
		t.Errorf("nothing is kept: a send buffer of %d bytes, and a look after %d more, want %d", p.size, p.next-p.sent, fitAgain)
	}
}

// A fakePath is a connection on which so much is sent in a second.
type fakePath struct {
	fitting
	own, bound    func(window int) float64 // MiB a second with the kernel's own, and with another size
	now           time.Time
	size, windows int // of the send buffer, and how often it was changed in this trial
}

// send sends a MiB.
func (p *fakePath) send() {
	rate := p.own
	if p.size > 0 {
		rate = p.bound
	}
	p.now = p.now.Add(time.Duration(float64(time.Second) / rate(p.windows)))
	switch {
	case !p.wrote(1 << 20):
	case p.tries > 0:
		if bytes, change := p.step(p.now); change {
			p.size, p.windows = bytes, p.windows+1
		}
	case !p.kept(p.now):
		p.begin(fitLeast, p.now)
		p.size, p.windows = 0, 0
	}
}

// trial goes through the first trial.
func (p *fakePath) trial(t *testing.T) {
	t.Helper()
	for p.tries == 0 {
		p.send()
	}
	for p.tries > 0 {
		if p.send(); p.sent > fitAgain {
			t.Fatalf("the trial did not end: half %d, sent %d, next %d", p.half, p.sent, p.next)
		}
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
	if f := &o.fitting; f.keep == 0 && f.next < fitAgain || f.keep > 0 && f.keep < fitAgain || f.own <= 0 {
		t.Errorf("no trial: %+v", f)
	}
}
