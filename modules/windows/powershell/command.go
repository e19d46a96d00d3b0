package powershell

import (
	"fmt"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/slice"
)

// Quote is a text as PowerShell reads it, whatever is in it: in single quotes nothing
// means anything but their end. The curly ones end it as well, and each is doubled.
// What is no UTF-8 is replaced.
func Quote(text string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if isQuote(r) {
			b.WriteRune(r)
		}
		b.WriteRune(r)
	}
	b.WriteByte('\'')
	return b.String()
}

// isQuote reports whether PowerShell takes a character for a single quote.
func isQuote(r rune) bool { return r == '\'' || r >= '\u2018' && r <= '\u201B' }

var (
	parameter = pattern.New(`^-([A-Za-z][A-Za-z0-9]*)(?::\$(true|false))?$`)
	variable  = pattern.New(`^[a-z][A-Za-z0-9]*$`)
	number    = pattern.New(`^-?[0-9]{1,18}$`)
)

// Let gives a variable of a program its value: a string, strings, an int, an int64 or a bool.
// Other types, and names that are none, are an error of weft's own, and panic.
func Let(name string, value any) string {
	if !variable.MatchString(name) {
		panic(fmt.Sprintf("%q is no name of a variable", name))
	}
	return "$" + name + " = " + literal(value) + "\n"
}

func literal(value any) string {
	switch v := value.(type) {
	case string:
		return Quote(v)
	case []string:
		list := slice.Map(v, Quote)
		return "@(" + strings.Join(list, ",") + ")"
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return "$" + strconv.FormatBool(v)
	}
	panic(fmt.Sprintf("no literal is written of a %T", value))
}

// Command is a cmdlet with its arguments as a line of a script: its name, then each
// parameter as -Name and its values. What the values are written as follows from the
// parameter's type. expr gives the expression that an argument stands for, and false
// where it stands for itself. An error says which parameter the reference does not have.
func Command(args []string, expr func(string) (string, bool)) (string, error) {
	if len(args) == 0 {
		return "", fmt.Errorf("a command without a name")
	}
	line, names := args[0], []string(nil)
	for i := 1; i < len(args); {
		m := parameter.FindStringSubmatch(args[i])
		if m == nil {
			return "", fmt.Errorf("%s: %q is no parameter: each value follows the name of its own", args[0], args[i])
		}
		kind, ok := kindOf(args[0], m[1])
		if !ok {
			return "", fits(args[0], append(names, m[1]))
		}
		names, line = append(names, m[1]), line+" "+m[0]
		i++
		if kind == "switch" {
			continue
		}
		if m[2] != "" {
			return "", fmt.Errorf("%s: -%s is no switch", args[0], m[1])
		}
		var values []string
		for len(values) == 0 || i < len(args) && !parameter.MatchString(args[i]) {
			if i == len(args) {
				return "", fmt.Errorf("%s: -%s has no value", args[0], m[1])
			}
			v, err := valueOf(args[i], strings.TrimSuffix(kind, "[]"), expr)
			if err != nil {
				return "", fmt.Errorf("%s: -%s: %w", args[0], m[1], err)
			}
			values = append(values, v)
			i++
		}
		if len(values) > 1 && !strings.HasSuffix(kind, "[]") {
			return "", fmt.Errorf("%s: -%s takes one value", args[0], m[1])
		}
		line += " " + strings.Join(values, ",")
	}
	return line, fits(args[0], names)
}

// Rows is a program that leaves in $value, of each object that a cmdlet gives, these
// fields: NAME is a text, NAME:bool, NAME:int64 and NAME:list what they say. Objects are not
// written as they are, as most drag along more than JSON has room for, and enumerations
// would be numbers.
func Rows(args, fields []string, expr func(string) (string, bool)) (string, error) {
	line, err := Command(args, expr)
	if err != nil {
		return "", err
	}
	list := make([]string, len(fields))
	for i, f := range fields {
		name, kind, _ := strings.Cut(f, ":")
		if !fieldName.MatchString(name) {
			return "", fmt.Errorf("%q is no name of a field", name)
		}
		switch kind {
		case "":
			list[i] = name + " = [string]$o." + name
		case "bool", "int64":
			list[i] = name + " = [" + kind + "]$o." + name
		case "list":
			list[i] = name + " = @(foreach ($x in @($o." + name + ")) { [string]$x })"
		default:
			return "", fmt.Errorf("%q is no kind of a field", kind)
		}
	}
	return "$value = @(foreach ($o in @(" + line + ")) { @{ " + strings.Join(list, "; ") + " } })\n", nil
}

var fieldName = pattern.New(`^[A-Za-z][A-Za-z0-9]*$`)

// valueOf writes one value of a parameter.
func valueOf(text, kind string, expr func(string) (string, bool)) (string, error) {
	if expr != nil {
		if e, ok := expr(text); ok {
			return e, nil
		}
	}
	switch kind {
	case "Byte", "SByte", "UInt16", "UInt32", "UInt64", "Int32":
		if !number.MatchString(text) {
			return "", fmt.Errorf("%q is no number", text)
		}
		return text, nil
	case "Boolean":
		if text != "true" && text != "false" {
			return "", fmt.Errorf("%q is neither true nor false", text)
		}
		return "$" + text, nil
	case "CimInstance", "IDictionary", "Object", "DateTime", "TimeSpan":
		return "", fmt.Errorf("a %s is not written as a text", kind)
	}
	return Quote(text), nil
}
