package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/load"
)

// device is what a load goes to: a namespace over one or more portals, or a
// file or device of this machine.
type device struct {
	agent.LoadRequest // but for Over: host has it
	host              host
	block             size
	direct            bool
	header            bool
	data              bool
	policy            string
	poll              bool
	cpus              []int
}

const (
	defaultBlock  = 512
	defaultPolicy = "round-robin"
)

func (d *device) flags(c *cobra.Command) {
	d.block, d.policy = defaultBlock, defaultPolicy
	f := c.Flags()
	f.StringArrayVar(&d.Portals, "traddr", nil, "address and port of the target, like 10.40.1.11:4420 (repeat it for more paths)")
	f.StringVar(&d.host.way.HostNQN, "hostnqn", "", "NQN of this host")
	f.StringVar(&d.host.way.From, "host-traddr", "", "address of this host to connect from")
	d.host.transports(c)
	f.DurationVar(&d.host.way.Connect, "connect-timeout", 10*time.Second, "how long connecting may take")
	f.Uint8Var(&d.host.way.ToS, "tos", 0, tosHelp)
	d.host.secrets(f)
	d.host.tlsFlag(f)
	f.StringVar(&d.NQN, "nqn", "", "NQN of the subsystem")
	f.Uint32Var(&d.NSID, "nsid", 1, "namespace; 0, where nothing is written: the first that this host is shown")
	f.StringVar(&d.Path, "path", "", "file or block device of this machine instead of a target")
	f.Var(&d.block, "block-size", "with --path: bytes of a block")
	f.BoolVar(&d.direct, "direct", false, "with --path: past the system's cache (O_DIRECT)")
	f.BoolVar(&d.header, "hdr-digest", false, "checksums of PDU headers")
	f.BoolVar(&d.data, "data-digest", false, "checksums of data")
	f.StringVar(&d.policy, "io-policy", defaultPolicy, "choice among equally good paths: round-robin or queue-depth")
	f.DurationVar(&d.Timeout, "timeout", 30*time.Second, "how long one command may take before its path counts as lost")
	f.DurationVar(&d.Patience, "reconnect-for", 10*time.Minute, "how long commands wait when all paths are lost; 0: not at all")
	f.DurationVar(&d.KeepAlive, "keep-alive-tmo", initiator.DefaultKATO, "keep alive timeout")
	f.BoolVar(&d.poll, "poll", false, "poll the sockets, on a thread for each job that keeps a processor busy (Linux)")
	f.IntSliceVar(&d.cpus, "poll-cpus", nil, "with --poll: processors that these threads are kept on, in turn")
	c.MarkFlagsMutuallyExclusive("path", "traddr")
	c.MarkFlagsMutuallyExclusive("path", "poll")
	c.MarkFlagsOneRequired("path", "traddr")
	c.MarkFlagsRequiredTogether("traddr", "nqn", "hostnqn")
}

// name is what a load that writes has to be allowed for.
func (d *device) name() string {
	if d.Path != "" {
		return d.Path
	}
	return fmt.Sprintf("%s/%d", d.NQN, d.NSID)
}

// allowed refuses to overwrite what was not named.
func (d *device) allowed(named string) error {
	if d.Path == "" && d.NSID == 0 {
		return errors.New("this overwrites a namespace that is not named: say which with --nsid")
	}
	if named == d.name() {
		return nil
	}
	err := fmt.Errorf("this overwrites %s, which --i-will-overwrite does not name", d.name())
	if named != "" {
		err = fmt.Errorf("this overwrites %s, and --i-will-overwrite names %s", d.name(), named)
	}
	return hint.Wrap(err, "if what is there may go: --i-will-overwrite %s", d.name())
}

// opened is a device that is ready for jobs.
type opened struct {
	lanes    []load.Lane
	block    int
	capacity uint64
	remote   *initiator.Device // nil for a local one
	close    func() error
}

// depth is how many commands every lane takes at once.
func (o *opened) depth() int {
	least := o.lanes[0].Depth()
	for _, l := range o.lanes[1:] {
		least = min(least, l.Depth())
	}
	return least
}

// open opens the device with a lane for each job.
func (d *device) open(ctx context.Context, places agent.Places, jobs, depth int, writes bool, told io.Writer) (*opened, error) {
	if d.Path != "" {
		return d.openLocal(places, jobs, depth, writes)
	}
	if most := runtime.GOMAXPROCS(0) - 1; d.poll && jobs > most {
		return nil, fmt.Errorf("--poll with %d jobs needs %d processors, there are %d", jobs, jobs+1, most+1)
	}
	carrier, err := d.host.over(places, d.NQN, d.poll)
	if err != nil {
		return nil, err
	}
	o := initiator.DeviceOptions{
		Options: initiator.Options{
			SubNQN: d.NQN, HostNQN: d.host.way.HostNQN, KATO: d.KeepAlive, Queues: jobs, QueueSize: depth, Timeout: d.Timeout,
			HeaderDigest: d.header, DataDigest: d.data,
		},
		NSID: d.NSID, Patience: d.Patience, Spin: d.poll,
		Told: func(s string) { fmt.Fprintln(told, s) },
	}
	if err := d.host.keys(places, &o.Options); err != nil {
		return nil, err
	}
	if d.Patience == 0 {
		o.Patience = -1
	}
	switch d.policy {
	case defaultPolicy:
	case "queue-depth":
		o.Policy = initiator.QueueDepth
	default:
		return nil, fmt.Errorf("--io-policy %q is neither round-robin nor queue-depth", d.policy)
	}
	for _, p := range d.Portals {
		if _, err := places.Address(p); err != nil {
			return nil, err
		}
		o.Portals = append(o.Portals, initiator.Portal{Addr: p, Transport: carrier})
	}
	d.host.portal = strings.Join(d.Portals, ", ")
	connecting, cancel := d.host.patience(ctx)
	defer cancel()
	dev, err := initiator.OpenDevice(connecting, o)
	if err != nil {
		return nil, failed(unproven(err))
	}
	ns := dev.Namespace()
	all := &opened{block: ns.BlockSize, capacity: ns.Size(), remote: dev, close: dev.Close}
	for range jobs {
		l, err := dev.Lane()
		if err != nil {
			_ = dev.Close()
			return nil, err
		}
		all.lanes = append(all.lanes, l)
	}
	return all, nil
}

func (d *device) openLocal(places agent.Places, jobs, depth int, writes bool) (*opened, error) {
	l, err := load.OpenLocal(places.Path(d.Path), int(d.block), writes, d.direct)
	if err != nil {
		return nil, err
	}
	all := &opened{block: int(d.block), capacity: l.Capacity()}
	var lanes []*load.LocalLane
	for range jobs {
		lane := l.Lane(depth)
		lanes = append(lanes, lane)
		all.lanes = append(all.lanes, lane)
	}
	all.close = func() error {
		for _, lane := range lanes {
			lane.Close()
		}
		return l.Close()
	}
	return all, nil
}

// size is a number of bytes: 4096, 4k, 128KiB, 1M, 2g; units are of 1024.
type size uint64

func (s *size) String() string { return strconv.FormatUint(uint64(*s), 10) }

func (s *size) Type() string { return "SIZE" }

// Set reads a size.
func (s *size) Set(text string) error {
	digits := strings.TrimRight(strings.ToLower(text), "kmgtib")
	unit, known := map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20, "g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}[strings.ToLower(text[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || !known || n > 1<<62>>unit {
		return fmt.Errorf("%q is no size like 4096, 4k or 1g", text)
	}
	*s = size(n << unit)
	return nil
}
