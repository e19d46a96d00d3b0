package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"weft/internal/run"
)

// mostStreams is how many browsers may follow at once.
const mostStreams = 32

// How long a stream lasts before the browser asks anew, with its cookie looked at
// again; how often it says that it is there; how long a browser may take to read.
const (
	streamLife = 30 * time.Minute
	streamBeat = 15 * time.Second
	streamSlow = 10 * time.Second
)

// between is the least time between two changes that browsers are told of: they all
// ask for the page then, which is read once for all of them.
const between = 500 * time.Millisecond

// A follow watches a store for all who look at the same page.
type follow struct {
	streams map[chan change]bool
	told    time.Time // when they were told last
	stop    context.CancelFunc
}

// A change is what browsers are told.
type change struct {
	away string // why the store does not answer; "": something has changed
}

// events tells a browser whenever what it shows has changed.
func (p *Pages) events(w http.ResponseWriter, r *http.Request) {
	name, id := r.PathValue("source"), r.PathValue("run")
	key, viewers, err := p.viewers(r.Context(), name, id)
	if err != nil {
		p.trouble(w, err)
		return
	}
	if len(viewers) == 0 && name != "" {
		refuse(w, http.StatusNotFound, "There is no such run here.")
		return
	}
	changes, leave := p.join(key, id, viewers)
	if changes == nil {
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d browsers follow already: close one, or reload the page by hand.", mostStreams))
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // nothing more is read; where there is none, the server's holds
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	beat := time.NewTicker(streamBeat)
	defer beat.Stop()
	for text := ": weft\n\n"; ; {
		_ = out.SetWriteDeadline(time.Now().Add(streamSlow))
		if _, err := w.Write([]byte(text)); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			text = ":\n\n"
		case c := <-changes:
			text = c.event()
		}
	}
}

func (c change) event() string {
	if c.away == "" {
		return "event: changed\ndata: {}\n\n"
	}
	text, err := json.Marshal(visible(c.away)) // has no line end in it
	if err != nil {
		text = []byte(`"?"`)
	}
	return "event: away\ndata: " + string(text) + "\n\n"
}

// viewers are those whose changes a page shows: of a run's store, or of all.
func (p *Pages) viewers(ctx context.Context, name, id string) (key string, list []*run.Viewer, err error) {
	all, err := p.site.Sources(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, s := range all {
		if name == "" || s.Name == name {
			list = append(list, s.Runs)
		}
	}
	if name != "" {
		key = name + "/" + id
	}
	return key, list, nil
}

// join adds a browser to those who are told; nil: there are too many.
func (p *Pages) join(key, id string, viewers []*run.Viewer) (<-chan change, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams >= mostStreams {
		return nil, nil
	}
	p.streams++
	f := p.follows[key]
	if f == nil {
		ctx, stop := context.WithCancel(context.Background())
		f = &follow{streams: map[chan change]bool{}, stop: stop}
		p.follows[key] = f
		seen := make(chan error, 1)
		for _, v := range viewers {
			go func() {
				for err := range v.Follow(ctx, id) {
					select {
					case seen <- err:
					default: // one is waiting to be told already
					}
				}
			}()
		}
		go p.tell(ctx, f, seen)
	}
	changes := make(chan change, 1)
	f.streams[changes] = true
	return changes, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.streams--
		if delete(f.streams, changes); len(f.streams) == 0 {
			f.stop()
			delete(p.follows, key)
		}
	}
}

// tell tells all who follow, and not too often.
func (p *Pages) tell(ctx context.Context, f *follow, seen <-chan error) {
	for {
		var c change
		select {
		case <-ctx.Done():
			return
		case err := <-seen:
			if err != nil {
				c.away = err.Error()
			}
		}
		p.mu.Lock()
		f.told = p.now()
		for s := range f.streams {
			select {
			case <-s: // what it was not told yet is not news any more
			default:
			}
			s <- c
		}
		p.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-p.pause(between):
		}
	}
}
