package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/slice"
	"weft/plan"
)

// beatInterval is the time between two signs of life.
const beatInterval = 10 * time.Second

// Each does something with devices, as many at once as the parallelism says, and
// gives signs of life. It returns when all are done; those that had not begun
// when the context ended are left out.
func (s *Site) Each(ctx context.Context, devices []string, what string, do func(ctx context.Context, i int, device string)) {
	busy := &busy{what: what, since: map[string]time.Time{}}
	ended := make(chan struct{})
	var beats, workers sync.WaitGroup
	beats.Go(func() {
		tick := time.NewTicker(beatInterval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case now := <-tick.C:
				if e, alive := busy.beat(now); alive {
					emit(&s.Input, e)
				}
			}
		}
	})
	queue := make(chan int)
	for range min(max(s.Input.Parallelism, 1), len(devices)) {
		workers.Go(func() {
			for i := range queue {
				end := busy.begin(devices[i], time.Now())
				do(ctx, i, devices[i])
				end()
			}
		})
	}
	for i := range devices {
		if ctx.Err() != nil {
			break
		}
		queue <- i
	}
	close(queue)
	workers.Wait()
	close(ended)
	beats.Wait()
}

// busy knows which devices something is being done with.
type busy struct {
	what  string
	mu    sync.Mutex
	since map[string]time.Time
}

func (b *busy) begin(device string, now time.Time) (end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since[device] = now
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.since, device)
	}
}

// beat is a sign of life that names those who have been at it for longest.
func (b *busy) beat(now time.Time) (e plan.Event, alive bool) {
	type running struct {
		Device  string `json:"device"`
		What    string `json:"what"`
		Seconds int    `json:"seconds"`
	}
	const most = 5
	var list []running
	b.mu.Lock()
	for device, since := range b.since {
		list = append(list, running{device, b.what, int(now.Sub(since).Seconds())})
	}
	b.mu.Unlock()
	slices.SortFunc(list, func(x, y running) int {
		return cmp.Or(cmp.Compare(y.Seconds, x.Seconds), strings.Compare(x.Device, y.Device))
	})
	total := len(list)
	list = list[:min(total, most)]
	names := slice.Map(list, func(r running) string { return fmt.Sprintf("%s %s (%ds)", r.Device, r.What, r.Seconds) })
	return plan.Event{Type: plan.EventHeartbeat, Message: fmt.Sprintf("still busy with %d: %s", total, strings.Join(names, ", ")),
		Data: map[string]any{"busy": total, "running": list}}, total > 0
}
