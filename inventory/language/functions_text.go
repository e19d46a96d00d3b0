package language

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"

	"weft/internal/slice"
)

func textFunctions() map[string]function.Function {
	return map[string]function.Function{
		"chomp":      stdlib.ChompFunc,
		"csvdecode":  bounded(stdlib.CSVDecodeFunc, partsLength),
		"endswith":   affixFunction("suffix", strings.HasSuffix),
		"format":     narrowFormat(stdlib.FormatFunc),
		"formatdate": stdlib.FormatDateFunc,
		"formatlist": narrowFormat(stdlib.FormatListFunc),
		"indent":     bounded(stdlib.IndentFunc, indentLength),
		"join":       bounded(stdlib.JoinFunc, joinLength),
		"jsondecode": bounded(stdlib.JSONDecodeFunc, partsLength),
		"jsonencode": stdlib.JSONEncodeFunc,
		"lower":      stdlib.LowerFunc,
		"regex":      stdlib.RegexFunc,
		"regexall":   bounded(stdlib.RegexAllFunc, partsLength),
		"replace":    replaceFunction(),
		"sha256":     hashFunction(),
		"split":      bounded(stdlib.SplitFunc, partsLength),
		"startswith": affixFunction("prefix", strings.HasPrefix),
		"strrev":     stdlib.ReverseFunc,
		"substr":     stdlib.SubstrFunc,
		"timeadd":    stdlib.TimeAddFunc,
		"title":      stdlib.TitleFunc,
		"trim":       stdlib.TrimFunc,
		"trimprefix": stdlib.TrimPrefixFunc,
		"trimspace":  stdlib.TrimSpaceFunc,
		"trimsuffix": stdlib.TrimSuffixFunc,
		"upper":      stdlib.UpperFunc,
		"uuidv5":     uuidFunction(),
		"yamldecode": yamlFunction(),
	}
}

// textFunction is a function from texts to a text.
func textFunction(params []string, impl func(args []string) (string, error)) function.Function {
	spec := &function.Spec{Type: function.StaticReturnType(cty.String)}
	spec.Params = slice.Map(params, func(name string) function.Parameter { return function.Parameter{Name: name, Type: cty.String} })
	spec.Impl = func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		texts := slice.Map(args, cty.Value.AsString)
		text, err := impl(texts)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(text), nil
	}
	return function.New(spec)
}

func affixFunction(what string, has func(s, affix string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: what, Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// replaceFunction replaces a text, or a pattern that stands between slashes.
func replaceFunction() function.Function {
	return textFunction([]string{"text", "what", "by"}, func(args []string) (string, error) {
		text, what, by := args[0], args[1], args[2]
		if len(what) < 2 || !strings.HasPrefix(what, "/") || !strings.HasSuffix(what, "/") {
			if strings.Count(text, what)*len(by) > maxText {
				return "", tooLong()
			}
			return strings.ReplaceAll(text, what, by), nil
		}
		re, err := regexp.Compile(what[1 : len(what)-1])
		if err != nil {
			return "", fmt.Errorf("the pattern cannot be read: %w", err)
		}
		// Each $ may stand for all that was found.
		if n := len(re.FindAllStringIndex(text, -1)); n*len(by)+strings.Count(by, "$")*len(text) > maxText {
			return "", tooLong()
		}
		return re.ReplaceAllString(text, by), nil
	})
}

func hashFunction() function.Function {
	return textFunction([]string{"text"}, func(args []string) (string, error) {
		sum := sha256.Sum256([]byte(args[0]))
		return hex.EncodeToString(sum[:]), nil
	})
}

// uuidFunction derives a UUID from a name in a namespace, RFC 9562 version 5.
func uuidFunction() function.Function {
	return textFunction([]string{"namespace", "name"}, func(args []string) (string, error) {
		space, err := uuidNamespace(args[0])
		if err != nil {
			return "", err
		}
		return uuid.NewSHA1(space, []byte(args[1])).String(), nil
	})
}

func uuidNamespace(name string) (uuid.UUID, error) {
	switch name {
	case "dns":
		return uuid.NameSpaceDNS, nil
	case "url":
		return uuid.NameSpaceURL, nil
	case "oid":
		return uuid.NameSpaceOID, nil
	case "x500":
		return uuid.NameSpaceX500, nil
	}
	space, err := uuid.Parse(name)
	if err != nil {
		return space, errors.New(`the namespace is "dns", "url", "oid", "x500" or a UUID`)
	}
	return space, nil
}

// narrowFormat refuses widths that would fill the memory.
func narrowFormat(f function.Function) function.Function {
	wide := regexp.MustCompile(`%[^a-zA-Z%]*[1-9][0-9]{3}`)
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "format", Type: cty.String}},
		VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
		Type: func(args []cty.Value) (cty.Type, error) {
			if args[0].IsKnown() && !args[0].IsNull() && wide.MatchString(args[0].AsString()) {
				return cty.NilType, function.NewArgErrorf(0, "a width has at most three digits")
			}
			if formatLength(args) > maxText {
				return cty.NilType, tooLong()
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}
