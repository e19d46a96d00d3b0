package page

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections is how many browsers may be connected at once; others wait.
const connections = 128

// server bounds what a stranger can make the page hold.
func server(ctx context.Context, h http.Handler, config *tls.Config) *http.Server {
	return &http.Server{
		Handler: h, TLSConfig: config,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ErrorLog:       log.New(io.Discard, "", 0), // strangers would fill it
	}
}

// Serve answers until the context ends, which is no error. With a config it speaks TLS.
func Serve(ctx context.Context, ln net.Listener, config *tls.Config, h http.Handler) error {
	s := server(ctx, h, config)
	ln = &narrow{Listener: ln, free: make(chan struct{}, connections), closed: make(chan struct{})}
	done := make(chan error, 1)
	go func() {
		if config != nil {
			done <- s.ServeTLS(ln, "", "")
		} else {
			done <- s.Serve(ln)
		}
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ending); err != nil {
		_ = s.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A narrow listener has so many connections at once.
type narrow struct {
	net.Listener
	free   chan struct{}
	once   sync.Once
	closed chan struct{}
}

func (l *narrow) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &counted{Conn: c, leave: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *narrow) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type counted struct {
	net.Conn
	leave func()
}

func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
