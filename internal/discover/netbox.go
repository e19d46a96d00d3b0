package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
)

// A NetBox is where machines are listed, and their cables. The names of fields are those of
// its source: netbox/dcim/api/serializers_/devices.py, device_components.py and base.py, and
// of its documentation: docs/integrations/rest-api.md, Pagination. Cables go on behind patch
// panels there, since 3.3. It was never tried with one.
type NetBox struct {
	URL    string // of the list of devices: https://netbox.example.net/api/dcim/devices/?tag=pilot
	Token  string // "": none
	Client *http.Client
}

// NetBoxToken is the variable of the environment that holds the token.
const NetBoxToken = "WEFT_NETBOX_TOKEN"

// A page of a list of NetBox.
type netboxPage[T any] struct {
	Count   *int    `json:"count"` // of the whole list
	Next    *string `json:"next"`
	Results *[]T    `json:"results"`
}

// A device, as far as weft reads it.
type netboxDevice struct {
	ID        int64   `json:"id"`
	Name      *string `json:"name"`
	PrimaryIP *struct {
		Address string `json:"address"`
	} `json:"primary_ip"`
}

// A netboxPort is an interface, or an end of what others have.
type netboxPort struct {
	Device *struct {
		Name *string `json:"name"`
	} `json:"device"`
	Name      string        `json:"name"`
	Connected *[]netboxPort `json:"connected_endpoints"`
	Reachable *bool         `json:"connected_endpoints_reachable"` // false: a cable on the way is only planned
}

func (p netboxPort) device() string {
	if p.Device == nil || p.Device.Name == nil {
		return ""
	}
	return *p.Device.Name
}

// mostPage is how long a page may be, in bytes.
const mostPage = 32 << 20

// A Listing is what a NetBox has.
type Listing struct {
	Machines []Named
	Cables   []Recorded
	Unread   error // why Cables are not known
}

// Read reads the devices, and the cables of their interfaces. The token goes to the host
// of the URL and nowhere else: a page that leads elsewhere, or round in a circle, is
// refused.
func (n *NetBox) Read(ctx context.Context) (*Listing, error) {
	first, err := url.Parse(n.URL)
	if err != nil || first.Host == "" || first.Scheme != "https" && first.Scheme != "http" {
		return nil, hint.Wrap(fmt.Errorf("%q is no URL of NetBox", n.URL), "as in netbox:https://netbox.example.net/api/dcim/devices/?tag=pilot")
	}
	if first.User != nil {
		return nil, fmt.Errorf("the URL of NetBox holds a login: the token is read from %s", NetBoxToken)
	}
	if n.Token != "" && first.Scheme != "https" {
		return nil, errors.New("the token of NetBox is sent over https only")
	}
	devices, err := netboxList[netboxDevice](ctx, n, first)
	if err != nil {
		return nil, err
	}
	l := &Listing{}
	for i, d := range devices {
		m := Named{}
		if d.Name != nil {
			m.Name, m.Host = *d.Name, *d.Name
		}
		if d.PrimaryIP != nil && d.PrimaryIP.Address != "" {
			m.Host, _, _ = strings.Cut(d.PrimaryIP.Address, "/")
		}
		if l.Machines, err = appendNamed(l.Machines, m, fmt.Sprintf("%s, device %d (%s)", n.URL, i+1, m.Name)); err != nil {
			return nil, err
		}
	}
	l.Cables, l.Unread = n.cables(ctx, first, devices)
	return l, ctx.Err()
}

// mostDevices is of how many devices interfaces are asked at once.
const mostDevices = 50

// cables reads where the interfaces of devices lead.
func (n *NetBox) cables(ctx context.Context, first *url.URL, devices []netboxDevice) (list []Recorded, err error) {
	base, is := strings.CutSuffix(strings.TrimSuffix(first.Path, "/"), "/dcim/devices")
	if !is {
		return nil, errors.New("its URL does not end with /api/dcim/devices/, beside which interfaces are listed")
	}
	for some := range slices.Chunk(devices, mostDevices) {
		ids := url.Values{"limit": {"500"}}
		for _, d := range some {
			if d.ID == 0 {
				return nil, errors.New("its devices have no id")
			}
			ids.Add("device_id", strconv.FormatInt(d.ID, 10))
		}
		at := *first
		at.Path, at.RawPath, at.RawQuery = base+"/dcim/interfaces/", "", ids.Encode()
		ports, err := netboxList[netboxPort](ctx, n, &at)
		if err != nil {
			return nil, err
		}
		for _, p := range ports {
			switch r := (Recorded{Device: p.device(), Port: p.Name}); {
			case p.Reachable != nil && !*p.Reachable && p.Connected != nil && len(*p.Connected) > 0: // it is not to be there yet
			case p.Connected == nil || len(*p.Connected) == 0:
				list = append(list, r)
			case len(*p.Connected) == 1: // else it is split, and each end is another's
				r.PeerDevice, r.PeerPort = (*p.Connected)[0].device(), (*p.Connected)[0].Name
				list = append(list, r)
			}
		}
	}
	return list, nil
}

