package ssh

import "testing"

// What reaches a shell of whatever kind is words that none of them takes for more.
func TestBare(t *testing.T) {
	if line, err := bare([]string{"powershell", "-EncodedCommand", "aA0+/="}); err != nil || line != "powershell -EncodedCommand aA0+/=" {
		t.Errorf("%q, %v", line, err)
	}
	for _, word := range []string{"", "a b", "a;b", "$x", "%PATH%", "a&b", "^", "'a'", "a\nb", "ä", "`", "(", "|", ">", "!"} {
		if line, err := bare([]string{"powershell", word}); err == nil {
			t.Errorf("%q is sent: %q", word, line)
		}
	}
}
