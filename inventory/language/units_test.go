package language

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestUnits(t *testing.T) {
	plain := func(parse func(string) (int64, error)) func(string) (float64, error) {
		return func(s string) (float64, error) {
			n, err := parse(s)
			return float64(n), err
		}
	}
	sizes, rates, bandwidths := plain(parseSize), plain(parseRate), plain(parseBandwidth)
	durations := func(s string) (float64, error) {
		d, err := parseDuration(s)
		return float64(d), err
	}
	for _, c := range []struct {
		parse func(string) (float64, error)
		text  string
		want  float64
	}{
		{sizes, "150KB", 150_000},
		{sizes, "150kB", 150_000},
		{sizes, "150KiB", 153_600},
		{sizes, "512B", 512},
		{sizes, "2TiB", 2 << 40},
		{sizes, "1.5GB", 1_500_000_000},
		{sizes, "0B", 0},
		{rates, "100G", 100e9},
		{rates, "2.5Gbit/s", 2.5e9},
		{bandwidths, "1GB", 1e9},
		{bandwidths, "1MiB/s", 1 << 20},
		{durations, "30us", 30e3},
		{durations, "30µs", 30e3},
		{durations, "0", 0},
		{durations, "1h30m", float64(90 * time.Minute)},
		{durations, "2d", float64(48 * time.Hour)},
		{durations, "0.5ms", 500e3},
		{parsePercent, "10%", 0.1},
		{parsePercent, "2.5%", 0.025},
	} {
		if got, err := c.parse(c.text); err != nil || got != c.want {
			t.Errorf("%q is %v, %v; want %v", c.text, got, err, c.want)
		}
	}
	for _, c := range []struct {
		parse  func(string) (float64, error)
		text   string
		offset int
		says   string
	}{
		{sizes, "", 0, "starts with a number"},
		{sizes, "-1KB", 0, "starts with a number"},
		{sizes, "10", 2, "has no unit"},
		{sizes, "10Kb", 2, `"Kb" is not a unit`},
		{sizes, "10KB!", 2, `"KB!" is not a unit`},
		{sizes, "10KB 5", 4, `" 5" after the size`},
		{sizes, "0.5B", 0, "whole number of bytes"},
		{sizes, "9000000TiB", 0, "too large"},
		{sizes, "1.2.3B", 0, "not a number"},
		{sizes, strings.Repeat("1", 50) + "B", 0, "too many digits"},
		{rates, "100GB", 3, "not a unit"},
		{durations, "5", 1, "has no unit"},
		{durations, "1h30", 4, "has no unit"},
		{durations, "1h30x", 4, "not a unit"},
		{durations, "1h 30m", 2, "starts with a number"},
		{durations, "200000d", 0, "too large"},
		{durations, "100000d100000d", 0, "too long"},
		{parsePercent, "10", 2, `ends in "%"`},
		{parsePercent, "x%", 0, "starts with a number"},
		{parsePercent, "1x%", 1, "neither"},
	} {
		_, err := c.parse(c.text)
		var u *unitError
		switch {
		case !errors.As(err, &u):
			t.Errorf("%q: %v", c.text, err)
		case u.offset != c.offset || !strings.Contains(u.msg, c.says):
			t.Errorf("%q: %q at %d, want %q at %d", c.text, u.msg, u.offset, c.says, c.offset)
		}
	}
}

func TestVersions(t *testing.T) {
	for constraint, want := range map[string]bool{
		">= 0.1": true, "0.1.0": true, "= 0.1": true, "> 0.1": false, "< 1": true, "!= 0.1": false, "<= 0.0.9": false,
		"~> 0.1": true, "~> 0.1.0": true, "~> 0.2": false, "~> 1": false, ">= 0.1, < 0.2": true, ">= 0.1, < 0.1": false,
	} {
		if got, err := satisfies("0.1.0", constraint); err != nil || got != want {
			t.Errorf("%q: %v, %v", constraint, got, err)
		}
	}
	for _, bad := range []string{"", "=> 1", "1.2.3.4", "v1", "1.", ">= 0.1,"} {
		if _, err := satisfies("0.1.0", bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestPartition(t *testing.T) {
	for text, want := range map[string]uint16{"0x8001": 0x8001, "0x7fff": 0x7fff, "0x7FFF": 0x7fff} {
		if got, err := parsePartition(text); err != nil || got != want {
			t.Errorf("%s: %#x, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0x", "8001", "0x8000", "0x0000", "0x1", "0x18001", "0x80g1", "0x+001", "32769"} {
		if got, err := parsePartition(text); err == nil {
			t.Errorf("%q is %#x", text, got)
		}
	}
}