// netboxList reads all pages of a list. One that is not as long as it says is refused: it
// ended early, or was changed meanwhile.
func netboxList[T any](ctx context.Context, n *NetBox, first *url.URL) (list []T, err error) {
	seen := map[string]bool{}
	for at := first; at != nil; {
		seen[at.String()] = true
		page, err := netboxRead[T](ctx, n, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		next, err := following(first, page.Next)
		list = append(list, *page.Results...)
		switch {
		case err != nil:
			return nil, err
		case len(list) > mostListed:
			return nil, fmt.Errorf("%s: more than %d in a list", at, mostListed)
		case next != nil && seen[next.String()]:
			return nil, fmt.Errorf("the pages of NetBox lead in a circle: %s comes again", next)
		case next != nil && len(*page.Results) == 0:
			return nil, fmt.Errorf("%s: the page is empty, and leads on to another: it would never end", at)
		case next == nil && page.Count != nil && *page.Count != len(list):
			return nil, hint.Wrap(fmt.Errorf("%s: the list ends after %d, and says that it has %d", at, len(list), *page.Count), "was it changed meanwhile? Try again; the URL must not begin behind its first: no offset=")
		}
		at = next
	}
	return list, nil
}

// netboxRead reads one page.
func netboxRead[T any](ctx context.Context, n *NetBox, at *url.URL) (*netboxPage[T], error) {
	text, err := n.get(ctx, at)
	if err != nil {
		return nil, err
	}
	page := &netboxPage[T]{}
	if err := json.Unmarshal(text, page); err != nil {
		return nil, fmt.Errorf("its answer is not a page of a list: %w", err)
	}
	if page.Results == nil {
		return nil, errors.New("its answer is not a page of a list: it has no results")
	}
	return page, nil
}

// mostListed is how long a list may be, all pages together.
const mostListed = 200000

// following is the page after this one; nil: there is none. A NetBox behind a proxy that does
// not tell it of https writes http there: it is asked over https as before.
func following(first *url.URL, next *string) (*url.URL, error) {
	if next == nil || *next == "" {
		return nil, nil
	}
	at, err := first.Parse(*next)
	if err == nil && at.Scheme == "http" {
		at.Scheme = first.Scheme
	}
	if err != nil || at.Host != first.Host || at.Scheme != first.Scheme || at.User != nil {
		return nil, fmt.Errorf("a page of NetBox leads to %q, which is not on %s: it is not followed", *next, first.Host)
	}
	return at, nil
}

// authorization is how a token is shown: those of version 2, of NetBox 4.5 and later, begin
// with nbt_ and are bearers (docs/integrations/rest-api.md, Authenticating to the API).
func authorization(token string) string {
	if strings.HasPrefix(token, "nbt_") {
		return "Bearer " + token
	}
	return "Token " + token
}

func (n *NetBox) get(ctx context.Context, at *url.URL) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if n.Token != "" {
		req.Header.Set("Authorization", authorization(n.Token))
	}
	client := *n.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return nil, hint.Wrap(fmt.Errorf("it answers %s, and is not followed elsewhere", res.Status), "name the URL of the list itself, with the slash at its end: https://netbox.example.net/api/dcim/devices/?tag=pilot")
	case res.StatusCode != http.StatusOK:
		return nil, hint.Wrap(fmt.Errorf("it answers %s", res.Status), "is the token in %s good, and the URL that of the list of devices?", NetBoxToken)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, mostPage+1))
	if err != nil {
		return nil, fmt.Errorf("the page ends early: %w", err)
	}
	if len(text) > mostPage {
		return nil, fmt.Errorf("the page is longer than %d bytes", mostPage)
	}
	return text, nil
}
