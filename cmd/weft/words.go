package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"weft/inventory"
	"weft/inventory/language"
)

// words are the values of a flag that takes several: between commas, or on lines, as
// "$(cat hosts)" gives them. The flag may be repeated.
type words []string

var _ pflag.Value = (*words)(nil)

// mostWords is the most values of a flag.
const mostWords = 10_000

// Set adds values.
func (w *words) Set(text string) error {
	for _, one := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",\r\n", r) }) {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		if len(*w) == mostWords {
			return fmt.Errorf("more than %d values", mostWords)
		}
		*w = append(*w, one)
	}
	return nil
}

func (w *words) String() string { return strings.Join(*w, ",") }

// Type is what the help calls a value.
func (w *words) Type() string { return "strings" }

// checkNames refuses what is no host or no user by the rules of the files.
func checkNames(flag string, check func(string) error, names ...string) error {
	for _, name := range names {
		if err := check(name); err != nil {
			return usage(fmt.Errorf("--%s: %w", flag, err))
		}
	}
	return nil
}

// checkBecome refuses other ways to become root than there are.
func checkBecome(how string) error {
	if all := inventory.Becomes(); how != "" && !slices.Contains(all, how) {
		return usage(fmt.Errorf("--become %s: there are %s", how, strings.Join(all, ", ")))
	}
	return nil
}

// checkUsers is checkNames of users, who may be left out.
func checkUsers(flag, user string) error {
	if user == "" {
		return nil
	}
	return checkNames(flag, language.CheckUser, user)
}
