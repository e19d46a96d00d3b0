package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// netbox serves the files of a directory as the pages of a NetBox, and names it in
// $NETBOX, which pages may name, too. A page whose name begins with cut ends early.
func netbox(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: netbox DIR")
	}
	dir := ts.MkAbs(args[0])
	var own string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.ReplaceAll(strings.TrimPrefix(r.URL.Path, "/"), "/", "-")
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		page := strings.ReplaceAll(string(text), "$NETBOX", own)
		if strings.HasPrefix(name, "cut") {
			w.Header().Set("Content-Length", strconv.Itoa(len(page)+1))
		}
		_, _ = w.Write([]byte(page)) // whoever asks sees what is missing
	}))
	own = s.URL
	ts.Defer(s.Close)
	ts.Setenv("NETBOX", own)
}
