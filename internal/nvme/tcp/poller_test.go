package tcp

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tls13"
)

// TestOpensInTurn: what comes by TLS is not opened before the connection has its turn.
func TestOpensInTurn(t *testing.T) {
	key := tls13.Key{Identity: "NVMe0R01 h s", Secret: bytes.Repeat([]byte{7}, 32), Suite: tls13.AES128SHA256}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan *tls13.Conn, 1)
	go func() {
		s, _ := tls13.Server(b, func(string) (tls13.Key, bool) { return key, true })
		served <- s
	}()
	client, err := tls13.Client(context.Background(), a, key)
	server := <-served
	if err != nil || server == nil {
		t.Fatal(err)
	}
	defer client.Close()
	defer server.Close()
	turns := fabric.NewTurns(1, nil)
	other, mine := turns.Open("10.0.0.1:1"), turns.Open("10.0.0.1:2")
	other.Take()
	got := make(chan string, 1)
	go func() {
		b := make([]byte, 9)
		n, err := newPoller(server).wait(b, mine)
		if err != nil {
			t.Error(err)
		}
		mine.Leave()
		got <- string(b[:n])
	}()
	_, _ = client.Write([]byte("x"))
	for !other.Wanted() {
		time.Sleep(time.Millisecond)
	}
	one := make([]byte, 1)
	if n, err := server.ReadOne(one); n != 1 || err != nil { // it would have been taken
		t.Fatalf("%d bytes, %v: it was opened without a turn", n, err)
	}
	_, _ = client.Write([]byte("y"))
	if err := server.Await(); err != nil {
		t.Fatal(err)
	}
	other.Leave()
	if s := <-got; s != "y" {
		t.Errorf("%q", s)
	}
}
