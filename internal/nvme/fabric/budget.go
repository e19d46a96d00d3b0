package fabric

import (
	"net"
	"net/netip"
	"sync"
)

const (
	// DefaultBudget is that of a process that is not told another: enough to keep
	// 100 Gbit/s under way for five milliseconds.
	DefaultBudget = 64 << 20

	accountMost = 4 << 20   // of one account
	accountOwn  = 64 << 10  // of it that every account has without asking
	budgetStep  = 256 << 10 // in which the rest is drawn
)

// A Budget bounds the memory that peers can make a target hold: data that is on
// its way in, and answers that they have yet to read. The connections of all
// portals share it. One source (see [Source]) gets no more than it leaves to
// others: alone it may have half, next to k that take all they can it still finds
// as much as each of them has.
type Budget struct {
	mu      sync.Mutex
	total   int
	drawn   int
	sources map[string]*drawer
}

// A drawer is what the accounts of one source have.
type drawer struct{ drawn, accounts int }

// NewBudget is a budget of so many bytes.
func NewBudget(total int) *Budget {
	return &Budget{total: total, sources: map[string]*drawer{}}
}

// An Account is what one connection holds, in one direction. It is not safe for
// concurrent use.
type Account struct {
	budget *Budget
	source string
	used   int
	drawn  int
}

// Open begins an account for a connection from an address, which Close ends.
func (b *Budget) Open(remote string) *Account {
	source := Source(remote)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sources[source] == nil {
		b.sources[source] = new(drawer)
	}
	b.sources[source].accounts++
	return &Account{budget: b, source: source}
}

// Room reports whether more may be held: one command more, which may take the
// account a little further than its bounds. An account that holds nothing has
// room always.
func (a *Account) Room() bool {
	switch {
	case a.budget == nil:
		return false
	case a.used < a.drawn+accountOwn:
		return true
	case a.used >= accountMost:
		return false
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.sources[a.source]
	if d == nil || d.drawn+budgetStep > b.total-b.drawn-budgetStep {
		return false
	}
	b.drawn += budgetStep
	d.drawn += budgetStep
	a.drawn += budgetStep
	return true
}

// Set says how many bytes are held now.
func (a *Account) Set(used int) {
	a.used = used
	if spare := a.drawn - used; spare > 2*budgetStep { // not at once: it will be wanted again
		a.giveBack(spare / budgetStep * budgetStep)
	}
}

// Used is what Set has said.
func (a *Account) Used() int { return a.used }

// Close ends the account. It has no room any more.
func (a *Account) Close() {
	if a.budget == nil {
		return
	}
	a.giveBack(a.drawn)
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if d := b.sources[a.source]; d != nil {
		if d.accounts--; d.accounts == 0 {
			delete(b.sources, a.source)
		}
	}
	*a = Account{used: accountMost}
}

func (a *Account) giveBack(n int) {
	if n == 0 {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drawn -= n
	b.sources[a.source].drawn -= n
	a.drawn -= n
}

// Source is where a peer comes from, for limits: its address without the port,
// of IPv6 the network, as one host has all addresses of one.
func Source(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return remote
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.String()
		}
	}
	return addr.String()
}
