package report

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// opened has the page tell, once it is painted, how long that took since the
// browser began to ask for it. Real pages have no script.
const opened = `<script>onload = () => requestAnimationFrame(() => requestAnimationFrame(() =>
	fetch("/opened?" + performance.now(), {method: "POST"})))</script>`

// BenchmarkOpen opens the page of 4096 pairs in a browser that runs already, as
// far as that can be: the first page it is given is an empty one.
func BenchmarkOpen(b *testing.B) {
	browser, page := chromium(b), manyPairs(b)
	took := make(chan float64, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/opened":
			var ms float64
			_, _ = fmt.Sscan(r.URL.RawQuery, &ms)
			took <- ms
		case "/report.html":
			_, _ = io.WriteString(w, page+opened)
		default:
			_, _ = io.WriteString(w, `<script>location = "/report.html"</script>`)
		}
	}))
	defer server.Close()
	var sum float64
	for b.Loop() {
		dir := b.TempDir()
		cmd := exec.CommandContext(b.Context(), browser, append(browserFlags(dir), "--remote-debugging-port=0", server.URL)...)
		cmd.Env = append(os.Environ(), "HOME="+dir)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		select {
		case ms := <-took:
			sum += ms
		case <-time.After(5 * time.Minute):
			b.Error("the page was not opened")
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(sum/float64(b.N), "open-ms")
	b.ReportMetric(float64(len(page))/(1<<20), "MiB")
}
