package discover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"weft/internal/hint"
)

// A NetBox is where machines are listed. That devices have name and primary_ip.address,
// and that pages have results and next, is how its API is described; it was never tried
// with one.
type NetBox struct {
	URL    string // of the list of devices: https://netbox.example.net/api/dcim/devices/?tag=pilot
	Token  string // "": none
	Client *http.Client
}

// NetBoxToken is the variable of the environment that holds the token.
const NetBoxToken = "WEFT_NETBOX_TOKEN"

// A page of devices, as far as weft reads it.
type netboxPage struct {
	Next    *string `json:"next"`
	Results *[]struct {
		Name      *string `json:"name"`
		PrimaryIP *struct {
			Address string `json:"address"`
		} `json:"primary_ip"`
	} `json:"results"`
}

// mostPage is how long a page may be, in bytes.
const mostPage = 32 << 20

// Machines reads all pages. The token goes to the host of the URL and nowhere else: a
// page that leads elsewhere, or round in a circle, is refused.
func (n *NetBox) Machines(ctx context.Context) ([]Named, error) {
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
	var list []Named
	seen := map[string]bool{}
	for at := first; at != nil; {
		if seen[at.String()] {
			return nil, fmt.Errorf("the pages of NetBox lead in a circle: %s comes again", at)
		}
		seen[at.String()] = true
		page, err := n.page(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		for i, d := range *page.Results {
			m := Named{}
			if d.Name != nil {
				m.Name, m.Host = *d.Name, *d.Name
			}
			if d.PrimaryIP != nil && d.PrimaryIP.Address != "" {
				m.Host, _, _ = strings.Cut(d.PrimaryIP.Address, "/")
			}
			if list, err = appendNamed(list, m, fmt.Sprintf("%s, device %d (%s)", at, i+1, m.Name)); err != nil {
				return nil, err
			}
		}
		if at, err = following(first, page.Next); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// following is the page after this one; nil: there is none.
func following(first *url.URL, next *string) (*url.URL, error) {
	if next == nil || *next == "" {
		return nil, nil
	}
	at, err := first.Parse(*next)
	if err != nil || at.Host != first.Host || at.Scheme != first.Scheme || at.User != nil {
		return nil, fmt.Errorf("a page of NetBox leads to %q, which is not on %s: it is not followed", *next, first.Host)
	}
	return at, nil
}

func (n *NetBox) page(ctx context.Context, at *url.URL) (*netboxPage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	if n.Token != "" {
		req.Header.Set("Authorization", "Token "+n.Token)
	}
	client := *n.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, hint.Wrap(fmt.Errorf("it answers %s", res.Status), "is the token in %s good, and the URL that of the list of devices?", NetBoxToken)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, mostPage+1))
	if err != nil {
		return nil, fmt.Errorf("the page ends early: %w", err)
	}
	if len(text) > mostPage {
		return nil, fmt.Errorf("the page is longer than %d bytes", mostPage)
	}
	page := &netboxPage{}
	if err := json.Unmarshal(text, page); err != nil {
		return nil, fmt.Errorf("what it answers is no page of devices: %w", err)
	}
	if page.Results == nil {
		return nil, errors.New("what it answers is no page of devices: it has no results")
	}
	return page, nil
}
