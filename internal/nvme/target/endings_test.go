package target

import (
	"errors"
	"log/slog"
	"os"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
)

// TestHostsLeaveInSilence: hosts that come, read and disconnect, again and again, are no
// trouble: neither end says anything worse than that they have left. It is 50 times for
// each transport, with WEFT_WHOLE a thousand.
func TestHostsLeaveInSilence(t *testing.T) {
	times := 50
	if os.Getenv("WEFT_WHOLE") != "" {
		times = 1000
	}
	key := tls13.Key{Identity: "NVMe0R01 " + hostNQN + " " + subNQN, Secret: make([]byte, 32), Suite: tls13.AES128SHA256}
	known := func(identity string) (tls13.Key, bool) { return key, identity == key.Identity }
	for name, c := range map[string]struct {
		carrier *tcp.Transport
		polled  bool
	}{
		"event":             {&tcp.Transport{}, false},
		"polled":            {&tcp.Transport{Poll: true}, true},
		"TLS":               {&tcp.Transport{Offers: []tls13.Key{key}, Keys: known}, false},
		"TLS beside polled": {&tcp.Transport{Offers: []tls13.Key{key}, Keys: known}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.polled {
				c.carrier.Pollers = onePoller(t)
			}
			leave(t, c.carrier, times)
		})
	}
}

func leave(t *testing.T, carrier fabric.Transport, times int) {
	var said heard
	conf := config(t)
	conf.Log = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	r := newRig(t, carrier, conf)
	for i := range times {
		c, err := r.connect(hostNQN)
		if err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
		ns := c.Namespaces()[0]
		if err := errors.Join(c.Queues()[1].Read(ns, 0, make([]byte, ns.BlockSize)), c.Close()); err != nil {
			t.Fatalf("time %d: %v", i, err)
		}
	}
	if text := said.String(); text != "" || r.target.Refused() != (RefusedStat{}) {
		t.Errorf("%d times: %+v\n%s", times, r.target.Refused(), text)
	}
}
