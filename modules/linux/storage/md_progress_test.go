package storage

import "testing"

// The monthly check compares halves that are in sync: nothing is left to do.
func TestProgressOfArrays(t *testing.T) {
	for action, want := range map[string]string{"idle": "", "frozen": "", "check": "", "resync": "resync 12%", "recover": "recover 12%"} {
		a := &mdArray{action: action, done: "1234 / 10000"}
		if got := a.progress(); got != want {
			t.Errorf("%s: %q; want %q", action, got, want)
		}
	}
}
