package prove

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The values are those of tables.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 4: 2.776, 9: 2.262, 10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000, 120: 1.980, 1e6: 1.960} {
		if got := student(freedom); math.Abs(got-want) > 0.001 {
			t.Errorf("%d: %.4f, want %.3f", freedom, got, want)
		}
	}
	for n := 1; n < 500; n++ {
		if student(n) < student(n+1) {
			t.Errorf("%d degrees of freedom tell more than %d", n, n+1)
		}
	}
}

func TestMean(t *testing.T) {
	// Mean 5, standard deviation 2.582, t of 3 degrees 3.182.
	got, err := mean([]float64{2, 4, 6, 8})
	if err != nil || got.Value != 5 || math.Abs(got.High-5-4.108) > 0.002 || math.Abs(5-4.108-got.Low) > 0.002 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := mean([]float64{3, 3, 3}); err != nil || got != (Interval{3, 3, 3}) {
		t.Errorf("no difference: %+v, %v", got, err)
	}
	for _, few := range [][]float64{nil, {1}} {
		if _, err := mean(few); err == nil {
			t.Errorf("%v has an interval", few)
		}
	}
}

func TestQuotient(t *testing.T) {
	// Whatever a block has of its own, one is twice the other in each.
	got, err := quotient([]float64{2, 20, 200}, []float64{1, 10, 100})
	if err != nil || math.Abs(got.Value-2) > 1e-9 || math.Abs(got.High-got.Low) > 1e-9 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range [][]float64{{1, 0}, {1, -1}, {1, math.NaN()}} {
		if _, err := quotient([]float64{1, 1}, bad); err == nil {
			t.Errorf("something divided by %v", bad)
		}
		if _, err := quotient(bad, []float64{1, 1}); err == nil {
			t.Errorf("%v divided by something", bad)
		}
	}
}

func TestAgainst(t *testing.T) {
	none, all := math.Inf(-1), math.Inf(1)
	i := Interval{5, 4, 6}
	for _, c := range []struct {
		least, most float64
		want        Verdict
	}{
		{none, all, Pass}, {4, all, Pass}, {3, 7, Pass}, {none, 6, Pass},
		{4.5, all, Inconclusive}, {6, all, Inconclusive}, {none, 5, Inconclusive}, {none, 4, Inconclusive}, {5, 5, Inconclusive}, {3, 5, Inconclusive},
		{6.1, all, Fail}, {none, 3.9, Fail}, {7, 8, Fail},
	} {
		if got := i.against(c.least, c.most); got != c.want {
			t.Errorf("at least %g and at most %g: %s, want %s", c.least, c.most, got, c.want)
		}
	}
}

// The true quotient lies in the interval as often as that claims, also where blocks
// differ much from one another; and exchanging the two turns it round.
func TestQuotientCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds, blocks, truth = 4000, 10, 2.5
	within := 0
	for range rounds {
		var above, below []float64
		for range blocks {
			block := math.Exp(rng.NormFloat64())
			above = append(above, truth*block*math.Exp(rng.NormFloat64()/5))
			below = append(below, block*math.Exp(rng.NormFloat64()/5))
		}
		got, err := quotient(above, below)
		if err != nil || got.Low > got.Value || got.Value > got.High {
			t.Fatalf("%+v, %v", got, err)
		}
		if got.Low <= truth && truth <= got.High {
			within++
		}
		turned, err := quotient(below, above)
		if err != nil || math.Abs(turned.Value*got.Value-1) > 1e-9 || math.Abs(turned.Low*got.High-1) > 1e-9 {
			t.Fatalf("%+v, turned round %+v, %v", got, turned, err)
		}
	}
	if share := float64(within) / rounds; share < 0.94 || share > 0.96 {
		t.Errorf("%.3f of the intervals hold the true value, want 0.95", share)
	}
}
