package guest

import (
	"net"
	"testing"
)

// frame is one to a MAC that ends with a byte, with so many bytes of an IP
// packet of a version, or without one.
func frame(to byte, tos, version int) string {
	text := "\x02\x00\x00\x00\x00" + string([]byte{to}) + "\x02\x00\x00\x00\x00\x09"
	switch version {
	case 4:
		return text + "\x08\x00\x45" + string([]byte{byte(tos)}) + "rest of it"
	case 6:
		return text + "\x86\xdd" + string([]byte{6<<4 | byte(tos>>4), byte(tos << 4)}) + "rest of it"
	}
	return text + "\x08\x06 who has it"
}

func TestPassages(t *testing.T) {
	h := NewHub("a")
	told := make(chan Passage, 10)
	h.watch = func(p Passage) { told <- p }
	var far []net.Conn
	for n := range 3 {
		near, other := net.Pipe()
		if _, err := h.Plug(Card{Guest: "g", PCI: string(rune('0' + n)), MAC: "02:00:00:00:00:0" + string(rune('0'+n))}, near); err != nil {
			t.Fatal(err)
		}
		far = append(far, other)
	}
	defer h.Close()
	for _, c := range []struct {
		name, frame, to string
		dscp            int
	}{
		{"IPv4", frame(1, 104, 4), "1", 26},
		{"IPv6", frame(2, 104|3, 6), "2", 26},
		{"of a VLAN", frame(1, 0, 4)[:12] + "\x81\x00\x60\x05" + frame(1, 192, 4)[12:], "1", 48},
		{"no IP", frame(1, 0, 0), "1", 0},
		{"short", frame(1, 104, 4)[:15], "1", 0},
		{"to nobody, then all", frame(9, 104, 4), "", 26},
	} {
		t.Run(c.name, func(t *testing.T) {
			send(t, far[0], c.frame)
			want(t, far[1], c.frame)
			want(t, far[2], c.frame)
			if c.to == "" { // nothing is told of it, but of the next one
				all := "\xff\xff\xff\xff\xff\xff" + c.frame[6:]
				send(t, far[0], all)
				want(t, far[1], all)
				want(t, far[2], all)
				c.frame, c.to = all, "1"
				defer func() {
					if p := <-told; p.To.PCI != "2" {
						t.Errorf("told of %+v", p)
					}
				}()
			}
			if p := <-told; p.From.PCI != "0" || p.To.PCI != c.to || p.DSCP != c.dscp || p.Bytes != len(c.frame) {
				t.Errorf("told of %+v", p)
			}
		})
	}
	for _, c := range far {
		_ = c.Close()
	}
}

func FuzzDSCP(f *testing.F) {
	for _, version := range []int{0, 4, 6} {
		f.Add([]byte(frame(1, 104, version)))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if d := dscp(frame); d < 0 || d > 63 {
			t.Errorf("DSCP %d", d)
		}
		_ = Card{}.takes(frame)
	})
}
