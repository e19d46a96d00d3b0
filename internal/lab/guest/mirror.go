//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/wait"
)

// Suite is the Debian that guests run.
const Suite = "trixie"

const (
	mirrorTries   = 3
	mirrorTimeout = 15 * time.Second // of one try
	mirrorPause   = 2 * time.Second  // between tries
)

// mirror finds a Debian mirror among those that apt on this machine uses. It
// is asked a few times, and none answering is an error at once rather than a
// build that hangs.
func mirror(ctx context.Context, etc string) (string, error) {
	uris, err := aptSources(etc)
	if err != nil {
		return "", err
	}
	var errs []error
	for _, uri := range uris {
		err := has(ctx, uri)
		if err == nil {
			return uri, nil
		}
		errs = append(errs, err)
	}
	if errs == nil {
		errs = append(errs, fmt.Errorf("%s/apt names no archive", etc))
	}
	return "", hint.Wrap(unavailable{fmt.Errorf("no mirror of Debian %s among the sources of apt: %w", Suite, errors.Join(errs...))},
		"name a reachable Debian mirror in /etc/apt/sources.list")
}

// has says whether a mirror has our suite.
func has(ctx context.Context, uri string) error {
	release := strings.TrimSuffix(uri, "/") + "/dists/" + Suite + "/Release"
	if path, ok := strings.CutPrefix(release, "file:"); ok {
		_, err := os.Stat(path)
		return err
	}
	client := &http.Client{Timeout: mirrorTimeout, Transport: &http.Transport{Proxy: aptProxy}}
	defer client.CloseIdleConnections()
	var err error
	for try := range mirrorTries {
		if try > 0 {
			if !wait.For(ctx, mirrorPause) {
				return ctx.Err()
			}
		}
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodHead, release, nil); err != nil {
			return err
		}
		var resp *http.Response
		if resp, err = client.Do(req); err != nil {
			continue
		}
		_ = resp.Body.Close() // a HEAD has none
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		if err = fmt.Errorf("%s: %s", release, resp.Status); resp.StatusCode == http.StatusNotFound {
			return err // an archive of something else
		}
	}
	return err
}

// aptProxy is the proxy that apt uses, or that the environment names.
func aptProxy(req *http.Request) (*url.URL, error) {
	if p := proxyOf(req.URL.Scheme); p != "" {
		return url.Parse(p)
	}
	return http.ProxyFromEnvironment(req)
}

// proxyOf asks apt for its proxy; "": none.
func proxyOf(scheme string) string {
	out, err := exec.Command("apt-config", "--format", "%v%n", "dump", "Acquire::"+scheme+"::Proxy").Output()
	if err != nil {
		return "" // no apt, no proxy of apt's
	}
	p := strings.TrimSpace(string(out))
	if strings.EqualFold(p, "DIRECT") {
		return ""
	}
	return p
}

// aptSources lists the archives that /etc/apt names, in its order.
func aptSources(etc string) ([]string, error) {
	dir := filepath.Join(etc, "apt")
	files := []string{filepath.Join(dir, "sources.list")}
	more, err := os.ReadDir(filepath.Join(dir, "sources.list.d"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("sources of apt: %w", err)
	}
	for _, f := range more {
		files = append(files, filepath.Join(dir, "sources.list.d", f.Name()))
	}
	var uris []string
	for _, name := range files {
		parse := oneLine
		switch filepath.Ext(name) {
		case ".list":
		case ".sources":
			parse = deb822
		default:
			continue
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("sources of apt: %w", err)
		}
		for _, uri := range parse(string(text)) {
			if !slices.Contains(uris, uri) && usable(uri) {
				uris = append(uris, uri)
			}
		}
	}
	return uris, nil
}

// usable says whether debootstrap and a plain GET understand an address.
func usable(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "file")
}

// oneLine reads the addresses of a sources.list: deb [options] URI SUITE ….
func oneLine(text string) (uris []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "deb" {
			continue
		}
		words = words[1:]
		if len(words) > 0 && strings.HasPrefix(words[0], "[") {
			for len(words) > 0 && !strings.HasSuffix(words[0], "]") {
				words = words[1:]
			}
			words = words[min(1, len(words)):]
		}
		if len(words) >= 2 {
			uris = append(uris, words[0])
		}
	}
	return uris
}

// deb822 reads the addresses of a .sources file: paragraphs of "Field: value".
func deb822(text string) (uris []string) {
	var stanza map[string][]string
	field := ""
	flush := func() {
		enabled := !slices.Contains(stanza["enabled"], "no")
		if enabled && slices.Contains(stanza["types"], "deb") {
			uris = append(uris, stanza["uris"]...)
		}
		stanza, field = map[string][]string{}, ""
	}
	flush()
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "#"):
			continue
		case strings.TrimSpace(line) == "":
			flush()
			continue
		case line[0] == ' ' || line[0] == '\t': // the field goes on
		default:
			name, value, _ := strings.Cut(line, ":")
			field, line = strings.ToLower(strings.TrimSpace(name)), value
		}
		stanza[field] = append(stanza[field], strings.Fields(line)...)
	}
	flush()
	return uris
}
