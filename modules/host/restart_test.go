package host

import (
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/modules/claim"
)

// A machine that is empty is gone on with where a weft of the same owner emptied it that has
// ended, and nowhere else.
func TestWhose(t *testing.T) {
	dead := claim.Holder{Who: "ann@ws", Machine: "m", PID: 7, Started: "1"}
	alive := claim.Holder{Who: "bob@ws", Machine: "m", PID: 8, Started: "2"}
	me := claim.Holder{Who: "eve@ws", Machine: "m", PID: 9, Started: "3", Alive: func(h claim.Holder) bool { return h.PID != dead.PID }}
	elsewhere := dead
	elsewhere.Machine = "n"
	by := func(h claim.Holder, until int64) *Emptying {
		return &Emptying{Owner: "o", By: h, Since: 1, Until: until}
	}
	for name, test := range map[string]struct {
		s    Standing
		says string
	}{
		"by one that died here":               {Standing{Empty: true, Now: 5, Note: by(dead, 100), Noted: true, Same: true}, ""},
		"by one that was elsewhere, long ago": {Standing{Empty: true, Now: 100, Note: by(elsewhere, 100), Noted: true, Same: true}, ""},
		"by itself":                           {Standing{Empty: true, Now: 5, Note: by(me, 100), Noted: true, Same: true}, ""},
		"by one that lives":                   {Standing{Empty: true, Now: 5, Note: by(alive, 100), Noted: true, Same: true}, "the weft of bob@ws restarts it, for another 1m35s at most"},
		"by one elsewhere":                    {Standing{Empty: true, Now: 5, Note: by(elsewhere, 100), Noted: true, Same: true}, "the weft of ann@ws restarts it"},
		"by another owner":                    {Standing{Empty: true, Now: 100, Note: &Emptying{Owner: "p", By: dead}, Noted: true, Same: true}, "a weft of the owner p has noted"},
		"by a person":                         {Standing{Empty: true}, "it is in maintenance mode, which weft did not start"},
		"by a person, after weft":             {Standing{Empty: true, Note: by(dead, 100), Noted: true, Said: "LINE"}, "started by another user after the weft of ann@ws, which has ended. Its log: LINE"},
		"before that was noted":               {Standing{Empty: true, Note: by(dead, 100)}, "by the weft of ann@ws that has ended is not known"},
	} {
		err := test.s.Whose("o", me)
		if (err == nil) != (test.says == "") || err != nil && (!strings.Contains(err.Error(), test.says) || hint.Of(err) == "") {
			t.Errorf("%s: it says %v", name, err)
		}
	}
}
