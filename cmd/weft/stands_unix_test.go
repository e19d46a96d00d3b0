//go:build unix

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/lab"
	"weft/internal/labctl"
	"weft/modules/vcenter"
)

// labMain is weft-lab without the simulator of vCenter, whose library takes longer to start than
// the rest of it.
func labMain() int { return lab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, nil) }

// stands writes down all that the devices of a lab hold: each file of the servers by
// the sum of what is in it, drives by when they were written, what switches and hosts of ESXi
// and Windows have set, saved and scheduled, and what carries marks in vCenters.
func stands(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: stands DIR FILE")
	}
	var all strings.Builder
	servers := filepath.Join(ts.MkAbs(args[0]), ".weft", "lab", "servers")
	ts.Check(filepath.WalkDir(servers, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		is, err := d.Info()
		if err != nil {
			return err
		}
		if is.Size() > 1<<20 { // a drive
			fmt.Fprintf(&all, "%s %d %s\n", strings.TrimPrefix(path, servers), is.Size(), is.ModTime())
			return nil
		}
		content, err := os.ReadFile(path)
		fmt.Fprintf(&all, "%s %x\n", strings.TrimPrefix(path, servers), sha256.Sum256(content))
		return err
	}))
	rest, err := labctl.Stands(ts.MkAbs(args[0]))
	ts.Check(err)
	if all.Len() == 0 || !strings.Contains(rest, "\nrunning\n") {
		ts.Fatalf("%s has no lab with servers and switches", args[0])
	}
	for line := range strings.Lines(rest) {
		if !strings.Contains(line, "!Time:") { // of this look
			all.WriteString(line)
		}
	}
	up, err := labctl.Running(ts.MkAbs(args[0]))
	ts.Check(err)
	for _, d := range up.Devices {
		if d.Kind != "vcenter" {
			continue
		}
		at, err := netip.ParseAddrPort(d.Address)
		ts.Check(err)
		l := vcenter.Login{Host: at.Addr().String(), Port: int(at.Port()), SHA256: d.SHA256, User: d.User, Password: func() (string, error) { return ts.Getenv("WEFT_SWITCH_PASSWORD"), nil }} // that of the example
		has, err := l.Inventory(context.Background())
		ts.Check(err)
		fmt.Fprintf(&all, "= %s\n%+v\n", d.Name, *has)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(all.String()), 0o600))
}
