package review

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/text"
	"weft/internal/view"
	"weft/inventory/problem"
	"weft/plan"
)

// maxResults is how many results GitHub shows of a run; more would be dropped there
// in silence.
const maxResults = 5_000

// A sarif is a log in the format SARIF 2.1.0.
type sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
	ColumnKind  string            `json:"columnKind"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string     `json:"id"`
	Short sarifText  `json:"shortDescription"`
	Help  *sarifText `json:"help,omitempty"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful    bool          `json:"executionSuccessful"`
	Notifications []sarifNotice `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotice struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifResult struct {
	Rule         string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact struct {
		URI string `json:"uri"`
	} `json:"artifactLocation"`
	Region *sarifRegion `json:"region,omitempty"`
}

// A sarifLogical is a place that is no line of a file.
type sarifLogical struct {
	Name string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
	EndLine     int `json:"endLine,omitempty"`
	EndColumn   int `json:"endColumn,omitempty"`
}

// A Log collects results for a SARIF file.
type Log struct {
	Version string              // of weft
	Path    func(string) string // of a file of the inventory in the repository
	First   string              // the file for what stands in none

	rules   []sarifRule
	results []sarifResult
	more    int
	seen    map[string]int
}

// A Result is one of a log.
type Result struct {
	Rule, Title, Help string
	Level             string // error, warning or note
	Text              string
	Identity          string    // what stays the same of it while lines move
	At                hcl.Range // in the files; zero: in none
	Logical           string    // what it is about; "": only the files tell
}

func (l *Log) add(rule, title, help, level, text, identity string, at hcl.Range) {
	l.Add(Result{Rule: rule, Title: title, Help: help, Level: level, Text: text, Identity: identity, At: at})
}

// Add adds a result. One that is in no file and has a logical place has that only.
func (l *Log) Add(one Result) {
	rule, title, help, level, text, identity, at := one.Rule, one.Title, one.Help, one.Level, one.Text, one.Identity, one.At
	i := slices.IndexFunc(l.rules, func(r sarifRule) bool { return r.ID == rule })
	if i < 0 {
		i = len(l.rules)
		r := sarifRule{ID: rule, Short: sarifText{title}}
		if help != "" {
			r.Help = &sarifText{help}
		}
		l.rules = append(l.rules, r)
	}
	if len(l.results) == maxResults {
		l.more++
		return
	}
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	identity = rule + "\x00" + identity
	l.seen[identity]++
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", identity, l.seen[identity]))
	r := sarifResult{Rule: rule, RuleIndex: i, Level: level, Message: sarifText{visible(text)},
		Locations: make([]sarifLocation, 1), Fingerprints: map[string]string{"weft/v1": hex.EncodeToString(sum[:16])}}
	if one.Logical != "" {
		r.Locations[0].Logical = []sarifLogical{{visible(one.Logical), "resource"}}
	}
	name := at.Filename
	if name == "" && one.Logical != "" {
		l.results = append(l.results, r)
		return
	}
	where := &sarifPhysical{}
	r.Locations[0].Physical = where
	name = cmp.Or(name, l.First)
	where.Artifact.URI = (&url.URL{Path: l.Path(name)}).String()
	if at.Filename != "" && at.Start.Line > 0 {
		where.Region = &sarifRegion{StartLine: at.Start.Line, StartColumn: at.Start.Column}
		if at.End.Line > at.Start.Line || at.End.Line == at.Start.Line && at.End.Column > at.Start.Column {
			where.Region.EndLine, where.Region.EndColumn = at.End.Line, at.End.Column
		}
	}
	l.results = append(l.results, r)
}

// Write writes the file.
func (l *Log) Write(w io.Writer) error {
	run := sarifRun{Results: l.results, ColumnKind: "unicodeCodePoints", Invocations: []sarifInvocation{{Successful: true}}}
	run.Tool.Driver = sarifDriver{Name: "weft", Version: l.Version, Rules: l.rules}
	if l.more > 0 {
		run.Invocations[0].Notifications = []sarifNotice{{"warning", sarifText{fmt.Sprintf("%d more results are left out: %d are shown of a run", l.more, maxResults)}}}
	}
	if run.Results == nil {
		run.Results = []sarifResult{}
	}
	if run.Tool.Driver.Rules == nil {
		run.Tool.Driver.Rules = []sarifRule{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarif{Schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

// Problems adds what is wrong with files. The rules are weft's codes.
func (l *Log) Problems(files map[string]*hcl.File, diags hcl.Diagnostics) {
	for _, d := range diags {
		rule := string(problem.CodeOf(d))
		title, help, ok := problem.Explain(rule)
		if !ok {
			rule, title = "WF", "a problem without a code"
		}
		var at hcl.Range
		block := ""
		if d.Subject != nil {
			at = *d.Subject
			block = view.BlockAround(files[at.Filename], at.Start.Byte)
		}
		text := d.Summary
		if d.Detail != "" {
			text += ": " + d.Detail
		}
		l.add(rule, title, help, level(d), text, at.Filename+"\x00"+block+"\x00"+d.Summary, at)
	}
}

func level(d *hcl.Diagnostic) string {
	if d.Severity == hcl.DiagWarning {
		return "warning"
	}
	return "error"
}

// Plan adds what a plan would do, and what stands in its way.
func (l *Log) Plan(p *plan.Plan) {
	for _, r := range p.Refusals {
		l.add("plan/refused", "a resource cannot be applied", "", "error", r.ID.String()+" cannot be applied: "+r.Text, r.ID.String(), r.Range)
	}
	for _, d := range p.Devices {
		if d.Error != "" {
			l.add("plan/unread", "a device was not read: nothing is known of it", "", "error", d.Address+" was not read: "+d.Error, d.Address, hcl.Range{})
		}
		for _, line := range d.Identity.NotUnderstood {
			l.add("plan/not-understood", "a line of a device that weft does not understand", "", "warning", d.Address+": not understood: "+line, d.Address+"\x00"+line, hcl.Range{})
		}
	}
	for _, s := range p.Steps {
		impact, level := s.Impact(), "note"
		if impact >= plan.ImpactLinkFlap {
			level = "warning"
		}
		message := s.ID.String() + " would change:"
		for i, c := range s.Changes {
			if i == maxChanges {
				message += text.More(len(s.Changes) - i)
				break
			}
			message += fmt.Sprintf(" %s %q → %q;", c.Path, short(c.Before), short(c.After))
		}
		l.add("plan/"+impact.String(), "a change with the impact "+impact.String(), "", level, message, s.ID.String(), s.Range)
	}
	for _, x := range p.Left {
		l.add("plan/left-alone", "not as declared, and skipped", "", "note", x.Device+": "+x.Text, x.Device+"\x00"+x.ID.String()+"\x00"+x.Text, hcl.Range{})
	}
}
