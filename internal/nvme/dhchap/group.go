package dhchap

import (
	"fmt"
	"io"
	"math/big"
	"sync"

	"filippo.io/bigmod"
)

// Group is a Diffie-Hellman group by its number on the wire.
type Group uint8

// The groups of RFC 7919. Null is the exchange without Diffie-Hellman.
const (
	Null      Group = 0
	FFDHE2048 Group = 1
	FFDHE3072 Group = 2
	FFDHE4096 Group = 3
	FFDHE6144 Group = 4
	FFDHE8192 Group = 5
)

// numbers are the size in bits of a group, and the number that makes its
// prime a safe one: RFC 7919, appendix A.
func (g Group) numbers() (bits uint, x int64) {
	switch g {
	case FFDHE2048:
		return 2048, 560316
	case FFDHE3072:
		return 3072, 2625351
	case FFDHE4096:
		return 4096, 5736041
	case FFDHE6144:
		return 6144, 15705020
	case FFDHE8192:
		return 8192, 10965728
	}
	return 0, 0
}

// ParseGroup reads "null" or "ffdhe2048" to "ffdhe8192".
func ParseGroup(s string) (Group, error) {
	for g := Null; g <= FFDHE8192; g++ {
		if s == g.String() {
			return g, nil
		}
	}
	return Null, fmt.Errorf("group %q is none of null, ffdhe2048, ffdhe3072, ffdhe4096, ffdhe6144, ffdhe8192", s)
}

// String is the name that ParseGroup reads.
func (g Group) String() string {
	if bits, _ := g.numbers(); bits != 0 {
		return fmt.Sprintf("ffdhe%d", bits)
	}
	if g == Null {
		return "null"
	}
	return fmt.Sprintf("group %d", uint8(g))
}

func (g Group) known() bool { return g <= FFDHE8192 }

// Size is the length of the group's values in bytes.
func (g Group) Size() int {
	bits, _ := g.numbers()
	return int(bits / 8)
}

// moduli are the primes, computed once each; nobody changes them.
var moduli = [...]func() (*bigmod.Modulus, error){
	FFDHE2048: sync.OnceValues(FFDHE2048.modulus),
	FFDHE3072: sync.OnceValues(FFDHE3072.modulus),
	FFDHE4096: sync.OnceValues(FFDHE4096.modulus),
	FFDHE6144: sync.OnceValues(FFDHE6144.modulus),
	FFDHE8192: sync.OnceValues(FFDHE8192.modulus),
}

func (g Group) modulus() (*bigmod.Modulus, error) { return bigmod.NewModulus(g.prime().Bytes()) }

// prime is 2^b − 2^(b−64) + (⌊2^(b−130)·e⌋ + x)·2^64 − 1, as RFC 7919 defines
// it; nil for no group. It takes a millisecond or two.
func (g Group) prime() *big.Int {
	bits, x := g.numbers()
	if bits == 0 {
		return nil
	}
	// e is the sum of 1/n!; some bits more than are needed take up what the
	// divisions cut off.
	const guard = 64
	e, term := new(big.Int), new(big.Int).Lsh(big.NewInt(1), bits-130+guard)
	for n := int64(1); term.Sign() > 0; n++ {
		e.Add(e, term)
		term.Quo(term, big.NewInt(n))
	}
	p := e.Rsh(e, guard)
	p.Add(p, big.NewInt(x)).Lsh(p, 64)
	one := big.NewInt(1)
	p.Add(p, new(big.Int).Lsh(one, bits))
	p.Sub(p, new(big.Int).Lsh(one, bits-64))
	return p.Sub(p, one)
}

// exponentBytes is the length of a private exponent: twice the strength of the
// strongest group and some more. RFC 7919 section 5.2.
const exponentBytes = 64

// An exchange is one end's part in a Diffie-Hellman exchange. It is made for
// one authentication and then forgotten. How long its powers take tells nothing of
// its exponent: math/big promises that of none of its functions.
type exchange struct {
	group   Group
	prime   *bigmod.Modulus
	private []byte
}

func (g Group) exchange(random io.Reader) (*exchange, error) {
	if g == Null {
		return &exchange{group: g}, nil
	}
	secret := make([]byte, exponentBytes)
	if _, err := io.ReadFull(random, secret); err != nil {
		return nil, fmt.Errorf("reading random bytes: %w", err)
	}
	prime, err := moduli[g]()
	return &exchange{g, prime, secret}, err
}

// public is the value for the other end; nil of the null group.
func (x *exchange) public() []byte {
	if x.group == Null {
		return nil
	}
	return x.power(bigmod.NewNat().SetUint(2).ExpandFor(x.prime))
}

// power is a base, less than the prime, raised to the exponent.
func (x *exchange) power(base *bigmod.Nat) []byte {
	return bigmod.NewNat().Exp(base, x.private, x.prime).Bytes(x.prime)
}

// shared is the session key from the other end's value; nil of the null group.
// A value that would give the key away is refused.
func (x *exchange) shared(public []byte) (key []byte, ok bool) {
	if len(public) != x.group.Size() {
		return nil, false
	}
	if x.group == Null {
		return nil, true
	}
	y, err := bigmod.NewNat().SetBytes(public, x.prime) // fails unless it is less than the prime
	if err != nil || y.IsZero() == 1 || y.IsOne() == 1 || y.IsMinusOne(x.prime) == 1 {
		return nil, false
	}
	return x.power(y), true
}
