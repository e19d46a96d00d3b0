package initiator

import (
	"context"
	"fmt"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

const (
	discoverTries = 10      // while the log changes under the reader
	discoverMost  = 1 << 16 // records that are believed
	logChunk      = 8 << 10 // bytes of a log page per command
)

// Discover asks the discovery service at a logical address what the host may
// connect to.
func Discover(ctx context.Context, tr fabric.Transport, addr, hostNQN string) ([]wire.DiscoveryEntry, error) {
	o := Options{Addr: addr, SubNQN: wire.DiscoveryNQN, HostNQN: hostNQN, KATO: -1}.withDefaults()
	entries, err := discover(ctx, tr, o)
	if err != nil {
		return nil, fmt.Errorf("discover at %s: %w", addr, err)
	}
	return entries, nil
}

func discover(ctx context.Context, tr fabric.Transport, o Options) ([]wire.DiscoveryEntry, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	a, _, err := open(ctx, tr, o)
	if err != nil {
		return nil, err
	}
	defer a.q.Close()
	stop := context.AfterFunc(ctx, func() { _ = a.q.Close() })
	defer stop()
	entries, err := a.discoveryLog()
	if err != nil {
		return nil, because(ctx, err)
	}
	_ = a.shutdown(closePatience) // a courtesy: the answer is there
	return entries, nil
}

// discoveryLog reads the log page, again while it changes.
func (a *admin) discoveryLog() ([]wire.DiscoveryEntry, error) {
	if _, err := a.identify(); err != nil {
		return nil, err
	}
	head, err := a.discoveryHeader()
	if err != nil {
		return nil, err
	}
	for range discoverTries {
		if head.NumRec > discoverMost {
			return nil, fmt.Errorf("discovery log of %d records, want at most %d", head.NumRec, discoverMost)
		}
		entries, err := a.discoveryEntries(int(head.NumRec))
		again, headErr := a.discoveryHeader()
		switch {
		case headErr != nil:
			return nil, headErr
		case again.GenCtr == head.GenCtr && again.NumRec == head.NumRec:
			return entries, err
		}
		head = again // and what went wrong may be due to the change
	}
	return nil, fmt.Errorf("discovery log has changed %d times while it was read", discoverTries)
}

func (a *admin) discoveryHeader() (h wire.DiscoveryHeader, err error) {
	raw := make([]byte, wire.DiscoveryHeaderSize)
	if err := a.logPage(wire.LogDiscovery, 0, raw); err != nil {
		return h, err
	}
	if err := h.UnmarshalBinary(raw); err != nil {
		return h, err
	}
	return h, h.Validate()
}

func (a *admin) discoveryEntries(n int) ([]wire.DiscoveryEntry, error) {
	raw := make([]byte, n*wire.DiscoveryEntrySize)
	for at := 0; at < len(raw); at += logChunk {
		if err := a.logPage(wire.LogDiscovery, wire.DiscoveryHeaderSize+at, raw[at:min(at+logChunk, len(raw))]); err != nil {
			return nil, err
		}
	}
	entries := make([]wire.DiscoveryEntry, n)
	for i := range entries {
		if err := entries[i].UnmarshalBinary(raw[i*wire.DiscoveryEntrySize:]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// logPage reads a part of a log page.
func (a *admin) logPage(lid uint8, offset int, into []byte) error {
	cmd := wire.GetLogPageCommand{LID: lid, Length: uint64(len(into)), Offset: uint64(offset)}.Command()
	if _, err := a.do(cmd, into); err != nil {
		return fmt.Errorf("get log page 0x%02x at %d: %w", lid, offset, err)
	}
	return nil
}
