package language

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hashicorp/hcl/v2"
)

// What of store blocks is refused, and what is read of a good one before all else.
func TestStore(t *testing.T) {
	for _, c := range []struct{ kind, inside, want string }{
		{`"nats"`, `url = "tls://hub.example.net:4222,tls://hub2.example.net"`, ""},
		{`"directory"`, `path = "/srv/runs"`, ""},
		{`"etcd"`, `url = "tls://hub.example.net"`, "unknown store"},
		{`"nats"`, `url = "https://hub.example.net"`, "not a value for url"},
		{`"nats"`, `url = var.url`, "not a constant"},
		{`"nats"`, `creds = env("CREDS")`, "not a constant"},
		{`"nats"`, "url = \"tls://h\"\nlease = \"1s\"", "not a value for lease"},
		{`"nats"`, `replicas = 3`, "lacks its url"},
		{`"nats"`, "url = \"tls://h\"\nreplicas = 7", "not a value for replicas"},
		{`"directory"`, `url = "tls://h"`, "url does not go with store directory"},
		{`"directory"`, ``, "lacks its path"},
		{`"nats"`, "url = \"tls://h\"\ncolour = \"red\"", "colour"},
		{`"nats"`, "url = \"tls://h\"\n}\nstore \"directory\" {\npath = \"x\"", "duplicate store"},
		{``, `url = "tls://h"`, "lacks its kind"},
	} {
		_, diags := loadText("weft { name = \"pod\" }\nstore "+c.kind+" {\n"+c.inside+"\n}\n", Options{})
		var said []string
		for _, d := range diags {
			if d.Severity == hcl.DiagError {
				said = append(said, d.Summary)
			}
		}
		if c.want == "" && said != nil || c.want != "" && !strings.Contains(strings.Join(said, "; "), c.want) {
			t.Errorf("%s { %s }: %q, wanted %q", c.kind, c.inside, said, c.want)
		}
	}
	files := fstest.MapFS{"a.weft.hcl": {Data: []byte("weft { name = \"pod\" }\nstore \"nats\" {\n  creds = \"x.creds\"\n  lease = \"30s\"\n}\nbroken = exec(\"touch\", \"x\")\n")}}
	s, owner, diags := ReadStore(files)
	if s == nil || s.Creds != "x.creds" || s.Lease != 30*time.Second || owner != "pod" || diags.HasErrors() {
		t.Errorf("it is %+v of %q, %v", s, owner, diags)
	}
}
