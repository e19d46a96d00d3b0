package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"weft/internal/store"
	"weft/internal/store/nats"
)

// Secrets are for their owner only, and a directory is used once.
func TestFound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub")
	p := found(t, Founding{Dir: dir, Hosts: []string{"hub.example.net", "10.0.0.1:4223", "[::1]:1"}})
	if want := "tls://hub.example.net:4222 tls://10.0.0.1:4223 tls://[::1]:1"; strings.Join(p.about.URLs, " ") != want {
		t.Errorf("it is at %s, and should be at %s", p.about.URLs, want)
	}
	credential(t, reach(t, p), alice)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasPrefix(path, filepath.Join(dir, "jetstream", "$")) {
			return err
		}
		info, err := d.Info()
		if err == nil && !d.IsDir() && !strings.Contains(path, "jetstream") && info.Mode().Perm() != 0o600 {
			t.Errorf("%s may be read by others: %s", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v %v", info.Mode(), err)
	}
	for name, f := range map[string]Founding{
		"is not empty":        {Dir: dir},
		"is not this machine": {Dir: filepath.Join(t.TempDir(), "p"), Plain: true, Hosts: []string{"hub.example.net"}},
		"no name of a server": {Dir: t.TempDir(), Name: "Hub 1"},
		"is no host":          {Dir: t.TempDir(), Hosts: []string{"a b"}},
	} {
		if _, err := Found(f); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no directory of a hub") {
		t.Error(err)
	}
}

// What a hub without TLS, or with half of what it needs, is not served with.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	plain := found(t, Founding{Plain: true})
	secure := found(t, Founding{})
	for _, c := range []struct {
		p    *Place
		how  Serving
		want string
	}{
		{plain, Serving{Listen: "0.0.0.0:0"}, "is not loopback"},
		{plain, Serving{Listen: ":0"}, "is not loopback"},
		{plain, Serving{Cert: "x", Key: "y"}, "without TLS"},
		{secure, Serving{Listen: "x"}, "no address"},
		{secure, Serving{Cert: "x"}, "together"},
		{secure, Serving{Cert: "no such", Key: "file"}, "read the certificate"},
		{secure, Serving{Peers: []string{"a:1"}}, "three and more"},
		{secure, Serving{Cluster: "127.0.0.1:0", Peers: []string{"a:1"}}, "three and more"},
		{secure, Serving{Cluster: "127.0.0.1:0", Peers: []string{"a:1", "b"}}, "no other server"},
	} {
		if err := c.p.Serve(t.Context(), c.how); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, and not %s", c.how, err, c.want)
		}
	}
	s := serve(t, secure, Serving{})
	if err := secure.Serve(t.Context(), Serving{Listen: "127.0.0.1:0"}); !errors.As(err, new(*BusyError)) {
		t.Errorf("a second one: %v", err)
	}
	at := strings.TrimPrefix(s.url, "tls://")
	if err := found(t, Founding{}).Serve(t.Context(), Serving{Listen: at}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a port that is taken: %v", err)
	}
}

