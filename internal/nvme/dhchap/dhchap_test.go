package dhchap

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"weft/internal/nvme/wire"
)

const (
	hostNQN = "nqn.2026-11.net.example:host"
	subNQN  = "nqn.2026-11.net.example:data"
)

func secret(t testing.TB, text string) Secret {
	t.Helper()
	s, err := ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Keys of ascending bytes from 1 on, made by another program.
const (
	plain32 = "DHHC-1:00:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAl7OaH:"
	hash32  = "DHHC-1:01:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAl7OaH:"
	hash48  = "DHHC-1:02:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wyg3Bcw==:"
	hash64  = "DHHC-1:03:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/QJn7gCg=:"
)

func TestParseSecret(t *testing.T) {
	for text, size := range map[string]int{
		plain32: 32, hash32: 32, hash48: 48, hash64: 64, " " + plain32 + "\n": 32,
		"DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:": 32, // as documentation of other software has it
	} {
		s := secret(t, text)
		if len(s.key) != size || s.Reveal() != strings.TrimSpace(text) {
			t.Errorf("%s: %d bytes, written as %s", text, len(s.key), s.Reveal())
		}
		for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s)} {
			if strings.Contains(shown, s.Reveal()[10:20]) || strings.Contains(shown, "0x") {
				t.Errorf("a secret is shown: %s", shown)
			}
		}
	}
	for text, want := range map[string]string{
		"": "begin", "DHHC-2:00:x:": "begin", "DHHC-1:00": "form", "DHHC-1:00:AQID": "form", "DHHC-1:0:AQID:": "form",
		"DHHC-1:04" + plain32[9:]: "hash", "DHHC-1:zz" + plain32[9:]: "hash", "DHHC-1:00:!!!!:": "base64", "DHHC-1:00:AQIDBA==:": "bytes long",
		strings.Replace(plain32, "AQID", "AQIE", 1): "checksum", strings.Replace(plain32, "AQID", "AQ\nID", 1): "base64",
	} {
		if _, err := ParseSecret(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestNewSecret(t *testing.T) {
	for _, h := range []Hash{SHA256, SHA384, SHA512} {
		s, err := NewSecret(h, rand.Reader)
		if err != nil || len(s.key) != h.Size() || s.Empty() {
			t.Errorf("%v: %d bytes, %v", h, len(s.key), err)
		}
		if back := secret(t, s.Reveal()); string(back.key) != string(s.key) || back.hash != h {
			t.Errorf("%v is another secret when written and read", h)
		}
	}
	if _, err := NewSecret(None, rand.Reader); err == nil {
		t.Error("a secret without a hash")
	}
	if _, err := NewSecret(SHA256, strings.NewReader("short")); err == nil {
		t.Error("a secret from too little")
	}
}

// The digests are of the primes that OpenSSL has for these groups.
func TestPrimes(t *testing.T) {
	for g, want := range map[Group]string{
		FFDHE2048: "9cd3b7f336872f46c09428d1bbc19877a4d440512cda8d1c1cf0cd6e33698966",
		FFDHE3072: "0eaf67db3a839156d5013494a5318a772b5697d270d721f37f092efc69ea5a17",
		FFDHE4096: "4648414224ac881b3d0dc59b466f96d06a558278776807797ecf1f66ff397b3e",
		FFDHE6144: "227ac9066b3ddd9e193670cda2388fa884f65ba0cf98b742d1fe77a6687c79c7",
		FFDHE8192: "770b14efaf6f049929c523113b3fa99a8d11dab1b18af3609590122075d19833",
	} {
		p := g.prime()
		if got := sha256.Sum256(p.Bytes()); hex.EncodeToString(got[:]) != want || p.BitLen() != g.Size()*8 {
			t.Errorf("%v is %d bits, %x", g, p.BitLen(), got)
		}
	}
	if Null.prime() != nil || Null.Size() != 0 || Group(6).known() {
		t.Error("null is a group with numbers, or 6 is one")
	}
}

func TestNames(t *testing.T) {
	for g := Null; g.known(); g++ {
		if back, err := ParseGroup(g.String()); err != nil || back != g {
			t.Errorf("%v is read as %v, %v", g, back, err)
		}
	}
	for h := SHA256; h <= SHA512; h++ {
		if back, err := ParseHash(h.String()); err != nil || back != h {
			t.Errorf("%v is read as %v, %v", h, back, err)
		}
	}
	if _, err := ParseGroup("ffdhe1024"); err == nil {
		t.Error("ffdhe1024 is a group")
	}
	if _, err := ParseHash("none"); err == nil {
		t.Error("none is a hash")
	}
}

// The responses were computed by another program.
func TestResponses(t *testing.T) {
	session := make([]byte, 256)
	for i := range session {
		session[i] = byte(i)
	}
	for _, c := range []struct {
		secret     string
		hash       Hash
		session    []byte
		host, ctrl string
	}{
		{plain32, SHA256, nil, "add2a5b7d78a90e4d69708005065856404a7b42671fd7c24dec51d2bc794c034", "c314021ca035248581f5f44768c9687bc79657d3db12de6374a8ccb94b9ad333"},
		{hash32, SHA256, nil, "1f6ec4dd54e64b102be9449a0f7127e164c2bb287b77ca4ca1bea7b211dc3b0b", "0cc4acde38101ab1943caa76fa95121bef250a15efb7be7e0074fdd6609709c8"},
		{hash48, SHA512, nil, "cb1b17c1657ee6d7234c9eafe1873587b69840b4df4a73c4cbe97b1591a7c509ffa7b691d48d04aac1170da1054a172203cb289c822eb8db4d559a386e63c7d3",
			"d7a5f55bfe506eeb5069b0716b9d453c95c1d2f5fafc2db2e43e4aa5c42f5d8ec3820689bdf8bf566a0c72c89139adb3c8f1c3db8c3c8131d2b5160869893663"},
		{hash64, SHA384, session, "66e1cc82cfd4bedb5e6323ad6d6609daf0695460d2a5c5c0770f9403096f4a6d4938b9fa25998c29e782f9d1987335a6",
			"f9a943432a21f96a274c2cb58c981b6fbcc8f10318b31708d741ecab66ca2ed6c4727c73355dbb96d57700cbe4513936"},
	} {
		r := round{hash: c.hash, transaction: 0x0506, session: c.session, host: hostNQN, sub: subNQN}
		challenge := make([]byte, c.hash.Size())
		for i := range challenge {
			challenge[i] = byte(7 * i)
		}
		s := secret(t, c.secret)
		if got := hex.EncodeToString(r.ofHost(s, challenge, 0x01020304)); got != c.host {
			t.Errorf("host with %v: %s", c.hash, got)
		}
		if got := hex.EncodeToString(r.ofController(s, challenge, 0x01020304)); got != c.ctrl {
			t.Errorf("controller with %v: %s", c.hash, got)
		}
	}
}

func peer(t testing.TB, both bool) Peer {
	p := Peer{HostNQN: hostNQN, SubNQN: subNQN, Host: secret(t, hash32), Random: rand.Reader}
	if both {
		p.Sub = secret(t, hash48)
	}
	return p
}

// join is what carries messages between both ends.
func join(c *Controller) func(wire.Command, []byte) error {
	return func(cmd wire.Command, data []byte) error {
		if !cmd.Auth().Receive {
			_ = c.Send(data)
			return nil
		}
		out, err := c.Receive()
		copy(data, out)
		return err
	}
}

func TestAuthentication(t *testing.T) {
	for _, both := range []bool{false, true} {
		for _, h := range []Hash{SHA256, SHA384, SHA512} {
			for g := Null; g <= FFDHE3072; g++ {
				p := peer(t, both)
				p.Hashes, p.Groups = []Hash{h}, []Group{g}
				c := NewController(p)
				if c.Authenticated() {
					t.Error("authenticated from the start")
				}
				if err := NewHost(p, 7).Run(join(c)); err != nil || !c.Authenticated() || c.Failed() != nil {
					t.Errorf("%v, %v, both ways %v: %v, %v", h, g, both, err, c.Failed())
				}
				if c.round.hash != h || c.round.group != g {
					t.Errorf("agreed on %v and %v, want %v and %v", c.round.hash, c.round.group, h, g)
				}
				// And again on the same queue.
				if err := NewHost(p, 8).Run(join(c)); err != nil || !c.Authenticated() {
					t.Errorf("again: %v", err)
				}
			}
		}
	}
}

func TestLargeGroups(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for g := FFDHE4096; g <= FFDHE8192; g++ {
		p := peer(t, true)
		p.Groups = []Group{g}
		c := NewController(p)
		if err := NewHost(p, 7).Run(join(c)); err != nil || !c.Authenticated() {
			t.Errorf("%v: %v", g, err)
		}
	}
}

func TestAuthenticationFails(t *testing.T) {
	other := secret(t, "DHHC-1:00:ia6zGodOr4SEG0Zzaw398rpY0wqipUWj4jWjUh4HWUz6aQ2n:")
	for name, c := range map[string]struct {
		host, ctrl func(*Peer)
		want       wire.AuthReason
	}{
		"host's secret":    {func(p *Peer) { p.Host = other }, nil, wire.AuthFailed},
		"hash of secret":   {func(p *Peer) { p.Host = secret(t, plain32) }, nil, wire.AuthFailed},
		"host's name":      {func(p *Peer) { p.HostNQN += "x" }, nil, wire.AuthFailed},
		"subsystem's name": {func(p *Peer) { p.SubNQN += "x" }, nil, wire.AuthFailed},
		"other secret":     {func(p *Peer) { p.Sub = other }, nil, wire.AuthFailed},
		"no secret to ask": {nil, func(p *Peer) { p.Sub = Secret{} }, wire.AuthFailed},
		"hashes":           {func(p *Peer) { p.Hashes = []Hash{SHA256} }, func(p *Peer) { p.Hashes = []Hash{SHA512} }, wire.AuthHashUnusable},
		"groups":           {func(p *Peer) { p.Groups = []Group{Null} }, func(p *Peer) { p.Groups = []Group{FFDHE2048} }, wire.AuthGroupUnusable},
		"no hash at all":   {func(p *Peer) { p.Hashes = []Hash{None, 9} }, func(p *Peer) { p.Hashes = []Hash{None, 9} }, wire.AuthHashUnusable},
	} {
		hp, cp := peer(t, true), peer(t, true)
		if c.host != nil {
			c.host(&hp)
		}
		if c.ctrl != nil {
			c.ctrl(&cp)
		}
		ctrl := NewController(cp)
		err := NewHost(hp, 7).Run(join(ctrl))
		if !errors.Is(err, c.want) || ctrl.Authenticated() || ctrl.Failed() == nil {
			t.Errorf("%s: the host says %v, the controller %v, want %v", name, err, ctrl.Failed(), c.want)
		}
		// One that has failed does not begin again.
		if err := NewHost(peer(t, true), 8).Run(join(ctrl)); err == nil || ctrl.Authenticated() {
			t.Errorf("%s: authenticated afterwards", name)
		}
	}
}

// Powers are those of math/big.
func TestPowers(t *testing.T) {
	for g := FFDHE2048; g <= FFDHE8192; g++ {
		x, err := g.exchange(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		base, err := rand.Int(rand.Reader, g.prime())
		if err != nil {
			t.Fatal(err)
		}
		want := func(y *big.Int) []byte {
			return new(big.Int).Exp(y, new(big.Int).SetBytes(x.private), g.prime()).FillBytes(make([]byte, g.Size()))
		}
		if got := x.public(); !bytes.Equal(got, want(big.NewInt(2))) {
			t.Errorf("%v: the public value of %x is %x", g, x.private, got)
		}
		if got, ok := x.shared(base.FillBytes(make([]byte, g.Size()))); !ok || !bytes.Equal(got, want(base)) {
			t.Errorf("%v: %x to the power of %x is %x", g, base, x.private, got)
		}
	}
}

// A value that leaves no secret in the session key is refused by both ends.
func TestWeakValues(t *testing.T) {
	p := FFDHE2048.prime()
	x, err := FFDHE2048.exchange(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	one := big.NewInt(1)
	for name, y := range map[string]*big.Int{"0": new(big.Int), "1": one, "p-1": new(big.Int).Sub(p, one), "p": p, "p+1": new(big.Int).Add(p, one)} {
		if _, ok := x.shared(y.FillBytes(make([]byte, 256))); ok {
			t.Errorf("%s is taken", name)
		}
	}
	for _, n := range []int{0, 255, 257} {
		if _, ok := x.shared(make([]byte, n)); ok {
			t.Errorf("%d bytes are taken", n)
		}
	}
	if _, ok := (&exchange{}).shared([]byte{1}); ok {
		t.Error("the null group takes a value")
	}
}

// The order of messages is kept, and what must not come is not authenticated.
func TestOrder(t *testing.T) {
	success2 := func(transaction uint16) []byte {
		m := wire.AuthSuccess2{AuthMessage: wire.AuthMessage{Type: wire.AuthDHCHAP, ID: wire.AuthSuccess2ID, Transaction: transaction}}
		b, _ := m.AppendBinary(nil)
		return b
	}
	c := NewController(peer(t, true))
	if c.Send(success2(0)) == nil || c.Authenticated() {
		t.Error("success without anything")
	}
	c = NewController(peer(t, true))
	if _, err := c.Receive(); err != nil || c.Failed() == nil {
		t.Error("a challenge without negotiation")
	}
	h := NewHost(peer(t, true), 7)
	c = NewController(peer(t, true))
	offer, _ := h.Negotiate()
	if err := c.Send(offer); err != nil {
		t.Fatal(err)
	}
	b, _ := c.Receive()
	reply, err := h.Challenge(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Send(reply); err != nil || c.Authenticated() {
		t.Fatal("authenticated before the host is content", err)
	}
	if c.Send(success2(7)) == nil || c.Authenticated() {
		t.Error("success 2 before success 1")
	}
	for _, short := range [][]byte{nil, {0}, reply[:15]} {
		if NewController(peer(t, true)).Send(short) == nil {
			t.Errorf("%d bytes are a message", len(short))
		}
	}
}

// A host that says the controller has failed is not authenticated.
func TestHostRefuses(t *testing.T) {
	c := NewController(peer(t, true))
	hp := peer(t, true)
	hp.Sub = secret(t, hash64)
	if err := NewHost(hp, 7).Run(join(c)); !errors.Is(err, wire.AuthFailed) || !errors.Is(c.Failed(), wire.AuthFailed) || c.Authenticated() {
		t.Errorf("the host says %v, the controller %v", err, c.Failed())
	}
}
