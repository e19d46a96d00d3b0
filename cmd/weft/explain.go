package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/doctor"
	"weft/internal/hint"
	"weft/internal/slice"
	"weft/inventory/problem"
)

// An explanation is a code as --json shows it.
type explanation struct {
	Code  problem.Code `json:"code"`
	Title string       `json:"title"`
	Text  string       `json:"text,omitempty"`
}

// An explainCommand is weft explain.
type explainCommand struct {
	opts *options
	out  *printer
}

func (exp *explainCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "explain [CODE]", Short: "Explain a code such as WF-NET-001; no network",
		Long: `explain prints the page of a code: the problem, its effect and the fix. Without a code it
lists all codes. privileges in place of a code lists the privileges that logins need on
servers and switches.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("usage: weft explain [CODE]"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exp.listCodes()
			}
			return exp.explain(args[0])
		},
		ValidArgsFunction: func(_ *cobra.Command, _ []string, start string) (codes []string, _ cobra.ShellCompDirective) {
			for _, check := range checksAlone() {
				codes = append(codes, check.ID+"\t"+check.Title)
			}
			for _, code := range problem.Codes() {
				codes = append(codes, fmt.Sprintf("%s\t%s", code.Code, code.Title))
			}
			codes = slices.DeleteFunc(codes, func(c string) bool { return !strings.HasPrefix(c, start) })
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func (exp *explainCommand) listCodes() error {
	if !exp.opts.json {
		for _, c := range problem.Codes() {
			fmt.Fprintf(exp.out.stdout, "%-11s  %s\n", c.Code, c.Title)
		}
		for _, c := range checksAlone() {
			fmt.Fprintf(exp.out.stdout, "%-11s  %s\n", c.ID, c.Title)
		}
		return nil
	}
	all := slice.Map(problem.Codes(), func(c problem.CodeTitle) explanation { return explanation{Code: c.Code, Title: c.Title} })
	for _, c := range checksAlone() {
		all = append(all, explanation{Code: problem.Code(c.ID), Title: c.Title})
	}
	return exp.out.encode(all)
}

func (exp *explainCommand) explain(code string) error {
	code = problem.Now(code)
	title, text, ok := problem.Explain(code)
	if code == "privileges" {
		title, text, ok = "the privileges that logins need on servers and switches", rights("weft").text(), true
	}
	if what, page, check := doctor.Explain(code); check && ok { // of files and of devices
		text = page + "\nIn files:\n\n" + text
	} else if check {
		title, text, ok = what, page, true
	}
	if !ok {
		err := fmt.Errorf("there is no code %q", code)
		if near := problem.NearCode(code); near != "" {
			return hint.Wrap(err, "did you mean %s?", near)
		}
		return hint.Wrap(err, "weft explain lists all codes")
	}
	if exp.opts.json {
		return exp.out.encode(explanation{problem.Code(code), title, text})
	}
	fmt.Fprintf(exp.out.stdout, "%s: %s\n\n%s", code, title, text)
	return nil
}

// checksAlone are the checks of doctor that validate does not make of files, too.
func checksAlone() []*doctor.Check {
	return slices.DeleteFunc(doctor.Catalogue(), func(c *doctor.Check) bool {
		_, _, files := problem.Explain(c.ID)
		return files
	})
}
