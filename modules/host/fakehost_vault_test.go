package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weft/internal/remote"
	"weft/modules/host"
)

// A vault is the memory of fakehost: places with names, in no folders.
type vault struct{}

const markAt = "vault:mark"

// A shelf is what a box tells of its vault.
type shelf struct {
	Kept   map[string]string
	Halves []string
	Lease  leased
}

// asks is all that a weft may ask a vault for, and reply what it answers.
type asks struct {
	Place, Text, Old, Owner string
	Places                  []string
	Time                    time.Duration
	Over                    *leased
}

type reply struct {
	Mark, Ledger string
	Held         *leased
	Moved        bool
}

func (vault) Place(k host.Keepsake, owner string) string {
	switch {
	case k == host.KeptMark:
		return markAt
	case k == host.KeptLease:
		return "vault:lease"
	case owner == "":
		return "vault:*"
	case k == host.KeptSecrets:
		return "vault:" + owner + ".secrets"
	}
	return "vault:" + owner + ".ledger"
}

func vaultLook() remote.Look { return remote.Look{Args: []string{"tell", "vault"}} }

func (v vault) Marked() remote.Look { return remote.Look{Args: []string{"tell", "mark"}} }

func (v vault) Looks(string, []remote.Look) []remote.Look {
	return []remote.Look{vaultLook(), v.Marked()}
}

func (v vault) Parse(s remote.Seen, owner string, _ []remote.Look) (m host.Memorized, err error) {
	var told shelf
	got := s.Of(vaultLook())
	if got.Err != nil {
		return m, got.Err
	}
	if err := json.Unmarshal(got.Content, &told); err != nil {
		return m, err
	}
	for _, place := range slices.Sorted(maps.Keys(told.Kept)) {
		memo := host.Memo{Kept: host.KeptLedger, Place: place, Raw: []byte(told.Kept[place])}
		switch {
		case place == markAt:
			continue
		case strings.HasSuffix(place, ".secrets"):
			memo.Kept = host.KeptSecrets
		}
		memo.Mine = place == v.Place(memo.Kept, owner)
		m.Files = append(m.Files, memo)
	}
	m.Left = told.Halves
	if told.Lease.Text != "" {
		m.Leases = []host.Held{*told.Lease.held()}
	}
	return m, nil
}

func (l *leased) held() *host.Held {
	if l == nil || l.Text == "" {
		return nil
	}
	return &host.Held{Text: l.Text, Name: l.Until.Format(time.RFC3339Nano), Left: time.Until(l.Until), Known: true}
}

func leaseOf(h *host.Held) *leased {
	if h == nil {
		return nil
	}
	until, err := time.Parse(time.RFC3339Nano, h.Name)
	if err != nil {
		return &leased{Text: h.Text}
	}
	return &leased{h.Text, until}
}

func (vault) ask(ctx context.Context, t host.Transport, what string, a asks) (r reply, err error) {
	raw, err := json.Marshal(a)
	if err != nil {
		return r, err
	}
	out, err := t.Run(ctx, remote.Cmd{Args: []string{"vault", "ask", what}, Stdin: bytes.NewReader(raw)})
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(out.Stdout, &r)
}

func (v vault) Put(ctx context.Context, t host.Transport, k host.Keepsake, owner string, raw []byte) error {
	_, err := v.ask(ctx, t, "put", asks{Place: v.Place(k, owner), Text: string(raw)})
	return err
}

func (v vault) Remove(ctx context.Context, t host.Transport, owner string, kept ...host.Keepsake) error {
	var a asks
	for _, k := range kept {
		a.Places = append(a.Places, v.Place(k, owner))
	}
	_, err := v.ask(ctx, t, "remove", a)
	return err
}

func (vault) Tidy(context.Context, host.Transport, string) error { return nil } // there are no folders

func (v vault) Sweep(ctx context.Context, t host.Transport, files []string) error {
	_, err := v.ask(ctx, t, "sweep", asks{Places: files})
	return err
}

