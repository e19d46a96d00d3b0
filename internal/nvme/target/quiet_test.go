package target

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// heard is what a log has said; it may be read meanwhile.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(b)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestPeersDoNotFloodTheLog: whatever peers do, they make only so many lines; the
// others are counted, and what another peer does is said all the same.
func TestPeersDoNotFloodTheLog(t *testing.T) {
	const flood = 3000
	var said heard
	c := config(t)
	c.Log = slog.New(slog.NewTextHandler(&said, nil))
	r := newRig(t, &tcp.Transport{}, c)
	q := r.dialFrom("127.0.0.2", 0)
	for range flood {
		r.want(wire.ConnectInvalidHost.WithDNR(), q, connectCommand(0, 0), connectData(subNQN, stranger, wire.DynamicController))
	}
	r.want(wire.ConnectInvalidHost.WithDNR(), r.dial(0), connectCommand(0, 0), connectData(otherNQN, stranger, wire.DynamicController))
	lines := strings.Count(said.String(), "connection refused")
	if lines > 2*sourceBurst || lines < sourceBurst {
		t.Errorf("%d refusals make %d lines", flood, lines)
	}
	if n := r.target.Refused(); int(n.Connects) != flood+1 || int(n.LogLines)+lines != flood+1 {
		t.Errorf("%+v and %d lines of %d", n, lines, flood+1)
	}
	if !strings.Contains(said.String(), "subsystem="+otherNQN) {
		t.Error("what another peer does is not said")
	}
}

func TestPace(t *testing.T) {
	p := newQuiet(slog.DiscardHandler).pace
	now := time.Unix(1e9, 0)
	passed := 0
	for range 5 * sourceBurst {
		if ok, _ := p.take("refused", "a", now); ok {
			passed++
		}
	}
	if passed != sourceBurst || p.left.Load() != 4*sourceBurst {
		t.Errorf("%d lines pass, %d are left out", passed, p.left.Load())
	}
	now = now.Add(time.Second)
	if ok, left := p.take("refused", "a", now); !ok || left != 4*sourceBurst {
		t.Errorf("a second later: passes %v, %d left out before", ok, left)
	}
	if ok, left := p.take("refused", "b", now); !ok || left != 0 {
		t.Errorf("of another source: passes %v, %d left out before", ok, left)
	}
	passed = 0
	for i := range 10 * maxKinds { // each from elsewhere
		if ok, _ := p.take("refused", fmt.Sprint("c", i), now); ok {
			passed++
		}
	}
	if passed > kindBurst || len(p.kinds) > maxKinds {
		t.Errorf("%d lines pass, %d kinds are told apart", passed, len(p.kinds))
	}
	if ok, _ := p.take("controller ended", "z", now); !ok {
		t.Error("another message does not pass")
	}
}
