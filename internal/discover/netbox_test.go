package discover

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
		"a page of HTML": {map[string]string{"/d": `<html>`}, "error: no page of devices"},
		"refused":        {nil, "error: it answers 403"},
	} {
		t.Run(name, func(t *testing.T) {
			var own string
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				text, ok := c.pages[r.URL.RequestURI()]
				if !ok || r.Header.Get("Authorization") != "Token secret" {
					w.WriteHeader(http.StatusForbidden)
					return
				}
				fmt.Fprint(w, strings.ReplaceAll(text, "HOST", own))
			}))
			defer server.Close()
			own = server.URL
			list, err := (&NetBox{URL: own + "/d", Token: "secret", Client: server.Client()}).Machines(t.Context())
			var got []string
			for _, m := range list {
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
		if _, err := (&NetBox{URL: bad, Token: "secret", Client: http.DefaultClient}).Machines(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
