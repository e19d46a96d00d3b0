//go:build unix

package simserver

import (
	"context"
	"slices"
	"time"
)

// argument is the value of an argument; "": there is none.
func argument(args []string, name string) string {
	if i := slices.Index(args, name); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return ""
}

// answers notes where an agent listens for the probe of another one; "": it has
// ended.
func (n *Network) answers(logical, real string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.heard == nil {
		n.heard, n.news = map[string]string{}, make(chan struct{})
	}
	n.heard[logical] = real
	close(n.news)
	n.news = make(chan struct{})
}

// answering maps an address to where an agent listens for probes. Who dials
// before that tries again, and so is made to wait here, for as long as agents
// do; then it is nowhere, as where no way leads to it.
func (n *Network) answering(ctx context.Context, from *Server, logical string) string {
	if host(logical).IsValid() && n.reach(from, host(logical)).answers {
		ctx, cancel := context.WithTimeout(ctx, knockPatience)
		defer cancel()
		for {
			n.mu.Lock()
			real, news := n.heard[logical], n.news
			if news == nil {
				n.heard, n.news = map[string]string{}, make(chan struct{})
				news = n.news
			}
			n.mu.Unlock()
			if real != "" {
				return logical + "=" + real
			}
			select {
			case <-news:
				continue
			case <-ctx.Done():
			}
			break
		}
	}
	if !host(logical).IsValid() {
		logical = "192.0.2.1:1"
	}
	return logical + "=" + nowhere
}

// knockPatience is how long an agent tries to reach one that does not listen.
const knockPatience = 10 * time.Second