// Each has what is theirs, and nobody else is let in.
func TestMembers(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{})
	s := serve(t, p, Serving{})
	admin := reach(t, p)
	if !admin.Served() {
		t.Fatal("it is served by another")
	}
	a := mustOpen(t, s.url, credential(t, admin, alice))
	if _, err := a.Create(t.Context(), "run/r1/plan", []byte("plan")); err != nil {
		t.Fatal(err)
	}
	d, err := a.PutBlob(t.Context(), strings.NewReader("a blob"))
	if err != nil {
		t.Fatal(err)
	}
	if err := a.DeleteBlob(t.Context(), d); err != nil {
		t.Error(err)
	}
	if _, _, err := a.List(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if _, err := a.Leases(t.Context(), ""); err != nil {
		t.Error(err)
	}
	if _, err := admin.Add(t.Context(), alice, func([]byte) error { return nil }, func() {}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second one of the same name: %v", err)
	}

	t.Run("another owner", func(t *testing.T) {
		c := credential(t, admin, bob)
		mustOpen(t, s.url, c)
		c.Owner = "pilot"
		denied(t, c, s.url)
		if _, err := open(t, s.url, c); !errors.As(err, new(*store.DeniedError)) {
			t.Errorf("bob opens the store of another owner: %v", err)
		}
	})
	t.Run("worker", func(t *testing.T) { worker(t, admin, s.url, a) })
	t.Run("stranger", func(t *testing.T) {
		c := credential(t, reach(t, found(t, Founding{})), alice)
		if _, err := open(t, s.url, c); err == nil || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("another hub's: %v", err)
		}
		ca, err := os.ReadFile(p.file("tls", "ca.crt"))
		if err != nil {
			t.Fatal(err)
		}
		c.CA = ca
		if _, err := open(t, s.url, c); err == nil || !strings.Contains(err.Error(), "uthorization") {
			t.Errorf("a key that nobody knows: %v", err)
		}
		if _, err := client.Connect(s.url, client.RootCAs(p.file("tls", "ca.crt"))); err == nil {
			t.Error("nobody is let in")
		}
		plain := strings.Replace(s.url, "tls://", "nats://", 1)
		if _, err := client.Connect(plain, client.RootCAs(os.DevNull)); err == nil {
			t.Error("it speaks without TLS")
		}
	})
	t.Run("revoked", func(t *testing.T) {
		effects, err := admin.Revoke(t.Context(), alice.Name)
		if err != nil || len(effects) != 1 || !effects[0].Done {
			t.Fatalf("%v: %v", effects, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := a.Get(ctx, "run/r1/plan"); !errors.As(err, new(*store.UnavailableError)) {
			t.Errorf("who had it reads on: %v", err)
		}
		if _, err := admin.Revoke(t.Context(), alice.Name); err == nil || !strings.Contains(err.Error(), "no credential has") {
			t.Errorf("again: %v", err)
		}
	})
	if list, err := admin.Members(t.Context()); err != nil || len(list) != 2 || list[0].Name != "bob" {
		t.Errorf("%v: %v", list, err)
	}
}

// worker changes what is of its site, and reads the rest.
func worker(t *testing.T, admin *Session, url string, a store.Store) {
	w := mustOpen(t, url, credential(t, admin, dc1))
	if e, err := w.Get(t.Context(), "run/r1/plan"); err != nil || string(e.Value) != "plan" {
		t.Errorf("it reads %v: %v", e, err)
	}
	for _, key := range []string{"site/dc1/x", "record/r1/site/dc1/phase/p1"} {
		if _, err := w.Create(t.Context(), key, nil); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := w.Lease(t.Context(), "site/dc1/device/fdo1", "w", time.Hour); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"site/dc2/x", "run/r1/plan", "record/r1/site/dc2/x", "site/dc1"} {
		if _, err := w.Create(t.Context(), key, nil); !errors.As(err, new(*store.DeniedError)) {
			t.Errorf("it writes %s: %v", key, err)
		}
	}
	if e, err := a.Get(t.Context(), "run/r1/plan"); err != nil || string(e.Value) != "plan" {
		t.Errorf("%v: %v", e, err)
	}
}

// denied: what NATS says to a credential that uses what is not its own.
func denied(t *testing.T, c *nats.Credential, url string) {
	t.Helper()
	opts, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	violated := make(chan error, 10)
	conn, err := client.Connect(url, append(opts, client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { violated <- err }))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, subject := range []string{"$KV.weft-pilot.run.r1.plan", "$KV.weft-_hub.credential.x", "$JS.API.STREAM.DELETE.KV_weft-other",
		"$JS.API.STREAM.UPDATE.KV_weft-other-lease", "$JS.API.STREAM.PURGE.KV_weft-other", "$JS.API.STREAM.CREATE.x", "$SYS.REQ.SERVER.PING", "_INBOX_x.y"} {
		if err := conn.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		if err := <-violated; !errors.Is(err, client.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	for _, subject := range []string{">", "_INBOX.>", "$KV.>"} {
		if _, err := conn.SubscribeSync(subject); err != nil {
			t.Fatal(err)
		}
		if err := <-violated; !errors.Is(err, client.ErrPermissionViolation) {
			t.Errorf("listen at %s: %v", subject, err)
		}
	}
}

// What a hub knew it knows after a restart; and what was done while it did not run.
func TestRestart(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	before := reach(t, p)
	if before.Served() {
		t.Fatal("nobody serves it")
	}
	c := credential(t, before, alice)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	s := serve(t, p, Serving{Listen: apart() + ":0"})
	a := mustOpen(t, s.url, c)
	at, err := a.Create(t.Context(), "run/r1", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Status(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Status(t.Context()); !errors.As(err, new(*StoppedError)) {
		t.Errorf("the status of one that is stopped: %v", err)
	}
	// The former port, where clients look for it.
	port := strings.TrimPrefix(s.url, "nats://")
	serve(t, p, Serving{Listen: port})
	if e, err := a.Get(t.Context(), "run/r1"); err != nil || e.Revision != at {
		t.Errorf("%v: %v", e, err)
	}
}

// Credentials name the port at which the hub listens, unless one was given with the host.
func TestCredentialPort(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true, Hosts: []string{"127.0.0.1", "localhost:4223"}})
	h := serve(t, p, Serving{})
	want := []string{h.url, "nats://localhost:4223"}
	for _, m := range []Member{alice, bob} {
		q, err := Open(p.dir) // as another process, and after a stop
		if err != nil {
			t.Fatal(err)
		}
		if c := credential(t, reach(t, q), m); !slices.Equal(c.URLs, want) {
			t.Errorf("it names %s, and the hub is at %s", c.URLs, want)
		}
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// A backup is a store of its own, and a hub that it is imported into gives higher tokens.
func TestBackup(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	s := serve(t, p, Serving{})
	admin := reach(t, p)
	c := credential(t, admin, alice)
	a := mustOpen(t, s.url, c)
	for i := range 20 {
		if _, err := a.Create(t.Context(), fmt.Sprintf("run/r%d", i), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := a.PutBlob(t.Context(), strings.NewReader(strings.Repeat("plan", 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	old, err := a.Lease(t.Context(), "device/fdo1", "alice", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "backup")
	list, err := admin.Backup(t.Context(), to)
	if err != nil || len(list) != 2 || list[0] != (Copied{Owner: "pilot", Documents: 20, Blobs: 1}) {
		t.Fatalf("%+v: %v", list, err)
	}
	if _, err := admin.Backup(t.Context(), to); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("again: %v", err)
	}
	if _, err := admin.Import(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no backup") {
		t.Errorf("of nothing: %v", err)
	}

	// Another hub, which knows whom the first one let in.
	q := found(t, Founding{Plain: true})
	r := serve(t, q, Serving{})
	fresh := reach(t, q)
	for range 2 { // to be killed in between does no harm
		if list, err = fresh.Import(t.Context(), to); err != nil || len(list) != 2 {
			t.Fatalf("%+v: %v", list, err)
		}
	}
	b := mustOpen(t, r.url, c)
	if e, err := b.Get(t.Context(), "run/r7"); err != nil || string(e.Value) != "\x07" {
		t.Errorf("%v: %v", e, err)
	}
	if blobs, err := b.Blobs(t.Context()); err != nil || len(blobs) != 1 || blobs[0] != d {
		t.Errorf("%v: %v", blobs, err)
	}
	l, err := b.Lease(t.Context(), "device/fdo1", "bob", time.Hour)
	if err != nil || l.Token().Compare(old.Token()) <= 0 || l.Token().Epoch <= old.Token().Epoch {
		t.Errorf("token %v after %v: %v", l, old.Token(), err)
	}
	e, err := b.Get(t.Context(), "run/r7")
	if err == nil {
		_, err = b.Update(t.Context(), e.Key, []byte("more"), e.Revision)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fresh.Import(t.Context(), to); err == nil || !strings.Contains(err.Error(), "run/r7 is there already, and differs") {
		t.Errorf("over what has changed: %v", err)
	}
}
