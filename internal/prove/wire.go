package prove

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"weft/internal/agent"
	"weft/inventory"
)

// What a probe without NVMe goes by.
const (
	wirePort  = 18515            // where the other end answers meanwhile, as perftest's does
	wireWait  = 30 * time.Second // for the two ends to find each other
	wireLeave = 10 * time.Second // for the end that answers to leave
	wireTime  = 30 * time.Second // the most that the samples of one size may take
)

// wireTransport is what carries a probe without NVMe.
func wireTransport(probe string) string {
	if probe == verbsProbe {
		return "rdma"
	}
	return "tcp"
}

// wireFlows lists initiator × target × plane × size where both ends are servers.
func wireFlows(m *inventory.Model, validations []*inventory.Validation, probe string) []flow {
	sizes, samples := wanted(validations, probe)
	var out []flow
	for _, i := range m.Initiators {
		for _, t := range i.Reaches() {
			for _, p := range t.Portals {
				f := flow{from: i.Server, target: t, portal: p, samples: samples, wire: probe}
				if t.Server == nil || ownAddress(f) == "" {
					continue
				}
				for _, f.size = range sizes {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// toAndFro has the server of a target answer once at its portal's address, and
// sends messages of one size to it and back. It touches no storage. Its error
// means that nothing could be tried.
func (r *run) toAndFro(ctx context.Context, f flow) (*agent.ProbeResult, error) {
	near, err := r.hosts.of(ctx, f.from)
	if err != nil {
		return nil, err
	}
	far, err := r.hosts.of(ctx, f.target.Server)
	if err != nil {
		return nil, err
	}
	at := f.portal.Address.Addr().String()
	if f.portal.Address.Addr().Is6() {
		at = "[" + at + "]"
	}
	at += ":" + strconv.Itoa(wirePort)
	over := agent.Way{Transports: []string{wireTransport(f.wire)}, ToS: f.tos(), Connect: wireWait}
	answering, leave := context.WithCancel(ctx)
	defer leave()
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		reply, err := ask(answering, far, agent.Request{Answer: &agent.AnswerRequest{Over: over, Listen: at}})
		if err == nil && reply.Error != "" {
			err = unanswered(reply)
		}
		if err != nil && answering.Err() == nil {
			stop(fmt.Errorf("%s does not answer at %s: %w", f.target.Server.Addr, at, err))
		}
	}()
	from := over
	from.From = ownAddress(f)
	res, err := probed(ask(asking, near, agent.Request{Probe: &agent.ProbeRequest{Over: from, Portal: at, Size: f.size, Samples: int64(f.samples), Runtime: wireTime}}))
	if err == nil && res.Errors == 0 { // it leaves by itself, and then its port is free
		select {
		case <-answered:
		case <-time.After(wireLeave):
		}
	}
	leave()
	<-answered
	if cause := context.Cause(asking); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return nil, cause
	}
	return res, err
}
