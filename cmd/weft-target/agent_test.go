package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"testing"
)

func TestNotify(t *testing.T) {
	t.Chdir(t.TempDir()) // paths of sockets must be short
	if err := notify("", "READY=1"); err != nil {
		t.Errorf("nobody asked: %v", err)
	}
	if err := notify("none.sock", "READY=1"); err == nil {
		t.Error("a service manager that is not there was told")
	}
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "notify.sock", Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := notify("notify.sock", "READY=1"); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	n, err := l.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q %v", b[:n], err)
	}
}

func TestOwnSum(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	want := sha256.Sum256(b)
	if got, err := ownSum(); err != nil || got != hex.EncodeToString(want[:]) {
		t.Errorf("%s %v", got, err)
	}
}

// A target that ends while it is asked is no target without a status.
func TestCutStatus(t *testing.T) {
	t.Chdir(t.TempDir()) // paths of sockets must be short
	const socket = "status.sock"
	for _, answer := range []string{"", "{\n  \"version\": \"1\","} {
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		go func() {
			conn, err := l.Accept()
			if err == nil {
				_, err = conn.Write([]byte(answer))
				err = errors.Join(err, conn.Close())
			}
			answered <- err
		}()
		if text, err := askStatus(socket); err == nil {
			t.Errorf("%q is a status", text)
		}
		if err := errors.Join(<-answered, l.Close()); err != nil {
			t.Error(err)
		}
	}
}
