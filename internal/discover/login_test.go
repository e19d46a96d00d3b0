package discover

import (
	"strings"
	"testing"
)

// Servers whose user is not everybody's have a credential of that user: the one that ledgers
// name where there is one. Who is as all are has none.
func TestAccredit(t *testing.T) {
	l := Login{User: "weft", Users: map[string]string{"esxi": "root", "windows": "weft"}, Become: "sudo", SwitchUser: "netops"}
	for _, c := range []struct {
		named  Named
		system string
		want   string
	}{{Named{}, "linux", ""}, {Named{}, "esxi", "root"}, {Named{}, "windows", ""}, {Named{User: "adm"}, "esxi", "adm"}, {Named{User: "weft"}, "esxi", ""}} {
		if got := l.who(c.named, c.system); got != c.want {
			t.Errorf("%v of %s: %q, want %q", c.named, c.system, got, c.want)
		}
	}
	st1, cn1, cn2 := machine("st1", 1), machine("cn1", 2), machine("cn2", 3)
	cn1.User, cn2.User = "root", "root"
	o := judged(t, nil)
	o.Login = l
	r, err := (&Site{Servers: []*Server{st1, cn1, cn2}}).Discover(t.Context(), o)
	if err != nil || r.Failed != nil {
		t.Fatal(r.Failed, err)
	}
	if main := string(r.Files[mainFile]); strings.Count(main, "credential \"root\" {\n  user = \"root\"\n}") != 1 {
		t.Error(main)
	}
	if hosts := string(r.Files[hostsFile]); strings.Count(hosts, "credential.root") != 1 || strings.Count(hosts, "server \"") != 2 { // as they differ, they are two blocks
		t.Error(hosts)
	}
}
