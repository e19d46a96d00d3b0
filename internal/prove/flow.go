package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/remote"
	"weft/inventory"
	"weft/plan"
)

// What is measured where the files do not say.
const (
	defaultSize    = 4096
	defaultSamples = 1000
	depth          = 1
)

// localTransport is what a row says of a read on the server of the storage.
const localTransport = "local"

// A flow is one thing to measure: a server reads from a namespace through a
// portal, or, without a portal, from the storage behind it on its own server.
type flow struct {
	from    *inventory.Server
	probe   string // NQN of the probe on from
	target  *inventory.Target
	sub     *inventory.Subsystem
	ns      *inventory.Namespace
	portal  inventory.Portal
	local   bool
	size    int
	samples int
	keys    []string // files with what both ends prove, as the probe is told
}

// flows lists initiator × target × plane × size, and for each target the
// local read of the same storage.
func flows(m *inventory.Model, validations []*inventory.Validation) []flow {
	sizes, samples := wanted(validations)
	var out []flow
	seen := map[*inventory.Target]bool{}
	for _, i := range m.Initiators {
		for _, c := range i.Connects {
			for _, t := range c.To {
				if t.Server == nil || len(t.Subsystems) == 0 || len(t.Subsystems[0].Namespaces) == 0 {
					continue
				}
				sub := t.Subsystems[0]
				base := flow{from: i.Server, probe: i.ProbeNQN, target: t, sub: sub, ns: sub.Namespaces[0], samples: samples, keys: keyFiles(m.Name, i, t)}
				for _, size := range sizes {
					base.size = size
					if !seen[t] {
						local := base
						local.from, local.local = t.Server, true
						out = append(out, local)
					}
					for _, p := range t.Portals {
						over := base
						over.portal = p
						out = append(out, over)
					}
				}
				seen[t] = true
			}
		}
	}
	return out
}

func wanted(validations []*inventory.Validation) (sizes []int, samples int) {
	for _, v := range validations {
		if v.Probe != readProbe {
			continue
		}
		samples = max(samples, v.Samples)
		for _, size := range v.Sizes {
			if !slices.Contains(sizes, size) {
				sizes = append(sizes, size)
			}
		}
	}
	if len(sizes) == 0 {
		sizes = []int{defaultSize}
	}
	if samples == 0 {
		samples = defaultSamples
	}
	return sizes, samples
}

type run struct {
	in    Input
	hosts hosts

	asking   *observer // made when something is asked first
	measured *Result   // nil: nothing was
}

// measure runs the flows round by round. Rows stand in the order of the flows.
func (r *run) measure(ctx context.Context, flows []flow) []*Row {
	rows := make([]*Row, len(flows))
	beat := r.pulse(len(flows))
	defer beat.end()
	for _, round := range rounds(flows) {
		if ctx.Err() != nil {
			break
		}
		var wg sync.WaitGroup
		for _, i := range round {
			wg.Go(func() {
				rows[i] = r.row(ctx, flows[i])
				beat.done.Add(1)
				if ctx.Err() == nil { // else it was cut short
					r.emit(rows[i])
				}
			})
		}
		wg.Wait()
	}
	return rows
}

func (r *run) row(ctx context.Context, f flow) *Row {
	row := &Row{Initiator: f.from.Addr, Target: f.target.Addr, flow: f, Wanted: f.samples}
	row.Size, row.Depth, row.Op = f.size, depth, "read"
	row.Transport = localTransport
	if !f.local {
		row.Transport = f.transports()[0]
		row.Remote = f.portal.Address.String()
		if f.portal.Plane != nil {
			row.Plane = f.portal.Plane.Name
		}
	}
	res, err := r.probe(ctx, f)
	if err != nil {
		row.Why = err.Error()
		return row
	}
	row.ProbeResult = *res
	row.Degraded, row.ProbeResult.Degraded = f.degraded(res.Transport, res.Degraded)
	if res.Histogram == "" {
		return row
	}
	h := latency.New()
	if err := h.UnmarshalText([]byte(res.Histogram)); err != nil {
		row.Why = "the probe's histogram: " + err.Error()
		return row
	}
	row.P50, row.P99, row.P999 = h.Quantile(0.5), h.Quantile(0.99), h.Quantile(0.999)
	return row
}

// fabric is that of the portal; nil: it is in none.
func (f flow) fabric() *inventory.Fabric {
	if f.portal.RNIC == nil {
		return nil
	}
	return f.portal.RNIC.Fabric
}

// transports are what the target offers at the portal, in the order of
// preference: RDMA runs only where the fabric carries it.
func (f flow) transports() []string {
	list := slices.DeleteFunc(slices.Clone(f.target.Transport), func(t string) bool {
		return t == "rdma" && f.fabric() != nil && f.fabric().Transport == "tcp"
	})
	if len(list) == 0 {
		return []string{"tcp"}
	}
	return list
}

