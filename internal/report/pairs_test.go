package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/prove"
)

// manyPairs is the page of a run that measured 4096 pairs.
func manyPairs(tb testing.TB) string {
	res, one := &prove.Result{}, row("", "", "", "tcp", 4096, 60*time.Microsecond, 20)
	for n := range 64 * 64 {
		r := *one
		r.Initiator, r.Target, r.Plane = fmt.Sprintf(`server.node["cn%d"]`, n/64), fmt.Sprintf(`target.nvme["st%d"]`, n%64/2), string(rune('a'+n%2))
		r.P99 += time.Duration(n)
		res.Rows = append(res.Rows, &r)
	}
	return write(tb, finished(tb, &Report{Owner: "pod", Made: begun, Measured: []Measured{{Time: begun, Result: res}}}).HTML)
}

// 4096 pairs are a page of less than 5 MB.
func TestManyPairs(t *testing.T) {
	text := manyPairs(t)
	if strict(t, text); len(text) > 5<<20 || strings.Count(text, "<tr>") < 4096 {
		t.Errorf("%d bytes, %d rows", len(text), strings.Count(text, "<tr>"))
	}
	t.Logf("%d bytes", len(text))
}
