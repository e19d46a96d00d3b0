package hub

import (
	"fmt"
	"testing"

	"weft/internal/store/nats"
)

// BenchmarkDocuments is what one change or read takes through a hub over loopback, one after
// another: as a person, whose changes pass the broker, and as the administrator, whose do not.
func BenchmarkDocuments(b *testing.B) {
	p := found(b, Founding{Plain: true})
	h := serve(b, p, Serving{Requests: 1_000_000})
	s := reach(b, p)
	person := credential(b, s, alice)
	admin, err := p.admin()
	if err != nil {
		b.Fatal(err)
	}
	admin.Owner = alice.Owner
	for _, c := range []struct {
		name string
		cred *nats.Credential
	}{{"broker", person}, {"direct", admin}} {
		for _, size := range []int{200, 256 << 10} {
			o := mustOpen(b, h.url, c.cred)
			value := make([]byte, size)
			key := fmt.Sprintf("run/%s-%d", c.name, size)
			at, err := o.Create(b.Context(), key, value)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("put/%d/%s", size, c.name), func(b *testing.B) {
				for b.Loop() {
					if at, err = o.Update(b.Context(), key, value, at); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("get/%d/%s", size, c.name), func(b *testing.B) {
				for b.Loop() {
					if _, err := o.Get(b.Context(), key); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
