package switches_test

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
	"weft/switches/systems"
)

// Devices print what nobody has recorded. Whatever becomes of recorded output, it is
// read without a crash; from it to itself nothing is sent; what leads from it to a
// wish has a way back; and no line of ours that came in between is passed over.
// WEFT_SEED tries others than always the same.
func TestMutatedRecordings(t *testing.T) {
	top := map[string]string{"nxos": "cisco_nxos", "comware": "hp_comware"}
	require.Transcript(t, "SOURCES.md")
	for _, sys := range systems.All() {
		t.Run(sys.Name, func(t *testing.T) {
			if top[sys.Name] == "" {
				t.Skip("there are no recordings of it")
			}
			texts := recordings(t, top[sys.Name])
			seed, err := strconv.ParseUint(cmp.Or(os.Getenv("WEFT_SEED"), "1"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("seed %d, %d recordings", seed, len(texts))
			m := mutator{rand.New(rand.NewPCG(seed, 0)), texts}
			rounds := 400
			if testing.Short() {
				rounds = 40
			}
			for range rounds {
				text := m.mutate(texts[m.IntN(len(texts))])
				if !survives(t, sys, text) {
					t.Fatalf("it is\n%q", text)
				}
			}
		})
	}
}

func recordings(t *testing.T, folder string) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "shared", "transcripts", folder, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(raw))
	}
	return texts
}

// A mutator changes texts as other releases, other models, bad lines and mischief do.
type mutator struct {
	*rand.Rand
	texts []string
}

var numeral = regexp.MustCompile(`\d+`)

func (m mutator) mutate(text string) string {
	for range 1 + m.IntN(6) {
		lines := strings.SplitAfter(text, "\n")
		i := m.IntN(len(lines))
		j := min(len(lines), i+1+m.IntN(8))
		switch m.IntN(9) {
		case 0: // lost lines
			lines = slices.Delete(lines, i, j)
		case 1: // printed twice
			lines = slices.Insert(lines, i, slices.Clone(lines[i:j])...)
		case 2: // another order
			m.Shuffle(j-i, func(a, b int) { lines[i+a], lines[i+b] = lines[i+b], lines[i+a] })
		case 3: // other numbers
			lines[i] = numeral.ReplaceAllStringFunc(lines[i], func(string) string {
				return []string{"0", "-1", "8", "64", "65536", "99999999999999999999", ""}[m.IntN(7)]
			})
		case 4: // another depth
			lines[i] = strings.Repeat(" ", m.IntN(5)) + strings.TrimLeft(lines[i], " ")
		case 5: // cut off
			lines = lines[:j]
		case 6: // a part of another device
			other := strings.SplitAfter(m.texts[m.IntN(len(m.texts))], "\n")
			k := m.IntN(len(other))
			lines = slices.Insert(lines, i, other[k:min(len(other), k+12)]...)
		case 7: // noise
			lines[i] = []string{"\x1b[2J\x07", "\x00\xff\n", "%\n", "\r\n\r", strings.Repeat("a", 5000) + "\n", "é ✓\u202e\n", "!\n", "#\n"}[m.IntN(8)] + lines[i]
		case 8: // another case
			lines[i] = strings.ToUpper(lines[i])
		}
		text = strings.Join(lines, "")
	}
	return text
}

func survives(t *testing.T, os *switches.OS, text string) (well bool) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v", p)
			well = false
		}
	}()
	out := map[string]string{}
	for _, cmd := range os.Show {
		out[cmd] = text
	}
	c, err := os.Parse(out)
	if err != nil {
		t.Errorf("read: %v", err)
		return false
	}
	ports := c.PortNames()
	want := wishFor(ports[:min(3, len(ports))]...)
	have := c.For(want)
	if lines, err := switches.Render(os, have, have); err != nil || len(lines) > 0 {
		t.Errorf("from itself to itself: %v %q", err, lines)
		return false
	}
	if lines, err := switches.Render(os, have, want); err == nil {
		if _, err := switches.Render(os, want, have); err != nil {
			t.Errorf("no way back from %q: %v", lines, err)
			return false
		}
	}
	owned := have.Owned(switches.Owner{Name: "o"})
	for _, name := range owned.Names {
		switches.GiveBack(have, switches.Relics{Base: &have, Left: &have}, name, false)
	}
	switches.Back(have, c, switches.Owner{Name: "o"}, ports)
	have.Unmanaged(want)
	os.Neighbours.Heard(text)
	for _, line := range os.Counters {
		for _, port := range append(ports[:min(2, len(ports))], "Ethernet1/1") {
			_, _ = line.Parse(text, port)
		}
	}
	if os.Operates != nil {
		os.Operates.States(text, []string{"Ethernet1/1"})
	}
	return true
}
