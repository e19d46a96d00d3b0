package page

import (
	"context"
	"fmt"
	"slices"

	"weft/internal/run"
	"weft/plan/rollout"
)

// mostListed is how many runs that are over a page lists.
const mostListed = 200

// listed are the runs of a store.
type listed struct {
	Source string
	Alone  bool // there is no other store
	Where  string
	Open   []*run.Head
	Over   []*run.Head
	More   int    // that are over, and not listed
	Away   string // why the store does not answer
}

func (p *Pages) listing(ctx context.Context) (*sheet, error) {
	all, err := p.site.Sources(ctx)
	if err != nil {
		return nil, err
	}
	var lists []listed
	for _, s := range all {
		l := listed{Source: s.Name, Alone: len(all) == 1, Where: s.Runs.Where()}
		heads, err := s.Runs.Heads(ctx)
		if err != nil {
			l.Away = err.Error() // others may answer
		}
		for _, h := range heads {
			if h.Over() {
				l.Over = append(l.Over, h)
			} else {
				l.Open = append(l.Open, h)
			}
		}
		l.More = max(0, len(l.Over)-mostListed)
		l.Over = slices.Clip(l.Over[:len(l.Over)-l.More])
		lists = append(lists, l)
	}
	s := &sheet{Title: "weft runs: " + p.site.Title}
	return s, s.add("list", map[string]any{"Title": p.site.Title, "Lists": lists})
}

// phaseOf is the phase that a run is in, and how many have passed.
func phaseOf(h *run.Head) string {
	passed, now := 0, ""
	for _, p := range h.Phases {
		switch {
		case p.State == rollout.Passed:
			passed++
		case now == "":
			now = p.Name + " "
		}
	}
	if len(h.Phases) == 0 {
		return ""
	}
	return fmt.Sprintf("%s%d/%d", now, passed, len(h.Phases))
}
