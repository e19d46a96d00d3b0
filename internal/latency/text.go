package latency

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// The text form is "1:" and, in base64, a row of varints: Min, Max, then for
// each bucket in use the distance of its lowest value from the one before and
// its count. An empty histogram is "1:" alone.
const version = "1:"

// MaxText is the longest text that UnmarshalText looks at, in bytes: every
// bucket in use with a large count each stays below it.
const MaxText = 1 << 20

// MarshalText returns the histogram as one line of printable ASCII without
// spaces; some ten bytes and another three or four for each bucket in use.
func (h *Histogram) MarshalText() ([]byte, error) {
	if h.Count() == 0 {
		return []byte(version), nil
	}
	raw := binary.AppendUvarint(nil, uint64(h.min))
	raw = binary.AppendUvarint(raw, uint64(h.max))
	last := int64(0)
	for _, b := range h.h.Distribution() {
		if b.Count == 0 {
			continue
		}
		raw = binary.AppendUvarint(raw, uint64(b.From-last))
		raw = binary.AppendUvarint(raw, uint64(b.Count))
		last = b.From
	}
	return base64.RawStdEncoding.AppendEncode([]byte(version), raw), nil
}

// UnmarshalText replaces the histogram by the one in text. The histogram is
// unchanged when that is an error.
func (h *Histogram) UnmarshalText(text []byte) error {
	got, err := decode(text)
	if err != nil {
		return fmt.Errorf("latency histogram: %w", err)
	}
	*h = *got
	return nil
}

func decode(text []byte) (*Histogram, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("%d bytes are more than %d", len(text), MaxText)
	}
	body, ok := strings.CutPrefix(string(text), version)
	if !ok {
		return nil, fmt.Errorf("unknown form: does not begin with %q", version)
	}
	raw, err := base64.RawStdEncoding.Strict().DecodeString(body)
	if err != nil {
		return nil, err
	}
	h := New()
	if len(raw) == 0 {
		return h, nil
	}
	r := reader{rest: raw}
	low, high := r.next(), r.next()
	for v := int64(0); r.err == nil && len(r.rest) > 0; {
		gap, n := r.next(), r.next()
		if r.err != nil {
			break
		}
		if gap > int64(Highest)-v || (gap == 0 && h.Count() > 0) {
			return nil, errors.New("bucket out of range or out of order")
		}
		if v += gap; !h.record(v, n) {
			return nil, fmt.Errorf("impossible count %d", n)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return h, h.setExact(low, high)
}

// setExact replaces the lowest values of the first and of the last bucket by
// the exact minimum and maximum, which must lie in these buckets.
func (h *Histogram) setExact(low, high int64) error {
	if h.Count() == 0 {
		return errors.New("no buckets")
	}
	if low > high || high > int64(Highest) || !h.h.ValuesAreEquivalent(low, h.min) || !h.h.ValuesAreEquivalent(high, h.max) {
		return fmt.Errorf("minimum %d or maximum %d is outside the buckets", low, high)
	}
	h.min, h.max = low, high
	return nil
}

// A reader takes varints off a slice; its first error stays.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) next() int64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > math.MaxInt64 {
		r.rest, r.err = nil, errors.New("truncated or oversized number")
		return 0
	}
	r.rest = r.rest[n:]
	return int64(v)
}
