package main

import (
	"crypto/sha256"
	"encoding/hex"
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
