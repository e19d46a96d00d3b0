// Package page shows runs to people in a browser: live, and read-only. It answers GET
// and HEAD, and the POST that exchanges a token for a cookie; nothing that it does
// changes a run or a device.
package page

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/report"
	"weft/internal/run"
	"weft/inventory"
	"weft/plan"
)

//go:embed *.html live.js page.css
var files embed.FS

// A Source is a store of runs, by the name that it has in addresses.
type Source struct {
	Name string
	Runs *run.Viewer
}

// A Site is what is shown.
type Site struct {
	Title string // where the runs are kept, for people
	// Sources are the stores, each time that somebody asks.
	Sources func(context.Context) ([]Source, error)
	// Read reads the files that are kept with a plan. Whoever wrote the plan may be
	// anybody: it must neither run nor read anything else.
	Read func(*plan.Plan) (*inventory.Model, error)
}

// Pages answers requests. Each goes through the door first.
type Pages struct {
	site  Site
	door  *Door
	mux   *http.ServeMux
	style string
	now   func() time.Time
	pause func(time.Duration) <-chan time.Time // between two broadcasts

	model *reading

	mu      sync.Mutex
	shown   map[string]*shown
	follows map[string]*follow
	streams int
}

// New makes the pages of a site, behind a door.
func New(site Site, door *Door) (*Pages, error) {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return nil, err
	}
	p := &Pages{site: site, door: door, mux: http.NewServeMux(), style: report.Style + string(style), now: time.Now, pause: time.After,
		model: &reading{do: site.Read}, shown: map[string]*shown{}, follows: map[string]*follow{}}
	p.mux.HandleFunc("GET /{$}", p.inside(p.list))
	p.mux.HandleFunc("GET /run/{source}/{run}", p.inside(p.run))
	p.mux.HandleFunc("GET /events", p.inside(p.events))
	p.mux.HandleFunc("GET /events/{source}/{run}", p.inside(p.events))
	p.mux.HandleFunc("GET /login", p.login)
	p.mux.HandleFunc("POST /login", p.enter)
	p.mux.HandleFunc("GET /page.css", func(w http.ResponseWriter, _ *http.Request) { p.asset(w, "text/css; charset=utf-8", p.style) })
	p.mux.HandleFunc("GET /live.js", p.script)
	return p, nil
}

// policy lets a page load its own style sheet and script, and ask for itself: nothing
// else, from nowhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP answers whoever asks for a name of this page.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if !p.door.answers(r.Host) {
		refuse(w, http.StatusMisdirectedRequest, "This page does not answer to that name: another site may have sent you here. Use the address that weft printed.")
		return
	}
	if err := p.door.cross.Check(r); err != nil {
		refuse(w, http.StatusForbidden, "Another site has sent this request.")
		return
	}
	p.mux.ServeHTTP(w, r)
}

// inside lets in who has a cookie.
func (p *Pages) inside(do http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case p.door.knows(r):
			do(w, r)
		case strings.HasPrefix(r.URL.Path, "/events"):
			refuse(w, http.StatusUnauthorized, "Log in first.")
		default:
			http.Redirect(w, r, "/login?to="+url.QueryEscape(within(r.URL.Path)), http.StatusSeeOther)
		}
	}
}

func refuse(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n"))
}

func (p *Pages) asset(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write([]byte(text))
}

func (p *Pages) script(w http.ResponseWriter, _ *http.Request) {
	text, err := files.ReadFile("live.js")
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	p.asset(w, "text/javascript; charset=utf-8", string(text))
}

// A reading remembers the files that were read last: those of a plan do not change.
type reading struct {
	do func(*plan.Plan) (*inventory.Model, error)

	mu    sync.Mutex
	of    *plan.Plan
	model *inventory.Model
	err   error
}

func (r *reading) get(p *plan.Plan) (*inventory.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of != p {
		r.of = p
		r.model, r.err = r.do(p)
	}
	return r.model, r.err
}

// source finds a store by its name.
func (p *Pages) source(ctx context.Context, name string) (*Source, error) {
	all, err := p.site.Sources(ctx)
	i := slices.IndexFunc(all, func(s Source) bool { return s.Name == name })
	if err != nil || i < 0 {
		return nil, err
	}
	return &all[i], nil
}

// patience is how long a request waits for a store.
const patience = 20 * time.Second

func (p *Pages) list(w http.ResponseWriter, r *http.Request) {
	p.show(w, r, "", func(ctx context.Context) (*sheet, error) { return p.listing(ctx) })
}

func (p *Pages) run(w http.ResponseWriter, r *http.Request) {
	name, id := r.PathValue("source"), r.PathValue("run")
	p.show(w, r, name+"/"+id, func(ctx context.Context) (*sheet, error) {
		s, err := p.source(ctx, name)
		if s == nil {
			return nil, err
		}
		pic, err := s.Runs.Picture(ctx, id)
		if err != nil || pic == nil {
			return nil, err
		}
		return p.picture(pic)
	})
}

// shown is a page as it was made last, for all who ask for it.
type shown struct {
	mu    sync.Mutex
	made  bool
	text  []byte    // none: there is no such run
	began time.Time // when its reading began
}

// fresh is how long a page stands for those who ask again, unless something changed.
const fresh = time.Second

// most is how many pages are remembered.
const most = 64

func (p *Pages) show(w http.ResponseWriter, r *http.Request, key string, read func(context.Context) (*sheet, error)) {
	p.mu.Lock()
	if len(p.shown) >= most {
		clear(p.shown)
	}
	s := p.shown[key]
	if s == nil {
		s = new(shown)
		p.shown[key] = s
	}
	var changed time.Time
	if f := p.follows[key]; f != nil {
		changed = f.told
	}
	p.mu.Unlock()

	text, err := s.get(p.now(), changed, func(now time.Time) ([]byte, error) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		made, err := read(ctx)
		if err != nil || made == nil {
			return nil, err
		}
		made.Events = strings.TrimSuffix("/events/"+key, "/")
		return made.page(now)
	})
	switch {
	case err != nil:
		p.trouble(w, err)
	case len(text) == 0:
		refuse(w, http.StatusNotFound, "There is no such run here.")
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(text)
	}
}

// get is the page, made anew where it is old or something has changed since.
func (s *shown) get(now, changed time.Time, make func(time.Time) ([]byte, error)) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.made || !s.began.After(changed) || now.Sub(s.began) > fresh {
		text, err := make(now)
		s.text, s.began, s.made = text, now, err == nil
		if err != nil {
			return nil, err
		}
	}
	return s.text, nil
}

// trouble says that something cannot be shown now.
func (p *Pages) trouble(w http.ResponseWriter, err error) {
	w.Header().Set("Retry-After", "5")
	text := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		text = "the store does not answer in time: " + text
	}
	refuse(w, http.StatusServiceUnavailable, visible("Not known now: "+text))
}

// templates are the pages. They are read once.
var templates = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(functions()).ParseFS(files, "*.html")
})
