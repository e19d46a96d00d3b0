//go:build unix

package simwindows

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// An expr gives a value, a stmt writes what it gives to the output of the frame.
type (
	expr func(*frame) (any, error)
	stmt func(*frame) error
)

// A parser reads the part of PowerShell's grammar that this host knows: assignments, if,
// foreach, try, throw, cmdlets without pipes, expressions.
type parser struct {
	list []token
	at   int
}

func parse(src string) (body stmt, err error) {
	list, err := scan(src)
	if err != nil {
		return nil, err
	}
	p := &parser{list: list}
	defer func() {
		if bad, is := recover().(syntaxError); is {
			body, err = nil, fmt.Errorf("%s", bad)
		}
	}()
	body = p.statements("")
	return body, nil
}

type syntaxError string

func (p *parser) fail(t token, what string) {
	panic(syntaxError(fmt.Sprintf("%s at character %d of a script, near %q: this SIMULATED host does not take it", what, t.at, t.text)))
}

func (p *parser) peek() token { return p.list[p.at] }

func (p *parser) next() token {
	t := p.list[p.at]
	if t.kind != tEnd {
		p.at++
	}
	return t
}

func (p *parser) is(symbol string) bool {
	t := p.peek()
	return t.kind == tSymbol && t.text == symbol
}