func (v vault) Take(ctx context.Context, t host.Transport, c host.Claim, m host.Note, owner string) (string, []byte, *host.Held, error) {
	r, err := v.ask(ctx, t, "take", asks{Owner: c.Text, Time: c.Time, Over: leaseOf(c.Over), Text: m.Text, Old: m.Needle, Place: v.Place(host.KeptLedger, owner)})
	var ledger []byte
	if r.Ledger != "" {
		ledger = []byte(r.Ledger)
	}
	return r.Mark, ledger, r.Held.held(), err
}

func (v vault) Mark(ctx context.Context, t host.Transport, c host.Claim, text, old, _ string) (string, *host.Held, error) {
	r, err := v.ask(ctx, t, "mark", asks{Owner: c.Text, Time: c.Time, Over: leaseOf(c.Over), Text: text, Old: old})
	return r.Mark, r.Held.held(), err
}

func (v vault) Unmark(ctx context.Context, t host.Transport, needle, _ string) error {
	_, err := v.ask(ctx, t, "unmark", asks{Old: needle})
	return err
}

func (v vault) Renew(ctx context.Context, t host.Transport, c host.Claim) error {
	_, err := v.ask(ctx, t, "renew", asks{Owner: c.Text, Time: c.Time})
	return err
}

func (v vault) Release(ctx context.Context, t host.Transport, text string) error {
	_, err := v.ask(ctx, t, "release", asks{Owner: text})
	return err
}

func (v vault) Lease(ctx context.Context, t host.Transport) (*host.Held, error) {
	r, err := v.ask(ctx, t, "lease", asks{})
	return r.Held.held(), err
}

func (v vault) Break(ctx context.Context, t host.Transport, h *host.Held) (bool, error) {
	r, err := v.ask(ctx, t, "break", asks{Over: leaseOf(h)})
	return !r.Moved, err
}

// asked is a vault's side: each ask is done whole or not at all.
func (b *box) asked(what string, in []byte) ([]byte, error) {
	var a asks
	if err := json.Unmarshal(in, &a); err != nil {
		return nil, err
	}
	var r reply
	marked := func(needle string) bool { return needle != "" && strings.Contains(b.vault[markAt], needle) }
	if what == "take" || what == "mark" {
		if a.Over != nil && a.Over.Text == b.lease.Text && a.Over.Until.Equal(b.lease.Until) {
			b.lease = leased{}
		}
		if b.lease.Text != "" {
			r.Held = &b.lease
			return json.Marshal(r)
		}
	}
	switch what {
	case "put":
		b.vault[a.Place] = a.Text
	case "remove":
		for _, place := range a.Places {
			delete(b.vault, place)
		}
	case "sweep":
		b.halves = slices.DeleteFunc(b.halves, func(h string) bool { return slices.Contains(a.Places, h) })
	case "take":
		b.lease = leased{a.Owner, time.Now().Add(a.Time)}
		if marked(a.Old) {
			b.vault[markAt] = a.Text
		}
		r.Mark, r.Ledger = b.vault[markAt], b.vault[a.Place]
	case "mark":
		if b.vault[markAt] != "" && !marked(a.Old) && !marked(a.Text) {
			r.Mark = b.vault[markAt]
		} else {
			b.vault[markAt] = a.Text
		}
	case "unmark":
		if marked(a.Old) {
			delete(b.vault, markAt)
		}
	case "renew":
		if b.lease.Text == a.Owner {
			b.lease.Until = time.Now().Add(a.Time)
		}
	case "release":
		if b.lease.Text == a.Owner {
			b.lease = leased{}
		}
	case "lease":
		r.Held = &b.lease
	case "break":
		if r.Moved = b.lease.Text != a.Over.Text; !r.Moved {
			b.lease = leased{}
		}
	default:
		return nil, fmt.Errorf("the vault does not know %q", what)
	}
	return json.Marshal(r)
}
