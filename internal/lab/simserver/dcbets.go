//go:build unix

package simserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// etsState is the transmission selection of an interface, as dcb prints it.
type etsState struct {
	Willing    bool      `json:"willing"`
	Cap        int       `json:"ets_cap"`
	CBS        bool      `json:"cbs"`
	TCBW       [8]int    `json:"tc_bw"`
	PGBW       [8]int    `json:"pg_bw"`
	TCTSA      [8]string `json:"tc_tsa"`
	PrioTC     [8]int    `json:"prio_tc"`
	RecoTCBW   [8]int    `json:"reco_tc_bw"`
	RecoTCTSA  [8]string `json:"reco_tc_tsa"`
	RecoPrioTC [8]int    `json:"reco_prio_tc"`
}

// etsAtBoot is what a fresh card answers.
func etsAtBoot() etsState {
	return etsState{Cap: 8, TCTSA: all("vendor"), PrioTC: [8]int{1, 0, 2, 3, 4, 5, 6, 7}, RecoTCTSA: all("strict")}
}

func all(s string) (list [8]string) {
	for n := range list {
		list[n] = s
	}
	return list
}

func (e *etsState) text() string {
	return fmt.Sprintf("willing %s ets-cap %d cbs %s \n", onOff(e.Willing), e.Cap, onOff(e.CBS)) +
		named("tc-bw", e.TCBW) + named("pg-bw", e.PGBW) + named("tc-tsa", e.TCTSA) + named("prio-tc", e.PrioTC) +
		named("reco-tc-bw", e.RecoTCBW) + named("reco-tc-tsa", e.RecoTCTSA) + named("reco-prio-tc", e.RecoPrioTC)
}

// named is a line of values, each with its index.
func named[V any](name string, list [8]V) string {
	line := name + " "
	for n, v := range list {
		line += fmt.Sprintf("%d:%v ", n, v)
	}
	return line + "\n"
}

// setETS is dcb ets set dev NAME { willing { on | off } | prio-tc MAP | tc-tsa MAP | tc-bw MAP }…
func (c *dcbCall) setETS(name string, args []string) int {
	shares := func(e *etsState) int { return map[bool]int{true: 100}[slices.Contains(e.TCTSA[:], "ets")] }
	return c.set(name, args, dcbObject{
		take: func(i *iface, word string, values []string) (int, string) {
			switch m := mappings(values); {
			case word == "willing" && len(values) > 0 && (values[0] == "on" || values[0] == "off"):
				i.ets.Willing = values[0] == "on"
				return 1, ""
			case word == "prio-tc":
				return len(m), mapAll(m, word, "PRIO:TC", &i.ets.PrioTC, number("PRIO:TC", 7))
			case word == "tc-bw":
				return len(m), mapAll(m, word, "TC:BW", &i.ets.TCBW, number("TC:BW", 100))
			case word == "tc-tsa":
				return len(m), mapAll(m, word, "TC:TSA", &i.ets.TCTSA, selection)
			}
			return 0, ""
		},
		sum: func(i *iface) string {
			if total, _ := i.ets.sums(); total != 100 && total != shares(&i.ets) {
				return fmt.Sprintf("Bandwidth percentages in tc-bw sum to %d%%, expected %d%%", total, shares(&i.ets))
			}
			return ""
		},
		refuse: func(i *iface) string {
			if _, shared := i.ets.sums(); shared != shares(&i.ets) {
				return "Invalid argument"
			}
			return ""
		},
		keep: func(now, want *iface) { now.ets = want.ets },
	})
}

// sums are the shares of all traffic classes, which dcb counts, and those of
// ets, which the driver counts.
func (e *etsState) sums() (total, shared int) {
	for tc, bw := range e.TCBW {
		total += bw
		if e.TCTSA[tc] == "ets" {
			shared += bw
		}
	}
	return total, shared
}

// mapAll applies words like KEY:VALUE, where KEY may be "all"; it returns what
// dcb says to a wrong one. of names key and value: "PRIO:TC".
func mapAll[V any](words []string, attr, of string, list *[8]V, parse func(string) (v V, said string, ok bool)) string {
	for _, w := range words {
		key, value, _ := strings.Cut(w, ":")
		v, said, ok := parse(value)
		n, err := strconv.ParseUint(key, 0, 32)
		switch {
		case !ok:
		case key == "all":
			for n := range list {
				list[n] = v
			}
			continue
		case err == nil && n <= 7:
			list[n] = v
			continue
		case err == nil:
			what, _, _ := strings.Cut(of, ":")
			said = fmt.Sprintf("In %s mapping, %s is expected to be 0..7\n", of, what)
		}
		return fmt.Sprintf("%sInvalid %s mapping %s", said, attr, key)
	}
	return ""
}

// number parses a value of a mapping.
func number(of string, most uint64) func(string) (int, string, bool) {
	return func(s string) (int, string, bool) {
		n, err := strconv.ParseUint(s, 0, 8)
		if err == nil && n > most {
			_, what, _ := strings.Cut(of, ":")
			return 0, fmt.Sprintf("In %s mapping, %s is expected to be 0..%d\n", of, what, most), false
		}
		return int(n), "", err == nil
	}
}

// selection parses how a traffic class is selected.
func selection(s string) (string, string, bool) {
	if !slices.Contains([]string{"strict", "cbs", "ets", "vendor"}, s) {
		return "", fmt.Sprintf("dcb: the lab knows no TSA %q\n", s), false
	}
	return s, "", true
}