func (p *parser) accept(symbol string) bool {
	if p.is(symbol) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(symbol string) {
	if !p.accept(symbol) {
		p.fail(p.peek(), "Missing "+symbol)
	}
}

func (p *parser) keyword(word string) bool {
	t := p.peek()
	if t.kind == tWord && strings.EqualFold(t.text, word) {
		p.at++
		return true
	}
	return false
}

func (p *parser) newlines() {
	for p.peek().kind == tNewline {
		p.at++
	}
}

// statements are all up to the closing symbol, or to the end of the script.
func (p *parser) statements(end string) stmt {
	var list []stmt
	for {
		p.newlines()
		if end != "" && p.accept(end) || end == "" && p.peek().kind == tEnd {
			break
		}
		list = append(list, p.statement())
		if t := p.peek(); t.kind != tNewline && t.kind != tEnd && (end == "" || !p.is(end)) && !p.closed() {
			p.fail(t, "Unexpected token")
		}
	}
	return func(f *frame) error {
		for _, s := range list {
			if err := s(f); err != nil {
				return err
			}
		}
		return nil
	}
}

// closed reports whether the statement before ended with a block, after which another may
// begin at once.
func (p *parser) closed() bool { return p.at > 0 && p.list[p.at-1].text == "}" }

func (p *parser) block() stmt {
	p.expect("{")
	return p.statements("}")
}

func (p *parser) statement() stmt {
	switch {
	case p.keyword("if"):
		return p.conditional()
	case p.keyword("foreach"):
		return p.loop()
	case p.keyword("try"):
		return p.try()
	case p.keyword("throw"):
		if t := p.peek(); t.kind == tNewline || t.kind == tEnd || p.is("}") {
			return func(f *frame) error { return f.caught() }
		}
		value := p.expression()
		return func(f *frame) error {
			v, err := value(f)
			if err != nil {
				return err
			}
			return &thrown{message: text(v), id: text(v), kind: "System.Management.Automation.RuntimeException"}
		}
	}
	if t := p.peek(); t.kind == tVariable {
		if op := p.list[p.at+1]; op.kind == tSymbol && (op.text == "=" || op.text == "+=") {
			p.at += 2
			return p.assignment(t, op.text == "+=")
		}
	}
	return p.pipeline()
}

// pipeline is a command or an expression: what it gives is written, lists one by one.
func (p *parser) pipeline() stmt {
	if t := p.peek(); t.kind == tWord {
		if !strings.Contains(t.text, "-") {
			p.fail(t, "The term is not recognized")
		}
		return p.command()
	}
	value := p.expression()
	return func(f *frame) error {
		v, err := value(f)
		if err == nil {
			f.write(v)
		}
		return err
	}
}

func (p *parser) conditional() stmt {
	p.expect("(")
	test := p.collected(")")
	then := p.block()
	var other stmt
	switch {
	case p.keyword("elseif"):
		other = p.conditional()
	case p.keyword("else"):
		other = p.block()
	}
	return func(f *frame) error {
		v, err := test(f)
		switch {
		case err != nil:
			return err
		case truth(v):
			return then(f)
		case other != nil:
			return other(f)
		}
		return nil
	}
}

func (p *parser) loop() stmt {
	p.expect("(")
	v := p.next()
	if v.kind != tVariable || !p.keyword("in") {
		p.fail(v, "Missing in")
	}
	over := p.collected(")")
	body := p.block()
	return func(f *frame) error {
		list, err := over(f)
		if err != nil {
			return err
		}
		for _, item := range each(list) {
			f.set(v.text, item)
			if err := body(f); err != nil {
				return err
			}
		}
		return nil
	}
}

func (p *parser) try() stmt {
	body := p.block()
	var caught, finally stmt
	if p.keyword("catch") {
		caught = p.block()
	}
	if p.keyword("finally") {
		finally = p.block()
	}
	if caught == nil && finally == nil {
		p.fail(p.peek(), "The Try statement is missing its Catch or Finally block")
	}
	return func(f *frame) error {
		err := body(f)
		if bad, is := err.(*thrown); is && caught != nil {
			before := f.errors
			f.errors = append(f.errors, bad)
			err = caught(f)
			f.errors = before
		}
		if finally != nil && !errors.Is(err, errOff) {
			if ferr := finally(f); ferr != nil {
				return ferr
			}
		}
		return err
	}
}

// assignment takes the value of an expression as it is, and of a command what it writes.
func (p *parser) assignment(v token, add bool) stmt {
	var value expr
	if t := p.peek(); t.kind == tWord {
		value = gathered(p.pipeline())
	} else {
		value = p.expression()
	}
	return func(f *frame) error {
		got, err := value(f)
		if err != nil {
			return err
		}
		if add {
			if got, err = plus(f.get(v.text), got); err != nil {
				return err
			}
		}
		f.set(v.text, got)
		return nil
	}
}

// collected is what is inside of parentheses.
func (p *parser) collected(end string) expr {
	if t := p.peek(); t.kind == tWord {
		e := gathered(p.pipeline())
		p.expect(end)
		return e
	}
	e := p.expression()
	p.expect(end)
	return e
}

// gathered is what a statement writes: nothing, one value, or a list.
func gathered(s stmt) expr {
	return func(f *frame) (any, error) {
		list, err := f.outputOf(s)
		switch {
		case err != nil || len(list) == 0:
			return nil, err
		case len(list) == 1:
			return list[0], nil
		}
		return list, nil
	}
}

// command is a cmdlet with its parameters, each by its whole name.
func (p *parser) command() stmt {
	name := p.next()
	type argument struct {
		name  string
		value expr // nil: a switch
	}
	var args []argument
	for {
		t := p.peek()
		if t.kind != tDash {
			break
		}
		p.at++
		a := argument{name: t.text}
		switch {
		case t.tail != "":
			on := t.tail == "$true"
			a.value = func(*frame) (any, error) { return on, nil }
		case !slices.Contains([]tokenKind{tDash, tNewline, tEnd}, p.peek().kind) && !p.is(")") && !p.is("}"):
			a.value = p.list1(p.postfix)
		}
		args = append(args, a)
	}
	return func(f *frame) error {
		given := map[string]any{}
		for _, a := range args {
			var v any = true
			if a.value != nil {
				var err error
				if v, err = a.value(f); err != nil {
					return err
				}
			}
			given[strings.ToLower(a.name)] = v
		}
		out, err := f.host.call(f, name.text, given)
		f.out = append(f.out, out...)
		return err
	}
}
