package ssh

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// Whoever may write in the folder of a file, and puts a link in the place of
// what is uploaded, has root change the mode of nothing else.
func TestUploadFollowsNoSwappedLink(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc/self/fd")
	}
	chmod, err := exec.LookPath("chmod")
	if err != nil {
		t.Skip(err)
	}
	dir, tools := t.TempDir(), t.TempDir()
	victim := filepath.Join(t.TempDir(), "shadow")
	if err := os.WriteFile(victim, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	swap := fmt.Sprintf("#!/bin/sh\nfor t in %s/.weft-*; do rm -f \"$t\"; ln -s %s \"$t\"; done\nexec %s \"$@\"\n", dir, victim, chmod)
	write(t, filepath.Join(tools, "chmod"), swap)
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, func(s *testServer) { s.env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")} })
	f := newFiles(t)
	f.know(s.address, key)
	f.host("server", s.address)
	c := dial(t, f.dialer(), Target{Name: "server"})
	err = c.WriteFile(context.Background(), filepath.Join(dir, "motd"), strings.NewReader("hello"), 0o666)
	info, serr := os.Stat(victim)
	if serr != nil {
		t.Fatal(serr)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the mode of another file is %o", info.Mode().Perm())
	}
	if err == nil {
		t.Error("an upload that was swapped was put in place")
	}
}
