package nats

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
)

// classifyDenial understands what this release of the server and of the client say.
func TestClassifyDenial(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, Users: []*server.User{{Username: "a", Password: "b",
		Permissions: &server.Permissions{Publish: &server.SubjectPermission{Allow: []string{"x"}}, Subscribe: &server.SubjectPermission{Allow: []string{"x"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	said := make(chan error, 10)
	c, err := client.Connect("nats://"+s.Addr().String(), client.UserInfo("a", "b"), client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) { said <- err }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Publish("y.z", nil); err != nil {
		t.Fatal(err)
	}
	if err := <-said; !errors.Is(err, client.ErrPermissionViolation) {
		t.Error(err)
	} else if publish, subject, known := classifyDenial(err); !publish || subject != "y.z" || !known {
		t.Errorf("%v: publish %t, %q, known %t", err, publish, subject, known)
	}
	if _, err := c.SubscribeSync("y.*"); err != nil {
		t.Fatal(err)
	}
	if err := <-said; !errors.Is(err, client.ErrPermissionViolation) {
		t.Error(err)
	} else if publish, subject, known := classifyDenial(err); publish || subject != "y.*" || !known {
		t.Errorf("%v: publish %t, %q, known %t", err, publish, subject, known)
	}
	if _, _, known := classifyDenial(errors.New("another error")); known {
		t.Error("another error is a denial")
	}
}
