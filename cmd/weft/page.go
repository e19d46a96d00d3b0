package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/pflag"

	"weft/internal/hint"
	"weft/internal/hub"
	"weft/internal/outfile"
	"weft/internal/page"
	"weft/internal/run"
	"weft/internal/store"
	"weft/inventory"
	"weft/inventory/language"
	"weft/plan"
)

// A pageServer shows runs in a browser.
type pageServer struct {
	opts *options
	out  *printer
}

// A showing is how runs are shown in a browser.
type showing struct {
	addr, cert, key string
	token           string // file for the token; "": it is printed

	ln     net.Listener
	config *tls.Config // nil: without TLS
}

func (h *showing) flags(f *pflag.FlagSet, addr, what string) {
	f.StringVar(&h.addr, "http", addr, what)
	f.StringVar(&h.cert, "http-cert", "", "certificate that browsers are shown; needed where others than this machine reach the page")
	f.StringVar(&h.key, "http-key", "", "its key")
	f.StringVar(&h.token, "http-token", "", "write the token that is good next into this file, which only you can read, instead of printing it")
	output(f, "http-token")
}

// listen listens; cert and key are those that are shown where none are named, if others
// than this machine reach the page.
func (h *showing) listen(cert, key string) error {
	host, _, err := net.SplitHostPort(h.addr)
	if err != nil {
		return usage(hint.Wrap(fmt.Errorf("--http: %w", err), "an address has a port, like 127.0.0.1:8080"))
	}
	if (h.cert == "") != (h.key == "") {
		return usage(errors.New("--http-cert and --http-key are given together"))
	}
	near := page.Loopback(host)
	if h.cert != "" {
		cert, key = h.cert, h.key
	} else if near {
		cert = ""
	}
	switch {
	case cert == "" && !near:
		return usage(hint.Wrap(fmt.Errorf("--http: %s is reachable from other machines and needs TLS", h.addr),
			"give --http-cert and --http-key; or listen at 127.0.0.1, and reach that with ssh -L"))
	case cert != "":
		if h.config, err = hub.Shown(cert, key); err != nil {
			return usage(fmt.Errorf("--http-cert: %w", err))
		}
	}
	h.ln, err = net.Listen("tcp", h.addr)
	return err
}

// hosts are the names that the page answers to: those of this machine, the address
// that it listens at, and those of its certificate.
func (h *showing) hosts(host string) bool {
	if own, _, err := net.SplitHostPort(h.ln.Addr().String()); page.Loopback(host) || err == nil && own == host {
		return true
	}
	if h.config == nil {
		return false
	}
	c, err := h.config.GetCertificate(nil)
	return err == nil && c.Leaf != nil && c.Leaf.VerifyHostname(host) == nil
}

// url is where a browser finds a path of the page.
func (h *showing) url(path string) string {
	scheme, addr := "http", h.ln.Addr().String()
	if h.config != nil {
		scheme = "https"
		host, port, _ := net.SplitHostPort(addr) // of a listener
		if c, err := h.config.GetCertificate(nil); err == nil && c.Leaf != nil && len(c.Leaf.DNSNames) > 0 && !page.Loopback(host) {
			addr = net.JoinHostPort(c.Leaf.DNSNames[0], port)
		}
	}
	return scheme + "://" + addr + path
}

// serve shows a site until the context ends.
func (p *pageServer) serve(ctx context.Context, h *showing, path string, site page.Site) error {
	_, port, _ := net.SplitHostPort(h.ln.Addr().String()) // of a listener
	first := true
	var failed error
	keep, end := p.tokens(ctx, h.token)
	defer end()
	door := &page.Door{Hosts: h.hosts, Secure: h.config != nil, Cookie: "weft" + port, Token: func(token string) {
		data := map[string]any{"url": h.url(path)}
		text := "The next browser needs"
		if first {
			text = fmt.Sprintf("Runs are shown at %s, read-only. A browser needs", h.url(path))
		}
		switch {
		case h.token != "":
			if err := keep(token); err != nil {
				failed = err
				p.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: err.Error()})
			}
			text += " the token in " + nameOf(h.token)
			data["token_file"] = h.token
		default:
			text += " the token " + token
			data["token"] = token
		}
		first = false
		if p.opts.json {
			p.out.emit(plan.Event{Type: plan.EventNote, Message: "a page of runs is served", Data: data})
			return
		}
		fmt.Fprintln(p.out.stdout, text)
	}}
	door.Open()
	if failed != nil {
		return errors.Join(failed, h.ln.Close())
	}
	pages, err := page.New(site, door)
	if err != nil {
		return errors.Join(err, h.ln.Close())
	}
	return page.Serve(ctx, h.ln, h.config, pages)
}

// tokens returns how each token is written to a file, and how that ends. The first is
// waited for. Later ones must not keep the browser waiting that took the last token: a FIFO
// is given the latest of them once it has a reader.
func (p *pageServer) tokens(ctx context.Context, file string) (keep func(token string) error, end func()) {
	write := func(ctx context.Context, token string) error {
		if err := p.out.write(ctx, file, []byte(token+"\n"), outfile.Options{Secret: true}); err != nil {
			return hint.Wrap(fmt.Errorf("--http-token: %w", err), "%s", hint.Of(err))
		}
		return nil
	}
	if onStdout(file) || isFile(file) {
		return func(token string) error { return write(ctx, token) }, func() {}
	}
	var pending sync.WaitGroup
	stop, first := func() {}, true
	return func(token string) error {
			if first {
				first = false
				return write(ctx, token)
			}
			stop()
			pending.Wait()
			var waiting context.Context
			waiting, stop = context.WithCancel(ctx)
			pending.Go(func() {
				if err := write(waiting, token); err != nil && waiting.Err() == nil {
					p.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: err.Error()})
				}
			})
			return nil
		}, func() {
			stop()
			pending.Wait()
		}
}

// shownFiles reads the files that are kept with a plan, whoever wrote them: nothing is
// run, and nothing else is read.
func shownFiles(p *plan.Plan) (*inventory.Model, error) {
	if len(p.Sources) == 0 {
		return nil, errors.New("the plan has no files in it")
	}
	m, diags := readFiles(sourcesOf(p), language.Options{Values: valuesOf(p), Secrets: fstest.MapFS{}, Untrusted: true})
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return nil, fmt.Errorf("the plan's files cannot be read without trusting them: %s", d.Summary)
		}
	}
	return m, nil
}

// hubSite shows the runs of all owners of a hub that this process serves.
func hubSite(p *hub.Place) (page.Site, error) {
	s, err := p.Reach()
	if err != nil {
		return page.Site{}, err
	}
	var mu sync.Mutex
	var asked time.Time
	var list []page.Source
	known := map[string]*run.Viewer{}
	sources := func(ctx context.Context) ([]page.Source, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(asked) < 10*time.Second {
			return list, nil
		}
		owners, err := s.Owners(ctx)
		if err != nil {
			return nil, err
		}
		list, asked = nil, time.Now()
		for _, name := range owners {
			if known[name] == nil {
				known[name] = run.InShared(os.DevNull, run.Sharing{Name: "owner " + name, Open: func(ctx context.Context) (store.Store, error) { return s.Store(ctx, name) }}).Viewer()
			}
			list = append(list, page.Source{Name: name, Runs: known[name]})
		}
		return list, nil
	}
	return page.Site{Title: "hub " + p.Name(), Read: shownFiles, Sources: sources}, nil
}
