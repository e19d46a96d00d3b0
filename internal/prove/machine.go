package prove

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/remote"
	"weft/inventory"
)

// tick is the unit in which kernels tell processor time to programs: USER_HZ is 100
// on amd64 and arm64 (proc_stat(5)).
const tick = 10 * time.Millisecond

// A busyness is what the processors of a machine have done since it started.
type busyness struct {
	busy  int64 // ticks of all processors, interrupts included
	whole int64 // and those in which they were idle
}

// less is what they have done since another time.
func (b busyness) less(before busyness) busyness {
	return busyness{b.busy - before.busy, b.whole - before.whole}
}

// share is how much of the time they were busy; 0 where no time has passed.
func (b busyness) share() float64 {
	if b.whole <= 0 {
		return 0
	}
	return float64(b.busy) / float64(b.whole)
}

// parseStat reads the first line of /proc/stat (proc_stat(5)): user, nice, system, idle,
// iowait, irq, softirq and steal, in ticks. What guests run is in user and nice already,
// and what a hypervisor took was not this machine's.
func parseStat(text []byte) (busyness, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) < 9 || words[0] != "cpu" {
		return busyness{}, fmt.Errorf("/proc/stat begins with %.80q, want cpu and at least 8 counts", line)
	}
	var b busyness
	for i, word := range words[1:9] {
		n, err := strconv.ParseUint(word, 10, 60) // eight of them are no overflow
		if err != nil {
			return busyness{}, fmt.Errorf("/proc/stat: %w", err)
		}
		b.whole += int64(n)
		if idle, iowait, steal := i == 3, i == 4, i == 7; !idle && !iowait && !steal {
			b.busy += int64(n)
		}
	}
	return b, nil
}

// resting asks a server how much of its time it spends with what is none of weft's: for so
// long nothing is asked of it, and the question is one command.
func (r *run) resting(ctx context.Context, s *inventory.Server, d time.Duration) (share float64, err error) {
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return 0, err
	}
	out, err := host.Run(ctx, remote.Cmd{Args: []string{"sh", "-c", `cat /proc/stat && sleep "$1" && cat /proc/stat`, "sh", strconv.FormatFloat(d.Seconds(), 'f', -1, 64)}})
	if err != nil {
		return 0, fmt.Errorf("%s does not say how busy it is: %w", s.Addr, err)
	}
	// The line of all processors comes first in each of the two.
	second := bytes.LastIndex(out.Stdout, []byte("\ncpu ")) + 1
	if second == 0 {
		return 0, fmt.Errorf("%s does not say twice how busy it is", s.Addr)
	}
	before, err := parseStat(out.Stdout)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Addr, err)
	}
	after, err := parseStat(out.Stdout[second:])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", s.Addr, err)
	}
	return after.less(before).share(), nil
}

// busyness asks a server.
func (r *run) busyness(ctx context.Context, s *inventory.Server) (busyness, error) {
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return busyness{}, err
	}
	text, err := host.ReadFile(ctx, "/proc/stat")
	if err != nil {
		return busyness{}, fmt.Errorf("%s does not say how busy it is: %w", s.Addr, err)
	}
	return parseStat(text)
}
