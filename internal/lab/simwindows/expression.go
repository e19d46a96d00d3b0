//go:build unix

package simwindows

import (
	"slices"
	"strconv"
	"strings"
)

// list1 is one value, or more of them between commas.
func (p *parser) list1(of func() expr) expr {
	list := []expr{of()}
	for p.accept(",") {
		list = append(list, of())
	}
	if len(list) == 1 {
		return list[0]
	}
	return func(f *frame) (any, error) { return values(f, list) }
}

func values(f *frame, list []expr) ([]any, error) {
	out := make([]any, len(list))
	for i, e := range list {
		var err error
		if out[i], err = e(f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Expressions, by precedence: about_Operator_Precedence.
func (p *parser) expression() expr {
	return p.binary([]string{"and", "or"}, func() expr {
		return p.binary([]string{"eq", "ne", "gt", "ge", "lt", "le", "match"}, func() expr {
			left := p.list1(p.unary)
			for p.is("+") || p.is("-") {
				op := p.next()
				right, before := p.list1(p.unary), left
				left = func(f *frame) (any, error) {
					pair, err := values(f, []expr{before, right})
					if err != nil {
						return nil, err
					}
					if op.text == "-" {
						return minus(pair[0], pair[1])
					}
					return plus(pair[0], pair[1])
				}
			}
			return left
		})
	})
}

// binary are operators with a dash, all of one precedence.
func (p *parser) binary(ops []string, operand func() expr) expr {
	left := operand()
	for p.peek().kind == tDash && slices.Contains(ops, strings.ToLower(p.peek().text)) {
		op := strings.ToLower(p.next().text)
		right, before := operand(), left
		left = func(f *frame) (any, error) {
			a, err := before(f)
			if err != nil {
				return nil, err
			}
			switch { // the right one is not asked for in vain
			case op == "and" && !truth(a):
				return false, nil
			case op == "or" && truth(a):
				return true, nil
			}
			b, err := right(f)
			if err != nil {
				return nil, err
			}
			return operate(op, a, b)
		}
	}
	return left
}

func (p *parser) unary() expr {
	t := p.peek()
	switch {
	case t.kind == tDash && strings.EqualFold(t.text, "not"):
		p.at++
		e := p.unary()
		return func(f *frame) (any, error) {
			v, err := e(f)
			return !truth(v), err
		}
	case t.kind == tType && !(p.list[p.at+1].kind == tSymbol && p.list[p.at+1].text == "::"):
		p.at++
		e := p.unary()
		return func(f *frame) (any, error) {
			v, err := e(f)
			if err != nil {
				return nil, err
			}
			return cast(t.text, v)
		}
	}
	return p.postfix()
}

func (p *parser) postfix() expr {
	e := p.primary()
	for {
		t := p.peek()
		switch {
		case t.near && t.kind == tSymbol && t.text == ".":
			p.at++
			name := p.next()
			if name.kind != tWord {
				p.fail(name, "Missing property name")
			}
			e = p.member(e, name.text)
		case t.near && t.kind == tSymbol && t.text == "[":
			p.at++
			index, of := p.expression(), e
			p.expect("]")
			e = func(f *frame) (any, error) {
				pair, err := values(f, []expr{of, index})
				if err != nil {
					return nil, err
				}
				list, is := pair[0].([]any)
				i, number := pair[1].(int64)
				if !is || !number || i < 0 || i >= int64(len(list)) {
					return nil, nil
				}
				return list[i], nil
			}
		default:
			return e
		}
	}
}

// member is a property, or a method where arguments follow.
func (p *parser) member(of expr, name string) expr {
	args, called := p.arguments()
	return func(f *frame) (any, error) {
		v, err := of(f)
		if err != nil {
			return nil, err
		}
		if !called {
			return property(v, name)
		}
		list, err := values(f, args)
		if err != nil {
			return nil, err
		}
		return f.method(v, name, list)
	}
}

func (p *parser) arguments() (list []expr, called bool) {
	if t := p.peek(); !t.near || !p.accept("(") {
		return nil, false
	}
	for !p.accept(")") {
		if len(list) > 0 {
			p.expect(",")
		}
		list = append(list, p.argument())
	}
	return list, true
}

// argument is an expression in which a comma means nothing.
func (p *parser) argument() expr {
	left := p.unary()
	for p.accept("+") {
		right, before := p.unary(), left
		left = func(f *frame) (any, error) {
			pair, err := values(f, []expr{before, right})
			if err != nil {
				return nil, err
			}
			return plus(pair[0], pair[1])
		}
	}
	return left
}

func (p *parser) primary() expr {
	t := p.next()
	constant := func(v any) expr { return func(*frame) (any, error) { return v, nil } }
	switch {
	case t.kind == tString:
		return constant(t.text)
	case t.kind == tNumber:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			p.fail(t, "Bad number")
		}
		return constant(n)
	case t.kind == tVariable:
		return func(f *frame) (any, error) { return f.get(t.text), nil }
	case t.kind == tType:
		p.expect("::")
		name := p.next()
		args, called := p.arguments()
		return func(f *frame) (any, error) {
			list, err := values(f, args)
			if err != nil {
				return nil, err
			}
			return f.static(t.text, name.text, called, list)
		}
	case t.kind == tSymbol && t.text == "(":
		return p.collected(")")
	case t.kind == tSymbol && t.text == "@(":
		body := p.statements(")")
		return func(f *frame) (any, error) {
			list, err := f.outputOf(body)
			if list == nil {
				list = []any{}
			}
			return list, err
		}
	case t.kind == tSymbol && t.text == "@{":
		return p.table()
	}
	p.fail(t, "Unexpected token")
	return nil
}

// table is a hash table.
func (p *parser) table() expr {
	var keys []string
	var list []expr
	for {
		p.newlines()
		if p.accept("}") {
			break
		}
		key := p.next()
		if key.kind != tWord {
			p.fail(key, "Missing key")
		}
		p.expect("=")
		keys, list = append(keys, key.text), append(list, p.expression())
		if t := p.peek(); t.kind != tNewline && !p.is("}") {
			p.fail(t, "Unexpected token in hash literal")
		}
	}
	return func(f *frame) (any, error) {
		got, err := values(f, list)
		if err != nil {
			return nil, err
		}
		o := &object{kind: "System.Collections.Hashtable"}
		for i, k := range keys {
			o.fields = append(o.fields, fieldOf{k, got[i]})
		}
		return o, nil
	}
}
