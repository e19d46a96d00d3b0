package run

import (
	"context"
	"sync"

	"weft/internal/prove"
	"weft/internal/remote"
	"weft/inventory"
	"weft/switches"
)

// Cables compares what switches hear with the links: those that only allows,
// all where it is nil, and ports that are freed.
func (s *Site) Cables(ctx context.Context, only func(*inventory.Switch) bool, freed map[*inventory.Switch][]string) (*prove.Cabling, error) {
	hosts := s.Logins()
	defer hosts.End()
	return prove.Cables(ctx, prove.CablingInput{
		Model: s.Model, Host: hosts.Host, Only: only, Freed: freed,
		Heard: func(ctx context.Context, sw *inventory.Switch) ([]switches.Neighbour, error) {
			return s.Fleet.Device(sw.Addr).Neighbours(ctx)
		},
	})
}

// Logins are the logins of a measurement on servers, which end with it.
type Logins struct {
	site *Site
	mu   sync.Mutex
	all  []func() error
}

// Logins begins a measurement; whoever calls ends it.
func (s *Site) Logins() *Logins { return &Logins{site: s} }

// Host logs in to a server.
func (l *Logins) Host(ctx context.Context, s *inventory.Server) (remote.Host, error) {
	host, end, err := l.site.dial(s)(ctx, false)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, end)
	}
	return host, err
}

// End ends them.
func (l *Logins) End() {
	for _, end := range l.all {
		_ = end() // what was measured is measured
	}
}
