package modules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/plan"
)

const showScript = `l=` + leaseDir + `/lease; [ -d "$l" ] || exit 0
read -r up rest </proc/uptime; echo held "${up%%.*}" "$(cat "$l/until" 2>/dev/null || echo never)"; cat "$l/holder" 2>/dev/null; echo`

const breakScript = putAway + `if [ "$(cat "$l/holder" 2>/dev/null)" = "$1" ]; then away; else echo moved; fi`

// Lease implements plan.Leaser.
func (d *server) Lease(ctx context.Context) (*plan.Lease, error) {
	if _, err := d.Open(ctx); err != nil && !errors.Is(err, d.ledgers.unknown) {
		return nil, err
	}
	out, err := d.host.Run(ctx, script(showScript))
	if err != nil {
		return nil, fmt.Errorf("read the lease %s/lease: %w", leaseDir, err)
	}
	if len(out.Stdout) == 0 {
		return nil, nil
	}
	first, rest, _ := strings.Cut(string(out.Stdout), "\n")
	text := strings.TrimSpace(rest)
	who, left, err := d.heldBy(strings.Replace(first, "never", "-", 1), text)
	if err != nil {
		return nil, err
	}
	return &plan.Lease{Holder: who.describe(), Owner: who.Owner, Left: left,
		Break: func(ctx context.Context) error { return d.breakLease(ctx, text) }}, nil
}

// breakLease takes the lease away that is held with this text.
func (d *server) breakLease(ctx context.Context, text string) error {
	out, err := d.host.Run(ctx, script(breakScript, text))
	if err == nil && len(out.Stdout) > 0 {
		err = fmt.Errorf("it has another holder by now")
	}
	if err != nil {
		return fmt.Errorf("break the lease %s/lease: %w", leaseDir, err)
	}
	return nil
}

// heldBy reads the answer about somebody's lease.
func (d *server) heldBy(line, holder string) (leaseFile, time.Duration, error) {
	f := strings.Fields(line)
	var who leaseFile
	if len(f) != 3 || f[0] != "held" {
		return who, 0, fmt.Errorf("take the lease %s/lease: the server answers %q", leaseDir, line)
	}
	_ = json.Unmarshal([]byte(holder), &who) // whoever it is
	up, err1 := strconv.Atoi(f[1])
	until, err2 := strconv.Atoi(f[2])
	if err1 != nil || err2 != nil { // it is just being taken
		return who, leaseTime, nil
	}
	// No lease ends later than a fresh one: the figure would be none of ours.
	return who, min(time.Duration(until-up)*time.Second, leaseTime), nil
}

// describe names the holder for people.
func (l leaseFile) describe() string {
	if l.Who == "" {
		return "an unknown process"
	}
	return fmt.Sprintf("%s (process %d, owner %s)", l.Who, l.PID, l.Owner)
}
