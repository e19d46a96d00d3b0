package dir

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/store"
	"weft/internal/store/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(m, func(place string, step func(string)) (store.Store, error) {
		return Open(context.Background(), place, Options{step: step})
	})
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *storetest.Subject { return subject(t, Options{}) })
}

// subject is a store in a new directory.
func subject(t testing.TB, o Options) *storetest.Subject {
	root := t.TempDir()
	var gone atomic.Int64
	o.Clock = func() time.Time { return time.Now().Add(time.Duration(gone.Load())) }
	o.Look = time.Millisecond
	return &storetest.Subject{
		Place: root,
		Open: func(t testing.TB) store.Store {
			s, err := Open(context.Background(), root, o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			return s
		},
		Pass:    func(d time.Duration) { gone.Add(int64(d)) },
		Restart: func(*testing.T) {},
		Spoil: func(t *testing.T, d store.Digest) {
			s := &Store{root: root}
			text, err := os.ReadFile(s.blob(d))
			if err != nil {
				t.Fatal(err)
			}
			text[len(text)/2] ^= 1
			if err := os.WriteFile(s.blob(d), text, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) *storetest.Subject { return subject(b, Options{}) })
}
