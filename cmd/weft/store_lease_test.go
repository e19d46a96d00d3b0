package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
)

// leased is a store of a lease and of a document that a raw client wrote beside it.
type leased struct {
	store.Store
	broken []string
}

func (l *leased) Leases(context.Context, string) ([]store.Holding, error) {
	return []store.Holding{{Key: "device/a", Holder: "ann", Left: time.Minute}},
		errors.Join(&store.CorruptError{What: "the document site/dc1/x", Why: "it is no lease"})
}

func (l *leased) Break(_ context.Context, h store.Holding) error {
	if h.Key != "site/dc1/x" {
		return &store.LostError{Key: h.Key}
	}
	l.broken = append(l.broken, h.Key)
	return nil
}

// Leases are listed beside a document that is none, which is named and can be removed.
func TestLeasesBesideOther(t *testing.T) {
	var out bytes.Buffer
	a, s := &storeCommand{opts: &options{}, out: &printer{stdout: &out}}, &leased{}
	err := a.listLeases(t.Context(), s)
	if !strings.Contains(out.String(), "device/a is held by ann") || err == nil || !strings.Contains(err.Error(), "site/dc1/x") || !strings.Contains(hint.Of(err), "lease break") {
		t.Errorf("%s: %v", out.String(), err)
	}
	if err := a.breakLease(t.Context(), s, "site/dc1/x", true); err != nil || len(s.broken) != 1 {
		t.Errorf("%v: %v", s.broken, err)
	}
	if err := a.breakLease(t.Context(), s, "site/dc1/y", true); err == nil || !strings.Contains(err.Error(), "no lease of") {
		t.Error(err)
	}
}
