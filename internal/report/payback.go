package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weft/internal/prove"
	"weft/internal/view"
)

// Figures are a site's own, by which it is told when RDMA has paid for itself. Money is in
// one currency, whichever it is.
type Figures struct {
	Plain   float64 `json:"plain"`   // what the network costs without RDMA
	RDMA    float64 `json:"rdma"`    // and with it
	Core    float64 `json:"core"`    // what a core costs in a month, with all that is paid by the core
	Traffic float64 `json:"traffic"` // of storage, of all hosts together, on average: Gbit/s
}

// ParseFigures reads figures by their names: all of them, and no other.
func ParseFigures(of map[string]string) (*Figures, error) {
	f := new(Figures)
	places := map[string]*float64{"plain": &f.Plain, "rdma": &f.RDMA, "core": &f.Core, "traffic": &f.Traffic}
	for name, text := range of {
		at := places[name]
		if at == nil {
			return nil, fmt.Errorf("there is no %q: it takes plain, rdma, core and traffic", name)
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s=%s: it is a number above 0, without a unit", name, text)
		}
		*at = v
		delete(places, name)
	}
	for _, name := range []string{"plain", "rdma", "core", "traffic"} {
		if places[name] != nil {
			return nil, fmt.Errorf("%s is missing: it takes plain, rdma, core and traffic", name)
		}
	}
	return f, nil
}

// A Payback is what reads of one size tell of when RDMA has paid for itself.
type Payback struct {
	Size   string
	Spared string // cores
	Saved  string // money a month
	After  string // when it has paid for itself
	Why    string // it is not known
}

// premium is what RDMA costs more, as a share of what the network costs without it.
func (f *Figures) premium() float64 { return f.RDMA/f.Plain - 1 }

// Premium says what RDMA costs more.
func (f *Figures) Premium() string {
	more := f.RDMA - f.Plain
	if more <= 0 {
		return "The network costs no more with RDMA than without it: there is nothing to pay back."
	}
	return fmt.Sprintf("The network costs %s with RDMA and %s without it: %s more, %.3g %%. A core costs %s a month, and storage moves %s Gbit/s on average.",
		money(f.RDMA), money(f.Plain), money(more), f.premium()*100, money(f.Core), money(f.Traffic))
}

// Paybacks are what was compared last by the site's figures, a line for each size.
func (r *Report) Paybacks() (out []Payback) {
	f := r.Figures
	if f == nil || f.premium() <= 0 {
		return nil
	}
	for _, s := range sparing(r.compared()) {
		p := Payback{Size: s.size, Why: s.why}
		if s.why == "" {
			low, high := s.Low*f.Traffic/1e6, s.High*f.Traffic/1e6
			p.Spared, p.Saved = between(low, high, ""), between(low*f.Core, high*f.Core, "")
			p.After = repaid(f.RDMA-f.Plain, low*f.Core, high*f.Core)
		}
		out = append(out, p)
	}
	return out
}

// compared are the comparisons that were made last.
func (r *Report) compared() []*prove.Comparison {
	for _, m := range slices.Backward(r.Measured) {
		if len(m.Result.Compared) > 0 {
			return m.Result.Compared
		}
	}
	return nil
}

// A spared is what reads of one size do without over RDMA, from the least of all pairs to the
// most: processor time for a gigabit, microseconds.
type spared struct {
	prove.Interval
	size, why string
}

func sparing(list []*prove.Comparison) (out []spared) {
	for _, c := range list {
		if !c.Both() {
			continue
		}
		size := view.Size(c.Size)
		i := slices.IndexFunc(out, func(s spared) bool { return s.size == size })
		one, why := c.Spared()
		switch {
		case i < 0:
			out = append(out, spared{one, size, why})
		case out[i].why != "": // of one pair it is not known
		case why != "":
			out[i].why = why
		default:
			out[i].Low, out[i].High = min(out[i].Low, one.Low), max(out[i].High, one.High)
		}
	}
	return out
}

// repaid says after how many months a sum is saved, of a least and a most a month.
func repaid(sum, least, most float64) string {
	switch {
	case most <= 0:
		return "never, by processor time"
	case least <= 0:
		return fmt.Sprintf("%.3g months at the soonest; that it saves anything is not certain", sum/most)
	}
	return between(sum/most, sum/least, " months")
}

// between is a span of numbers, as one where its ends are told alike.
func between(low, high float64, unit string) string {
	a, b := money(low), money(high)
	if a == b {
		return a + unit
	}
	return a + " to " + b + unit
}

// money is a sum with as many digits as it takes to be compared.
func money(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 3, 64), "-", "−", 1)
}

// notCounted is what the calculation leaves out, for whoever decides by it.
const notCounted = "It counts processor time, as it was measured here with many reads under way, and nothing else: not latency, not power, not what people do. A core that is free saves money only where it is used, or not bought."

// claims are what is published about RDMA, beside what was measured, and beside the site's figures.
func (r *Report) claims(list []*prove.Comparison) []prove.Claim {
	c := prove.Claim{Says: "a network for RDMA costs 20 to 40 % more, which is paid back in 12 to 18 months", From: prove.Commonly,
		Here: "not calculated: weft report --payback takes the site's own figures"}
	if f := r.Figures; f != nil {
		c.Here = fmt.Sprintf("%.3g %% more by the site's figures", f.premium()*100)
		for _, p := range r.Paybacks() {
			after := p.After
			if p.Why != "" {
				after = "not measured"
			}
			c.Here += fmt.Sprintf("; reads of %s: %s", p.Size, after)
		}
	}
	return append(prove.Claims(list), c)
}
