package storetest

import (
	"fmt"
	"testing"

	"weft/internal/store"
)

// Bench measures a store: what a change and a read cost, and a list of 1,000 runs among
// 10,000 documents. The documents are made without being measured.
func Bench(b *testing.B, found func(b *testing.B) *Subject) {
	value := make([]byte, 300)
	b.Run("create", func(b *testing.B) {
		s := found(b).Open(b)
		for n := 0; b.Loop(); n++ {
			must[store.Revision](b)(s.Create(b.Context(), fmt.Sprintf("run/r%d", n), value))
		}
	})
	b.Run("update", func(b *testing.B) {
		s := found(b).Open(b)
		at := must[store.Revision](b)(s.Create(b.Context(), "run/r1", value))
		for b.Loop() {
			at = must[store.Revision](b)(s.Update(b.Context(), "run/r1", value, at))
		}
	})
	b.Run("get", func(b *testing.B) {
		s := found(b).Open(b)
		must[store.Revision](b)(s.Create(b.Context(), "run/r1", value))
		for b.Loop() {
			must[store.Entry](b)(s.Get(b.Context(), "run/r1"))
		}
	})
	for _, keys := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("list %d", keys), func(b *testing.B) {
			s := found(b).Open(b)
			for n := range keys {
				folder := "device"
				if n%10 == 0 {
					folder = "run"
				}
				must[store.Revision](b)(s.Create(b.Context(), fmt.Sprintf("%s/r%d", folder, n), value))
			}
			for folder, want := range map[string]int{"": keys, "run": keys / 10} {
				b.Run(fmt.Sprintf("of %d", want), func(b *testing.B) {
					for b.Loop() {
						if all, _, err := s.List(b.Context(), folder); len(all) != want || err != nil {
							b.Fatal(len(all), err)
						}
					}
				})
			}
		})
	}
}
