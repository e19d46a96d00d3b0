package prove

import (
	"errors"
	"fmt"
	"math"
)

// An Interval is an estimate, and between what the true value lies with 95 % of
// confidence.
type Interval struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// map1 is the interval of an increasing function of what an interval is of.
func (i Interval) map1(f func(float64) float64) Interval {
	return Interval{f(i.Value), f(i.Low), f(i.High)}
}

// against holds an interval against a least and a most value. A limit within the
// interval leaves it open on which side of it the true value lies.
func (i Interval) against(least, most float64) Verdict {
	switch {
	case i.High < least || i.Low > most:
		return Fail
	case i.Low >= least && i.High <= most:
		return Pass
	}
	return Inconclusive
}

// mean is the mean of independent measurements of one thing, by Student's t.
func mean(all []float64) (Interval, error) {
	n := float64(len(all))
	if len(all) < 2 {
		return Interval{}, fmt.Errorf("%d blocks, and two are the least that says how far they differ", len(all))
	}
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	m, squares := sum/n, 0.0
	for _, x := range all {
		squares += (x - m) * (x - m)
	}
	half := student(len(all)-1) * math.Sqrt(squares/(n-1)/n)
	return Interval{m, m - half, m + half}, nil
}

// errNotPositive is why there is no quotient.
var errNotPositive = errors.New("a block has a value that is not above zero")

// quotient is by how much one thing is larger than another that was measured in the
// same blocks: the geometric mean of the quotients of the blocks. What changed from
// one block to the next, and was the same for both, is in neither the value nor the
// interval.
func quotient(above, below []float64) (Interval, error) {
	logs := make([]float64, min(len(above), len(below)))
	for i := range logs {
		if !(above[i] > 0 && below[i] > 0) {
			return Interval{}, errNotPositive
		}
		logs[i] = math.Log(above[i]) - math.Log(below[i])
	}
	of, err := mean(logs)
	return of.map1(math.Exp), err
}

// student is the 97.5 % quantile of Student's t with so many degrees of freedom, to
// three digits: from a table, and beyond it by the expansion of Cornish and Fisher
// (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5).
func student(freedom int) float64 {
	few := [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262}
	if freedom <= len(few) {
		return few[max(freedom, 1)-1]
	}
	const z = 1.959964
	n := float64(freedom)
	z3, z5, z7 := math.Pow(z, 3), math.Pow(z, 5), math.Pow(z, 7)
	return z + (z3+z)/(4*n) + (5*z5+16*z3+3*z)/(96*n*n) + (3*z7+19*z5+17*z3-15*z)/(384*n*n*n)
}