// degraded reports whether the fabric of the portal, or its target, is made for
// something better than what was measured, and why that was not to be had.
func (f flow) degraded(transport, why string) (bool, string) {
	rdma := f.transports()[0] == "rdma" || f.fabric() != nil && f.fabric().Transport != "tcp"
	switch {
	case f.local || transport != "tcp" || !rdma:
		return false, ""
	case f.transports()[0] == "tcp":
		return true, "the files ask for TCP"
	}
	return true, why
}

// keyFiles is the part of a probe's command line that names the files on its
// server with the keys of both ends.
func keyFiles(owner string, i *inventory.Initiator, t *inventory.Target) []string {
	if i.Key == nil {
		return nil
	}
	args := []string{"--dhchap-secret-file", agent.KeyFile(owner, i.HostNQN)}
	if t.CtrlKey != nil {
		args = append(args, "--dhchap-ctrl-secret-file", agent.KeyFile(owner, t.Subsystems[0].NQN))
	}
	return args
}

// over is the part of the command line that says what a probe goes over, and
// how its packets are marked.
func (f flow) over() []string {
	args := []string{"--transport", strings.Join(f.transports(), ",")}
	if f.transports()[0] == "tcp" {
		args = []string{"--transport", "tcp"} // nothing comes after what is always there
	}
	if fabric := f.fabric(); fabric != nil {
		if class := fabric.StorageClass(); class != nil {
			args = append(args, "--tos", strconv.Itoa(class.DSCP[0]<<2))
		}
	}
	return args
}

// args is the command line of the probe.
func (r *run) args(f flow) []string {
	args := []string{agent.ProbeBin, "read", "--json",
		"--size", strconv.Itoa(f.size), "--depth", strconv.Itoa(depth), "--samples", strconv.Itoa(f.samples)}
	if f.local {
		return append(args, "--path", r.in.Volume(f.ns.From, f.target.Server))
	}
	args = append(args, "--traddr", f.portal.Address.String(), "--nqn", f.sub.NQN, "--hostnqn", f.probe,
		"--nsid", strconv.FormatUint(uint64(f.ns.ID), 10))
	args = append(append(args, f.over()...), f.keys...)
	if src := ownAddress(f); src != "" {
		args = append(args, "--host-traddr", src)
	}
	return args
}

// ownAddress is the initiator's own address in the plane of the portal.
func ownAddress(f flow) string {
	for _, nic := range f.from.RNICs {
		if f.portal.Plane != nil && nic.Plane == f.portal.Plane && nic.Address.IsValid() {
			return nic.Address.Addr().String()
		}
	}
	return ""
}

// probe runs weft-initiator. Its error means that nothing could be tried; a
// fabric that refuses is in the result.
func (r *run) probe(ctx context.Context, f flow) (*agent.ProbeResult, error) {
	host, err := r.hosts.of(ctx, f.from)
	if err != nil {
		return nil, err
	}
	out, err := host.Run(ctx, remote.Cmd{Args: r.args(f)})
	stdout := out.Stdout
	var exit *remote.ExitError
	if errors.As(err, &exit) {
		stdout = exit.Output.Stdout
	} else if err != nil {
		return nil, err
	}
	var res agent.ProbeResult
	if json.Unmarshal(stdout, &res) == nil && res.Op != "" {
		return &res, nil
	}
	if exit != nil {
		return nil, fmt.Errorf("%s did not run: exit %d: %s", agent.ProbeBin, exit.Code, strings.TrimSpace(string(exit.Output.Stderr)))
	}
	return nil, fmt.Errorf("%s answered no result: %.200q", agent.ProbeBin, stdout)
}

func (r *run) status(ctx context.Context, s *inventory.Server) (*agent.TargetStatus, error) {
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return nil, err
	}
	out, err := host.Run(ctx, remote.Cmd{Args: []string{agent.TargetBin, "status", "--json"}})
	if err != nil {
		return nil, err
	}
	var st agent.TargetStatus
	return &st, json.Unmarshal(out.Stdout, &st)
}

func (r *run) emit(row *Row) {
	if r.in.Emit == nil {
		return
	}
	e := plan.Event{Time: time.Now(), Type: plan.EventProbe, Device: row.Initiator,
		Message: fmt.Sprintf("%s: p99 %v of %d", row.Pair(), row.P99, row.Samples), Data: map[string]any{"probe": row}}
	if row.Why != "" || row.Errors > 0 {
		e.Level, e.Message = "error", row.Pair()+": "+row.Why+row.FirstErr
	}
	r.in.Emit(e)
}
