package prove

// Verdict is how a measurement was judged.
type Verdict string

// The verdicts. Missing data is never a pass: a value that could not be read is
// inconclusive, a declared place without a measurement makes the whole partial.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive"
	// Partial is only the verdict of a whole: everything that was measured passes, and
	// something that was declared was not measured.
	Partial Verdict = "partial"
	// NotMeasured is only the verdict of one place; Judgement.Weight says what it makes of
	// the whole.
	NotMeasured Verdict = "not measured"
)

// Verdicts are all verdicts, worst first.
func Verdicts() []Verdict { return []Verdict{Fail, Inconclusive, Partial, NotMeasured, Pass} }

// Severity orders verdicts: a higher one outweighs a lower one. An unknown verdict, as of a
// record of another version, weighs as much as an inconclusive one; "" is no verdict.
func (v Verdict) Severity() int {
	switch v {
	case "":
		return 0
	case Pass:
		return 1
	case NotMeasured:
		return 2
	case Partial:
		return 3
	case Inconclusive:
		return 4
	case Fail:
		return 5
	}
	return Inconclusive.Severity()
}

// Worse is the verdict that outweighs the other.
func Worse(a, b Verdict) Verdict {
	if b.Severity() > a.Severity() {
		return b
	}
	return a
}

// Mark is a verdict as one sign; an unknown verdict is as open as an inconclusive one.
func (v Verdict) Mark() string {
	switch v {
	case Pass:
		return "✓"
	case Fail:
		return "✗"
	case Partial:
		return "◐"
	case NotMeasured:
		return "–"
	case Inconclusive:
		return "?"
	}
	return Inconclusive.Mark()
}
