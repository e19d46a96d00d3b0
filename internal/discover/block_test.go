package discover

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

func server(key, host, pci string) instance {
	b := newInstance(address{kind: "server", label: "node", key: key, keyed: true})
	b.set("host", str(host))
	in := b.add("rnic", "p0")
	in.set("match", append(append(raw("{ pci = "), str(pci).named("pci")...), raw(" }")...))
	return b
}

func printed(t *testing.T, list ...instance) string {
	t.Helper()
	var w printer
	if err := w.all(list); err != nil {
		t.Fatal(err)
	}
	return string(hclwrite.Format([]byte(strings.TrimSpace(w.out.String()) + "\n")))
}

// What instances have in common stands once, what follows from the key is said so, and
// only the rest stands in for_each.
func TestInstances(t *testing.T) {
	pool := func(key, drive string) instance {
		b := newInstance(address{kind: "pool", label: "flash", key: key, keyed: true})
		b.set("server", to(address{kind: "server", label: "node", key: key, keyed: true}, ""))
		b.set("drives", strs([]string{drive}))
		return b
	}
	counted := func(key, host string) instance {
		b := newInstance(address{kind: "server", label: "node", key: key, keyed: true, number: true})
		b.set("host", str(host))
		return b
	}
	for name, c := range map[string]struct {
		list []instance
		want string
	}{
		"the key says all": {[]instance{server("st1", "st1.example.net", "0000:41:00.0"), server("st2", "st2.example.net", "0000:41:00.0")}, `
server "node" {
  for_each = toset(["st1", "st2"])
  host     = "${each.key}.example.net"

  rnic "p0" {
    match = { pci = "0000:41:00.0" }
  }
}
`},
		"two values": {[]instance{server("st1", "192.0.2.1", "0000:41:00.0"), server("rack 2/st2", "192.0.2.2", "0000:81:00.0")}, `
server "node" {
  for_each = {
    st1          = { host = "192.0.2.1", p0_pci = "0000:41:00.0" }
    "rack 2/st2" = { host = "192.0.2.2", p0_pci = "0000:81:00.0" }
  }
  host = each.value.host

  rnic "p0" {
    match = { pci = each.value.p0_pci }
  }
}
`},
		"one value": {[]instance{pool("st1", "nvme-1"), pool("st2", "nvme-2")}, `
pool "flash" {
  for_each = {
    st1 = "nvme-1"
    st2 = "nvme-2"
  }
  server = server.node[each.key]
  drives = [each.value]
}
`},
		"what would be computed is none": {[]instance{server("st1", "a$st1.example.net", "${x}"), server("st2", "a$st2.example.net", "%{if}")}, `
server "node" {
  for_each = {
    st1 = { host = "a$st1.example.net", p0_pci = "$${x}" }
    st2 = { host = "a$st2.example.net", p0_pci = "%%{if}" }
  }
  host = each.value.host

  rnic "p0" {
    match = { pci = each.value.p0_pci }
  }
}
`},
		"count": {[]instance{counted("0", "192.0.2.9"), counted("1", "192.0.2.7")}, `
locals {
  server_node = [
    "192.0.2.9",
    "192.0.2.7",
  ]
}

server "node" {
  count = 2
  host  = local.server_node[count.index]
}
`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := printed(t, c.list...); got != c.want[1:] {
				t.Errorf("got\n%s\nwant%s", got, c.want)
			}
		})
	}
	var w printer
	if err := w.all([]instance{counted("0", "a"), counted("2", "b")}); err == nil || !strings.Contains(err.Error(), "number 1 of them was not read") {
		t.Errorf("a gap in count: %v", err)
	}
	other := newInstance(address{kind: "server", label: "node", key: "x", keyed: true})
	if err := w.all([]instance{server("st1", "a", "b"), other, server("st2", "a", "b")}); err != nil || len(w.unlike) != 1 || w.unlike[0].key != "x" || strings.Contains(w.out.String(), "x = {") {
		t.Errorf("instances that differ: %v, without %v:\n%s", err, w.unlike, &w.out)
	}
	if got := oneLine("a\nb\u2028\x1b[5m"); strings.ContainsAny(got, "\n\u2028\x1b") {
		t.Errorf("a comment %q", got)
	}
}

func TestParseAddress(t *testing.T) {
	for text, ok := range map[string]bool{
		`server.node["st1"]`: true, `server.node[0]`: true, `switch.leaf-a`: true, `server.node["a b"]`: true, `server.node["${x} %{if} é"]`: true,
		`module.x.server.node["st1"]`: false, `server.node["a\"b"]`: false, `server.node[`: false, ``: false, `pool.x`: true, `pool`: false,
	} {
		a, got := parseAddress(text)
		if got != ok || ok && a.String() != text {
			t.Errorf("%s: %v %v", text, a, got)
		}
	}
}
