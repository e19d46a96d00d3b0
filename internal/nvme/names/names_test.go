package names

import (
	"strings"
	"testing"
)

func TestIsNQN(t *testing.T) {
	for s, want := range map[string]bool{
		"nqn.2026-11.net.example:a":                   true,
		"nqn.2026-11.net.example:a/b":                 false,
		"nqn.2026-11.net.example:$(a)":                false,
		"nqn.2026-11.net.example:a\n":                 false,
		"nqn.2026-13.net.example:a":                   false,
		"nqn.2026-11.net..example:a":                  false,
		"nqn.2026-11.-net:a":                          false,
		"nqn.2026-11.net.example:":                    false,
		UUID + "123e4567-e89b-42d3-a456-426614174000": true,
		Discovery: false, // it has no name of an owner's choice
		"nqn.2026-11.n:" + strings.Repeat("a", MaxNQN): false,
	} {
		if IsNQN(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}
