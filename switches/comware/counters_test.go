package comware

import (
	"strings"
	"testing"

	"weft/internal/tally"
)

// A PFC table that is broken at 80 columns reads as one that is not, with an empty list of
// priorities and with empty lines between. One of another layout has no counts.
func TestPFCCountsWrapped(t *testing.T) {
	const head = "Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv\n   Send       Inpps      Outpps\n" +
		"--------------------------------------------------------------------------------\n-------------------\n"
	const one = "HGE1/0/1                         Enabled    Enabled   3           3     5\n   6          3          3\n"
	const two = "HGE1/0/2                         Enabled    Enabled               0     7\n   8          3          3\n"
	want := []tally.Count{{Port: "p", Priority: 3, Name: tally.PFCRx, Value: 5}, {Port: "p", Priority: 3, Name: tally.PFCTx, Value: 6},
		{Port: "p", Name: tally.PFCRx, Value: 7}, {Port: "p", Name: tally.PFCTx, Value: 8}}
	for name, text := range map[string]string{"as it is": head + one + two, "with empty lines": strings.ReplaceAll(head+one+two, "\n", "\n\n")} {
		got, err := pfcCounts(text, "p")
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %+v, %v", name, got, err)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %+v, want %+v", name, got[i], want[i])
			}
		}
	}
	const other = "Conf -- Configured mode Ne -- Negotiated mode P -- Priority\nInterface Conf Ne Dot1pList P Recv Send Inpps Outpps\nHGE1/0/1 On On 3 3 5 5 3 3\n"
	for name, text := range map[string]string{"another layout": other, "a head that is cut": head[:80], "a row that is cut": head + one[:76]} {
		if got, err := pfcCounts(text, "p"); err != nil || len(got) > 0 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
