package main

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"weft/internal/agent"
	"weft/internal/latency"
)

// One end answers once, the other one measures as many messages as it was told.
func TestMessages(t *testing.T) {
	reader, writer := io.Pipe()
	var ends sync.WaitGroup
	ends.Go(func() {
		var errs strings.Builder
		if status := run([]string{"probe", "--once", "--listen", "127.0.0.1:0", "--connect-timeout", "1m", "--tos", "104"}, writer, &errs); status != 0 {
			t.Errorf("who answers: status %d, %s", status, &errs)
		}
		_ = writer.Close() // a pipe's has no errors
	})
	defer ends.Wait()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimPrefix(strings.TrimSpace(line), "listening on ")
	var out, errs strings.Builder
	status := run([]string{"probe", "--json", "--traddr", at, "--size", "512", "--samples", "50", "--runtime", "1m", "--tos", "104"}, &out, &errs)
	var r agent.ProbeResult
	h := latency.New()
	if status != 0 || json.Unmarshal([]byte(out.String()), &r) != nil || h.UnmarshalText([]byte(r.Histogram)) != nil {
		t.Fatalf("status %d: %s %s", status, &out, &errs)
	}
	if r.Samples != 50 || h.Count() != 50 || r.Errors != 0 || r.Size != 512 || r.Op != agent.OpSocket || r.Transport != "tcp" || r.Bytes != 50*512 || r.Remote != at {
		t.Errorf("%+v", r)
	}
}
