package language

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/slice"
)

// A unitError says where in a text a unit could not be read.
type unitError struct {
	offset int // in bytes
	msg    string
}

func (e *unitError) Error() string { return e.msg }

// A unit is a suffix and what it multiplies by.
type unit struct {
	suffix string
	factor int64
}

// Sizes are in bytes: KB is a thousand, KiB is 1024.
func sizeUnits() []unit {
	return []unit{
		{"B", 1}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15},
		{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	}
}

// Rates are in bits a second.
func rateUnits() []unit {
	return []unit{{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}
}

func durationUnits() []unit {
	return []unit{
		{"ns", int64(time.Nanosecond)}, {"us", int64(time.Microsecond)}, {"µs", int64(time.Microsecond)},
		{"ms", int64(time.Millisecond)}, {"s", int64(time.Second)}, {"m", int64(time.Minute)},
		{"h", int64(time.Hour)}, {"d", 24 * int64(time.Hour)},
	}
}

// parseSize reads "150KB" or "2TiB" as bytes.
func parseSize(s string) (int64, error) {
	return parseOne(s, "size", sizeUnits())
}

// ParseSize reads a size such as "150KB" or "2TiB" as bytes, for flags.
func ParseSize(s string) (int64, error) { return parseSize(s) }

// parseBandwidth reads "1GB" or "1GB/s" as bytes a second.
func parseBandwidth(s string) (int64, error) {
	return parseOne(strings.TrimSuffix(s, "/s"), "bandwidth", sizeUnits())
}

// parseRate reads "100G" or "100Gbit/s" as bits a second.
func parseRate(s string) (int64, error) {
	return parseOne(strings.TrimSuffix(s, "bit/s"), "rate", rateUnits())
}

// parseDuration reads "30us", "5m" or "1h30m". There are no negative ones.
func parseDuration(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	var total int64
	for rest := s; ; {
		n, left, err := quantity(rest, "duration", durationUnits())
		if err != nil {
			err.offset += len(s) - len(rest)
			return 0, err
		}
		if total += n; total < 0 {
			return 0, &unitError{0, "the duration is too long"}
		}
		if left == "" {
			return time.Duration(total), nil
		}
		rest = left
	}
}

// parsePercent reads "10%" as 0.1.
func parsePercent(s string) (float64, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return 0, &unitError{len(s), `a percentage ends in "%", as in "10%"`}
	}
	r, rest, err := number(digits, "percentage")
	if err != nil {
		return 0, err
	}
	if rest != "" {
		return 0, &unitError{len(digits) - len(rest), fmt.Sprintf("a percentage is a number and \"%%\"; %q is neither", rest)}
	}
	f, _ := new(big.Rat).Quo(r, big.NewRat(100, 1)).Float64()
	return f, nil
}

// parseOne reads one number with one unit and nothing after it.
func parseOne(s, what string, units []unit) (int64, error) {
	n, rest, err := quantity(s, what, units)
	if err != nil {
		return 0, err
	}
	if rest != "" {
		return 0, &unitError{len(s) - len(rest), fmt.Sprintf("%q after the %s", rest, what)}
	}
	return n, nil
}

// quantity reads a number and its unit from the start of s and returns what
// is left of s.
func quantity(s, what string, units []unit) (n int64, rest string, err *unitError) {
	r, rest, err := number(s, what)
	if err != nil {
		return 0, "", err
	}
	word := rest
	if i := strings.IndexAny(rest, "0123456789. "); i >= 0 {
		word = rest[:i]
	}
	i := slices.IndexFunc(units, func(u unit) bool { return u.suffix == word })
	if i < 0 {
		return 0, "", &unitError{len(s) - len(rest), unknownUnit(word, what, units)}
	}
	r.Mul(r, new(big.Rat).SetInt64(units[i].factor))
	if !r.IsInt() {
		return 0, "", &unitError{0, fmt.Sprintf("the %s is not a whole number of %ss", what, smallest(what))}
	}
	if !r.Num().IsInt64() {
		return 0, "", &unitError{0, fmt.Sprintf("the %s is too large", what)}
	}
	return r.Num().Int64(), rest[len(word):], nil
}

// number reads digits with at most one point from the start of s.
func number(s, what string) (r *big.Rat, rest string, err *unitError) {
	end := len(s)
	if i := strings.IndexFunc(s, func(c rune) bool { return (c < '0' || c > '9') && c != '.' }); i >= 0 {
		end = i
	}
	if end == 0 {
		return nil, "", &unitError{0, fmt.Sprintf("a %s starts with a number", what)}
	}
	// Nothing that is measured here has more digits; longer ones cost memory.
	if end > 40 {
		return nil, "", &unitError{0, fmt.Sprintf("the %s has too many digits", what)}
	}
	r, ok := new(big.Rat).SetString(s[:end])
	if !ok {
		return nil, "", &unitError{0, fmt.Sprintf("%q is not a number", s[:end])}
	}
	return r, s[end:], nil
}

func unknownUnit(word, what string, units []unit) string {
	names := slice.Map(units, func(u unit) string { return u.suffix })
	list := strings.Join(names, ", ")
	if word == "" {
		return fmt.Sprintf("the %s has no unit; one of %s must follow the number", what, list)
	}
	return fmt.Sprintf("%q is not a unit of a %s; there are %s", word, what, list)
}

func smallest(what string) string {
	switch what {
	case "duration":
		return "nanosecond"
	case "rate":
		return "bit"
	}
	return "byte"
}

// parsePartition reads the key of an InfiniBand partition, as the files of
// opensm and sysfs write it: 0x8001, or 0x0001 of its limited members.
func parsePartition(s string) (uint16, error) {
	digits, hex := strings.CutPrefix(s, "0x")
	n, err := strconv.ParseUint(digits, 16, 16)
	switch {
	case !hex || len(digits) != 4 || err != nil:
		return 0, errors.New("a partition key has the form 0x and four hexadecimal digits")
	case n&0x7fff == 0:
		return 0, errors.New("0 is not a valid partition number")
	}
	return uint16(n), nil
}
