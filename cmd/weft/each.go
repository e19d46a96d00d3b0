package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
)

// visit loads the files and reaches their devices.
func (a *app) visit() (*project, error) {
	m, err := a.load()
	if err != nil {
		return nil, err
	}
	return a.reach(m)
}

// reach makes the devices of a model dialable for what changes none of them:
// what is described and not managed yet does not matter to it.
func (a *app) reach(m *inventory.Model) (*project, error) {
	p := &project{lab: a.lab, model: m}
	var err error
	if p.dialer, err = a.dialer(); err != nil {
		return nil, err
	}
	p.fleet, _ = modules.Expand(m, modules.Env{Bundle: a.agents, Holder: run.Holder(), Mine: a.mine, Host: p.host, Terminal: p.terminal})
	return p, nil
}

// choose lists the devices that selectors name, in the order of the roster;
// all of them without any. A selector is the address of a device, of a block
// with all of its instances, or of a module; the host of a device; or NAME=VALUE,
// a label of servers.
func (p *project) choose(selectors []string) ([]string, error) {
	labels := map[string]map[string]string{}
	for _, s := range p.model.Servers {
		labels[s.Addr] = s.Labels
	}
	used := make([]bool, len(selectors))
	var chosen []string
	for _, d := range p.fleet.Roster {
		if p.fleet.Devices[d.Device] == nil {
			continue // described, not yet managed
		}
		take := len(selectors) == 0
		for i, s := range selectors {
			if selects(s, d, labels[d.Device]) {
				take, used[i] = true, true
			}
		}
		if take {
			chosen = append(chosen, d.Device)
		}
	}
	for i, s := range selectors {
		if !used[i] {
			return nil, usage(hint.Wrap(fmt.Errorf("%s: no device that weft can reach is called that", s),
				"a device is named by its address, such as server.node or 'server.node[\"st1\"]', by its host, or by a label, such as role=storage"))
		}
	}
	return chosen, nil
}

func selects(selector string, d plan.Member, labels map[string]string) bool {
	if rest, ok := strings.CutPrefix(d.Device, selector); ok && selector != "" && (rest == "" || rest[0] == '[' || rest[0] == '.') {
		return true
	}
	if key, value, ok := strings.Cut(selector, "="); ok {
		have, set := labels[key]
		return set && have == value
	}
	return selector == d.Host
}

// beatInterval is the time between two signs of life.
const beatInterval = 10 * time.Second

// each does something with devices, as many at once as --parallelism says, and
// gives signs of life. It returns when all are done; those that had not begun
// when the context ended are left out.
func (a *app) each(ctx context.Context, devices []string, what string, do func(ctx context.Context, i int, device string)) {
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
					a.emit(e)
				}
			}
		}
	})
	queue := make(chan int)
	for range min(max(a.parallelism, 1), len(devices)) {
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
	var names []string
	for _, r := range list {
		names = append(names, fmt.Sprintf("%s %s (%ds)", r.Device, r.What, r.Seconds))
	}
	return plan.Event{Type: plan.EventHeartbeat, Message: fmt.Sprintf("still busy with %d: %s", total, strings.Join(names, ", ")),
		Data: map[string]any{"busy": total, "running": list}}, total > 0
}

// lost says that a device cannot be reached.
func (a *app) lost(device string, err error) {
	data := map[string]any{"error": err.Error()}
	if h := hint.Of(err); h != "" {
		data["hint"] = h
	}
	a.emit(plan.Event{Type: plan.EventConnect, Level: "error", Device: device, Message: device + " cannot be reached: " + err.Error(), Data: data})
}
