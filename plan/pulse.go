package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/slice"
)

// heartbeatInterval is the time between two signs of life.
const heartbeatInterval = 10 * time.Second

// heartbeatNames is how many of the running devices a heartbeat names: those
// that have been at it for longest.
const heartbeatNames = 5

// A pulse tells now and then what is still running.
type pulse struct {
	in   *Input
	quit chan struct{}
	done chan struct{}

	mu      sync.Mutex
	running map[string]activity // by device
}

type activity struct {
	what  string
	since time.Time
}

// startPulse starts the heartbeat. Without anybody to hear it there is none,
// and the pulse is nil; its methods take that.
func startPulse(in *Input) *pulse {
	if in.Emit == nil {
		return nil
	}
	p := &pulse{in: in, quit: make(chan struct{}), done: make(chan struct{}), running: map[string]activity{}}
	go p.run()
	return p
}

// stop ends the heartbeat and waits for the last one.
func (p *pulse) stop() {
	if p == nil {
		return
	}
	close(p.quit)
	<-p.done
}

// begin notes that something runs on a device until end is called.
func (p *pulse) begin(device, what string) (end func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[device] = activity{what, p.in.Now()}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, device)
	}
}

func (p *pulse) run() {
	defer close(p.done)
	ticker := time.NewTicker(p.in.heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-ticker.C:
			p.beat()
		}
	}
}

// beat emits one sign of life, if anything is running.
func (p *pulse) beat() {
	type running struct {
		Device  string `json:"device"`
		What    string `json:"what"`
		Seconds int    `json:"seconds"`
	}
	now := p.in.Now()
	var list []running
	p.mu.Lock()
	for device, a := range p.running {
		list = append(list, running{device, a.what, int(now.Sub(a.since).Seconds())})
	}
	p.mu.Unlock()
	if len(list) == 0 {
		return
	}
	slices.SortFunc(list, func(a, b running) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), strings.Compare(a.Device, b.Device))
	})
	total := len(list)
	list = list[:min(total, heartbeatNames)]
	names := slice.Map(list, func(r running) string { return fmt.Sprintf("%s %s (%ds)", r.Device, r.What, r.Seconds) })
	p.in.emit(Event{Type: EventHeartbeat,
		Message: fmt.Sprintf("still busy with %d: %s", total, strings.Join(names, ", ")),
		Data:    map[string]any{"busy": total, "running": list}})
}
