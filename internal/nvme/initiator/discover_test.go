package initiator_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

func discoveryFake(entries int) *fake {
	f := newFake()
	f.id.CntrlType, f.id.IOCCSZ = wire.ControllerDiscovery, 0
	for i := range entries {
		f.entries = append(f.entries, wire.DiscoveryEntry{
			TrType: wire.TransportTCP, AdrFam: wire.FamilyIPv4, SubType: wire.SubsystemNVM, PortID: uint16(i), SubNQN: subNQN, Address: "10.40.1.11", SvcID: "4420",
		})
	}
	return f
}

func TestDiscover(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		for _, n := range []int{0, 1, 8, 9, 21} {
			f := discoveryFake(n)
			entries, err := initiator.Discover(context.Background(), tr, serve(t, tr, f), hostNQN)
			if err != nil || len(entries) != n {
				t.Fatalf("%d entries, want %d: %v", len(entries), n, err)
			}
			for i, e := range entries {
				if int(e.PortID) != i || e.SubNQN != subNQN || e.Address != "10.40.1.11" || e.SvcID != "4420" {
					t.Errorf("entry %d: %+v", i, e)
				}
			}
			f.mu.Lock()
			if f.hosts[0].SubNQN != wire.DiscoveryNQN || f.hosts[0].HostNQN != hostNQN {
				t.Errorf("connected with %+v", f.hosts[0])
			}
			f.mu.Unlock()
		}
	})
}

func TestDiscoverWhileItChanges(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := discoveryFake(2)
		f.moves = 4
		entries, err := initiator.Discover(context.Background(), tr, serve(t, tr, f), hostNQN)
		if err != nil || len(entries) != 6 {
			t.Errorf("%d entries, want all 6: %v", len(entries), err)
		}
		f = discoveryFake(0)
		f.moves = 1000
		addr := serve(t, tr, f)
		if _, err := initiator.Discover(context.Background(), tr, addr, hostNQN); err == nil || !strings.Contains(err.Error(), "changed 10 times") || !strings.Contains(err.Error(), addr) {
			t.Errorf("a log that never rests: %v", err)
		}
	})
}

func TestDiscoverRefused(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := discoveryFake(0)
		f.refuse = map[uint8]wire.Status{wire.OpGetLogPage: wire.InvalidLogPage.WithDNR()}
		if _, err := initiator.Discover(context.Background(), tr, serve(t, tr, f), hostNQN); !errors.Is(err, wire.InvalidLogPage) || !strings.Contains(err.Error(), "get log page 0x70") {
			t.Errorf("%v", err)
		}
		f = discoveryFake(0)
		f.claims = 1 << 60
		if _, err := initiator.Discover(context.Background(), tr, serve(t, tr, f), hostNQN); err == nil || !strings.Contains(err.Error(), "1152921504606846976 records") {
			t.Errorf("a log longer than any memory: %v", err)
		}
		if _, err := initiator.Discover(context.Background(), tr, "127.0.0.1:1", hostNQN); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
			t.Errorf("nobody there: %v", err)
		}
	})
}
