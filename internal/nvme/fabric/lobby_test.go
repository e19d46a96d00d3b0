package fabric

import (
	"fmt"
	"testing"
)

func TestLobby(t *testing.T) {
	l := Lobby[int]{Most: 10, OfSource: 6, OfName: 4}
	enter := func(who int, source, name string, want int) {
		t.Helper()
		out, why := l.Enter(who, source, name)
		if (why != "") != (want != 0) || why != "" && out != want {
			t.Errorf("%d comes: %d leaves (%s), want %d", who, out, why, want)
		}
	}
	for i := 1; i <= 6; i++ {
		enter(i, "a", fmt.Sprint(i), 0)
	}
	enter(7, "a", "7", 1) // of its source
	enter(8, "b", "x", 0)
	enter(9, "b", "x", 0)
	enter(10, "c", "x", 0)
	enter(11, "d", "x", 0)
	enter(12, "d", "x", 8) // of its name, the oldest of a source that has two of them
	enter(13, "e", "y", 2) // of all, the oldest of the source that has most
	l.Leave(3)
	l.Leave(3)
	if l.Len() != 9 {
		t.Errorf("%d are in", l.Len())
	}
	enter(14, "f", "z", 0)
}

// A host that comes while others fill the lobby stays until all others of theirs
// have left.
func TestLobbyKeepsTheQuiet(t *testing.T) {
	l := Lobby[int]{Most: 256, OfSource: 64, OfName: 64}
	l.Enter(-1, "host", "name")
	for i := range 10_000 {
		if out, why := l.Enter(i, fmt.Sprint("stranger", i%5), "name"); why != "" && out == -1 {
			t.Fatalf("the host had to leave for stranger %d: %s", i, why)
		}
	}
}
