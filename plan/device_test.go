package plan

import (
	"strings"
	"testing"
)

// TestRefused: a message has the beginning of what was sent, so that what came
// back is not lost behind it; all of it is told beside the message.
func TestRefused(t *testing.T) {
	for line, want := range map[string]string{
		"mtu 9216":               `refused "mtu 9216": % Invalid command`,
		strings.Repeat("é", 101): `refused "` + strings.Repeat("é", 100) + `…": % Invalid command`,
	} {
		if got := (&RefusedError{Line: line, Reply: "    ^\n% Invalid command\n"}).Error(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
