package prove

import (
	"context"
	"sync"

	"weft/internal/remote"
	"weft/inventory"
)

// hosts logs in to each server at most once.
type hosts struct {
	dial func(context.Context, *inventory.Server) (remote.Host, error)
	mu   sync.Mutex
	once map[*inventory.Server]func() (remote.Host, error)
}

func (h *hosts) of(ctx context.Context, s *inventory.Server) (remote.Host, error) {
	h.mu.Lock()
	if h.once == nil {
		h.once = map[*inventory.Server]func() (remote.Host, error){}
	}
	get, ok := h.once[s]
	if !ok {
		get = sync.OnceValues(func() (remote.Host, error) { return h.dial(ctx, s) })
		h.once[s] = get
	}
	h.mu.Unlock()
	return get()
}
