package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"weft/internal/prove"
	"weft/internal/view"
)

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Name    string       `xml:"name,attr"`
	Tests   int          `xml:"tests,attr"`
	Fails   int          `xml:"failures,attr"`
	Errors  int          `xml:"errors,attr"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name    string      `xml:"name,attr"`
	Tests   int         `xml:"tests,attr"`
	Fails   int         `xml:"failures,attr"`
	Errors  int         `xml:"errors,attr"`
	Skipped int         `xml:"skipped,attr"`
	Time    string      `xml:"timestamp,attr"`
	Cases   []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failed  *junitText `xml:"failure,omitempty"`
	Error   *junitText `xml:"error,omitempty"`
	Skipped *junitText `xml:"skipped,omitempty"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

// JUnit writes the judgements as tests: what failed as a failure, what could
// not be judged as an error. It has not passed.
func (r *Report) JUnit(w io.Writer) error {
	all := junitSuites{Name: "weft " + r.Owner}
	for _, m := range r.Measured {
		s := junitSuite{Name: m.Title(), Time: m.Time.UTC().Format("2006-01-02T15:04:05")}
		for _, j := range m.Result.Judgements {
			c := junitCase{Class: j.Validation, Name: j.Metric + " of " + j.Pair, Time: "0", Out: j.Note}
			if j.Size > 0 {
				c.Name += ", " + view.Size(j.Size)
			}
			if !j.Against.IsZero() {
				c.Name += ", against the baseline"
			}
			if j.Latency && j.Value > 0 {
				c.Time = seconds(time.Duration(j.Value))
			}
			switch text := (&junitText{Message: view.Judged(j), Type: string(j.Verdict)}); {
			case m.Recorded: // measured only
				c.Out = string(j.Verdict) + " " + j.Note
			case j.Verdict == prove.NotMeasured && j.Weight() == prove.Pass:
				c.Skipped = text
				s.Skipped++
			default:
				s.judged(&c, j.Weight(), text)
			}
			s.Cases = append(s.Cases, c)
		}
		for _, check := range m.Result.Checks {
			c := junitCase{Class: "check", Name: check.Name, Time: "0"}
			s.judged(&c, check.Verdict, &junitText{Message: check.Why, Type: string(check.Verdict)})
			s.Cases = append(s.Cases, c)
		}
		s.Tests = len(s.Cases)
		all.Tests, all.Fails, all.Errors = all.Tests+s.Tests, all.Fails+s.Fails, all.Errors+s.Errors
		all.Suites = append(all.Suites, s)
	}
	if _, err := fmt.Fprint(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// judged counts a case: JUnit knows failures, and errors for what could not be decided.
func (s *junitSuite) judged(c *junitCase, v prove.Verdict, text *junitText) {
	switch v {
	case prove.Pass:
	case prove.Fail:
		c.Failed = text
		s.Fails++
	default:
		c.Error = text
		s.Errors++
	}
}
