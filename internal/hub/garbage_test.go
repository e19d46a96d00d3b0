package hub

import (
	"strings"
	"testing"
	"time"
)

// Blobs that no document names go once they were found so for a day: the answer that nobody
// read, and parts of a blob without an end. Others stay, and so does one that a document
// names meanwhile.
func TestGarbage(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	h := serve(t, p, Serving{})
	admin := reach(t, p)
	w, a := mustOpen(t, h.url, credential(t, admin, dc1)), mustOpen(t, h.url, credential(t, admin, alice))
	put := func(text string) string {
		t.Helper()
		d, err := w.PutBlob(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return string(d)
	}
	value, key, late, lost := put("named by a value"), put("named by a key"), put("named later"), put("an answer that nobody read")
	at, err := a.Create(t.Context(), "run/r1", []byte(`{"plan":"`+value+`"}`))
	if err == nil {
		_, err = a.Create(t.Context(), "plan/"+key, nil)
	}
	if err == nil {
		_, err = a.Update(t.Context(), "run/r1", []byte(`{"plan":"`+value+`","x":1}`), at)
	}
	if err != nil {
		t.Fatal(err)
	}
	conn := (&target{served: h}).dial(t, credential(t, admin, far2), nil)
	request(t, conn, "WEFT.pilot.blob."+strings.Repeat("ab", 32)+".00000000", "a part without an end")
	s, err := admin.Store(t.Context(), "pilot")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var g garbage
	pass := func(after time.Duration, want int) {
		t.Helper()
		if n, err := g.pass(t.Context(), s, "pilot", time.Unix(1700000000, 0).Add(after)); err != nil || n != want {
			t.Errorf("after %s: %d removed, wanted %d: %v", after, n, want, err)
		}
	}
	pass(0, 0)
	pass(garbageAfter-time.Second, 0)
	if _, err := a.Create(t.Context(), "run/r2", []byte(strings.TrimPrefix(late, "sha256-"))); err != nil {
		t.Fatal(err)
	}
	pass(garbageAfter, 2)
	left, err := s.BlobParts(t.Context())
	if err != nil || len(left) != 3 {
		t.Errorf("%v: %v", left, err)
	}
	for _, d := range left {
		if string(d) == lost {
			t.Error("the answer is there")
		}
	}
	pass(2*garbageAfter, 0)
}

var far2 = Member{Name: "dc2", Kind: Worker, Owner: "pilot", Site: "dc2"}
