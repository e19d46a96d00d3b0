package hub

import (
	"errors"
	"testing"
	"time"

	"weft/internal/store"
)

// A server that takes a change up before whoever made it looks is seen to have done so,
// although what it says of itself is newer in the store than what it acts by.
func TestServerIsQuicker(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{})
	serve(t, p, Serving{})
	s := reach(t, p)
	credential(t, s, alice)
	mine, err := s.Store(t.Context(), own)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	key := alice.doc()
	e, err := mine.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := mine.Delete(t.Context(), key, e.Revision); err != nil {
		t.Fatal(err)
	}
	for {
		list, err := said(t.Context(), mine)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 && list[0].Members > e.Revision {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	at, err := changed(t.Context(), mine, key, e.Revision)
	if err != nil {
		t.Fatal(err)
	}
	if _, now, err := mine.List(t.Context(), ""); err != nil || at >= now {
		t.Errorf("the change is %d of %d: %v", at, now, err)
	}
	if effects, err := s.effects(t.Context(), mine, at); err != nil || len(effects) != 1 || !effects[0].Done {
		t.Errorf("%v: %v", effects, err)
	}
	if _, err := mine.Get(t.Context(), key); !errors.As(err, new(*store.NotFoundError)) {
		t.Errorf("it is there: %v", err)
	}
}
