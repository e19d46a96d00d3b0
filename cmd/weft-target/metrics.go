package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"weft/internal/agent"
)

// A metricsServer answers Prometheus; nil answers nobody.
type metricsServer struct {
	l      net.Listener
	server *http.Server
	wg     sync.WaitGroup
}

// metricsTimeout is how long one question, and its answer, may take.
const metricsTimeout = 10 * time.Second

// serveMetrics listens on an address of this machine, which is mapped like
// those of the fabric where there is a map for it. No address is no server.
func serveMetrics(places agent.Places, address string, write func(io.Writer) error, log *slog.Logger) (*metricsServer, error) {
	if address == "" {
		return nil, nil
	}
	real, err := places.Address(address)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	l, err := net.Listen("tcp", real)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		if err := write(w); err != nil {
			log.Warn("answering a question for metrics", "error", err)
		}
	})
	m := &metricsServer{l: l, server: &http.Server{
		Handler: mux, ReadTimeout: metricsTimeout, WriteTimeout: metricsTimeout, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}}
	m.wg.Go(func() {
		if err := m.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("metrics", "error", err)
		}
	})
	log.Info("metrics", "address", address, "bound", l.Addr().String())
	return m, nil
}

// address is where it really listens.
func (m *metricsServer) address() string {
	if m == nil {
		return ""
	}
	return m.l.Addr().String()
}

// Close ends it and waits for answers under way.
func (m *metricsServer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), metricsTimeout)
	defer cancel()
	err := m.server.Shutdown(ctx)
	m.wg.Wait()
	return err
}
