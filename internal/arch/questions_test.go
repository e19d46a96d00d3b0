package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestQuestions checks that the answer to each first-guess question exists. Whether the
// names lead there is for a reader to judge.
func TestQuestions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "questions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		asked++
		question, answers, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok || !strings.HasSuffix(question, "?") {
			t.Errorf("%q is not a question and its answers", line)
		}
		for _, answer := range strings.Fields(answers) {
			if _, err := os.Stat(filepath.Join("..", "..", answer)); err != nil {
				t.Errorf("%s %v", question, err)
			}
		}
	}
	if asked != 22 {
		t.Errorf("%d questions, want 22", asked)
	}
}
