package discover

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// Cables are those of the interfaces of the devices that are listed; where they cannot be
// read the machines are, and why is kept.
func TestNetBoxCables(t *testing.T) {
	device := `{"results":[{"id":7,"name":"st1"},{"id":9,"name":"cn1"}]}`
	ports := `{"results":[{"name":"ens1","device":{"name":"st1"},"connected_endpoints":[{"name":"Eth1/1","device":{"name":"leaf-a"}}]},
		{"name":"ens2","device":{"name":"st1"},"connected_endpoints":null},{"name":"ens1","device":{"name":"cn1"},"connected_endpoints":[{"name":"a"},{"name":"b"}]},
		{"name":"ens2","device":{"name":"cn1"},"connected_endpoints":[{"name":"7","device":null}],"connected_endpoints_reachable":true},
		{"name":"ens3","device":{"name":"cn1"},"connected_endpoints":[{"name":"8","device":{"name":"leaf-a"}}],"connected_endpoints_reachable":false},
		{"name":"ens4","device":{"name":"cn1"},"connected_endpoints":null,"connected_endpoints_reachable":false}]}`
	for name, c := range map[string]struct{ path, device, ports, want, err string }{
		"cables":       {"/api/dcim/devices/", device, ports, "[{st1 ens1 leaf-a Eth1/1} {st1 ens2  } {cn1 ens2  7} {cn1 ens4  }]", ""},
		"no slash":     {"/api/dcim/devices", device, ports, "[{st1 ens1 leaf-a Eth1/1} {st1 ens2  } {cn1 ens2  7} {cn1 ens4  }]", ""},
		"another list": {"/api/plugins/mine/", device, ports, "[]", "does not end with /api/dcim/devices/"},
		"no id":        {"/api/dcim/devices/", `{"results":[{"name":"st1"}]}`, ports, "[]", "have no id"},
		"a lie":        {"/api/dcim/devices/", device, `{"results":[{"name":{}}]}`, "[]", "not a page of a list"},
		"refused":      {"/api/dcim/devices/", device, "", "[]", "403"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path == c.path && r.URL.RawQuery == "tag=x":
					fmt.Fprint(w, c.device)
				case r.URL.Path == "/api/dcim/interfaces/" && r.URL.RawQuery == "device_id=7&device_id=9&limit=500" && c.ports != "":
					fmt.Fprint(w, c.ports)
				default:
					w.WriteHeader(http.StatusForbidden)
				}
			}))
			defer server.Close()
			l, err := (&NetBox{URL: server.URL + c.path + "?tag=x", Token: "secret", Client: server.Client()}).Read(t.Context())
			if err != nil || len(l.Machines) == 0 {
				t.Fatalf("%+v %v", l, err)
			}
			if got := fmt.Sprint(l.Cables); got != c.want || (l.Unread == nil) != (c.err == "") || l.Unread != nil && !strings.Contains(l.Unread.Error(), c.err) {
				t.Errorf("%s, want %s; %v", got, c.want, l.Unread)
			}
		})
	}
}

// A list that lies, ends or leads elsewhere gives no machine.
func TestNetBox(t *testing.T) {
	for name, c := range map[string]struct {
		pages map[string]string // by what is asked, with HOST for the server's own address
		want  string            // "host=name …", or "error: words"
	}{
		"two pages":      {map[string]string{"/d": `{"next":"HOST/d?offset=1","results":[{"name":"st1","primary_ip":{"address":"192.0.2.1/24"}}]}`, "/d?offset=1": `{"next":null,"results":[{"name":"cn1","primary_ip":null,"more":[]}]}`}, "192.0.2.1=st1 cn1=cn1"},
		"elsewhere":      {map[string]string{"/d": `{"next":"https://other.example.net/d","results":[]}`}, "error: which is not on"},
		"a circle":       {map[string]string{"/d": `{"next":"HOST/d","results":[]}`}, "error: lead in a circle"},
		"no name":        {map[string]string{"/d": `{"results":[{"name":null}]}`}, `error: "" is no host`},
		"an option":      {map[string]string{"/d": `{"results":[{"name":"-oX"}]}`}, "error: is no host"},
		"no results":     {map[string]string{"/d": `{"detail":"x"}`}, "error: it has no results"},
		"a page of HTML": {map[string]string{"/d": `<html>`}, "error: not a page of a list"},
		"refused":        {nil, "error: it answers 403"},
		"all of them":    {map[string]string{"/d": `{"count":2,"next":"HOST/d?offset=1","results":[{"name":"st1"}]}`, "/d?offset=1": `{"count":2,"results":[{"name":"cn1"}]}`}, "st1=st1 cn1=cn1"},
		"ends early":     {map[string]string{"/d": `{"count":3,"next":"HOST/d?offset=1","results":[{"name":"st1"}]}`, "/d?offset=1": `{"count":3,"results":[{"name":"cn1"}]}`}, "error: ends after 2, and says that it has 3"},
		"goes on empty":  {map[string]string{"/d": `{"next":"HOST/d?offset=1","results":[{"name":"st1"}]}`, "/d?offset=1": `{"next":"HOST/d?offset=2","results":[]}`}, "error: it would never end"},
		"cut short":      {map[string]string{"/d": `{"results":[{"name":"st1"}`}, "error: not a page of a list"},
		"a list only":    {map[string]string{"/d": `[{"name":"st1"}]`}, "error: not a page of a list"},
		"by http":        {map[string]string{"/d": `{"next":"PLAIN/d?offset=1","results":[{"name":"st1"}]}`, "/d?offset=1": `{"results":[]}`}, "st1=st1"},
		"a redirection":  {map[string]string{"/d": "302 /d/"}, "error: and is not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			var own string
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, ok := c.pages[r.URL.RequestURI()]
				if !ok || r.Header.Get("Authorization") != "Token secret" {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				if to, is := strings.CutPrefix(text, "302 "); is {
					http.Redirect(w, r, to, http.StatusFound)
				}
				fmt.Fprint(w, strings.NewReplacer("HOST", own, "PLAIN", "http"+strings.TrimPrefix(own, "https")).Replace(text))
			}))
			defer server.Close()
			own = server.URL
			var machines []Named
			list, err := (&NetBox{URL: own + "/d", Token: "secret", Client: server.Client()}).Read(t.Context())
			var got []string
			if err == nil {
				machines = list.Machines
			}
			for _, m := range machines {
				got = append(got, m.Host+"="+m.Name)
			}
			if words, fails := strings.CutPrefix(c.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v, want %s", err, words)
				}
			} else if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
	for _, bad := range []string{"", "file:///etc/passwd", "http://netbox.example.net/d", "https://u:p@netbox.example.net/d"} {
		if _, err := (&NetBox{URL: bad, Token: "secret", Client: http.DefaultClient}).Read(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A list has an end, and so has a page: what goes on is refused, and not kept. Tokens of
// both versions are shown as their kind is.
func TestNetBoxEndless(t *testing.T) {
	const v2 = "nbt_key.secret"
	page := `"results":[` + strings.Repeat("{},", 9999) + "{}]}"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+v2:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/page":
			for part := bytes.Repeat([]byte(" "), 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		default:
			n, _ := strconv.Atoi(r.URL.Query().Get("offset")) // none: the first
			fmt.Fprintf(w, `{"count":1,"next":"/list?offset=%d",%s`, n+1, page)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/page": "is longer than", "/list": "more than 200000 in a list"} {
		_, err := (&NetBox{URL: server.URL + path, Token: v2, Client: server.Client()}).Read(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), v2) {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
