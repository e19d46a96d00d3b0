//go:build unix

package simesxi

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// A host that is up runs a line; what it prints is on either stream.
func newHost(t *testing.T) func(line string) (string, int) {
	t.Helper()
	h, err := New(Spec{Name: "esx1", Root: t.TempDir(), NICs: []NIC{{PCI: "0000:41:00.0", RDMA: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return func(line string) (string, int) {
		if line == "reboot" {
			if err := h.Reboot(); err != nil {
				t.Fatal(err)
			}
			return "", 0
		}
		var out bytes.Buffer
		status := h.Exec(context.Background(), "root", line, nil, &out, &out)
		return out.String(), status
	}
}

// Each command names the document that has it.
func TestSources(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range commands() {
		if c.source == "" || c.run == nil || seen[c.words] {
			t.Errorf("%s: source %q, or it is there twice", c.words, c.source)
		}
		seen[c.words] = true
		for _, r := range c.needed {
			if c.options[string(r)] == "" {
				t.Errorf("%s needs -%c, which it does not have", c.words, r)
			}
		}
	}
}

// What no document has is refused, and so is all of the machine below.
func TestRefuses(t *testing.T) {
	run := newHost(t)
	for line, want := range map[string]string{
		"esxcli nvme fabrics disable -p RDMA -d vmrdma0": "Unknown command or namespace",
		"esxcli network nic list":                        "--formatter=xml only",
		"esxcli network vswitch standard add":            "Missing required parameter -v",
		"esxcli network vswitch standard add -v a --x 1": "Invalid option --x",
		"esxcli network vswitch standard set -v a -m 1":  "No such virtual switch",
		"esxcli nvme fabrics enable -p RDMA -d vmnic1":   "Unable to enable NVMe",
		"esxcli system settings advanced set -o /x -s y": "Unable to find option",
		"ip link":            "not found on this SIMULATED host",
		"/usr/bin/id":        "not found on this SIMULATED host",
		"cat /etc/passwd":    "can't open",
		"cat ../../etc/host": "can't open",
		"kill -9 1":          "not found on this SIMULATED host",
		"rm -rf /scratch":    "not one of what this SIMULATED host takes",
	} {
		if out, status := run(line); status == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %q, want %q", line, status, out, want)
		}
	}
}

// A hard reset loses what was not saved, and all in RAM; a module takes parameters then.
func TestReset(t *testing.T) {
	run := newHost(t)
	has := func(story, line, want string, yes bool) {
		t.Helper()
		if out, _ := run(line); strings.Contains(out, want) != yes {
			t.Errorf("%s: %s prints %q", story, line, out)
		}
	}
	list := "esxcli --formatter=xml network vswitch standard list"
	run("esxcli network vswitch standard add -v saved; /sbin/auto-backup.sh; esxcli network vswitch standard add -v lost; mkdir -p /scratch/a /tmp/b")
	run("setsid sh -c 'sleep \"$1\"' sleeper 3600 </dev/null >/dev/null 2>&1 &")
	has("before", list, ">lost<", true)
	run("reboot")
	has("after", list, ">saved<", true)
	has("after", list, ">lost<", false)
	has("on a disk", "[ -d /scratch/a ] && echo there", "there", true)
	has("in RAM", "[ -d /tmp/b ] && echo there", "there", false)
	has("processes", "ps -c", "sleeper", false)
}
