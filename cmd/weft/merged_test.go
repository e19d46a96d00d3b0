package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// After a merge the authors are those of the commits that it brought, their committers and
// co-authors; of what was merged beside the files since, too. A squash does not tell.
func TestMergedAuthors(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
	dir := t.TempDir()
	git := func(author string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "commit.gpgsign=false"}, args...)...)
		name, committer, _ := strings.Cut(author, "/")
		if committer == "" {
			committer = name
		}
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME="+name, "GIT_AUTHOR_EMAIL="+name+"@x", "GIT_COMMITTER_NAME="+committer, "GIT_COMMITTER_EMAIL="+committer+"@x")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	merge := func(by string, change func()) {
		t.Helper()
		git(by, "checkout", "-q", "-b", "change")
		change()
		git(by, "checkout", "-q", "main")
		git(by, "merge", "-q", "--no-ff", "-m", "merged", "change")
		git(by, "branch", "-q", "-D", "change")
	}
	r := &repository{opts: &options{dir: dir}}
	want := func(what string, want ...string) {
		t.Helper()
		got, err := r.merged(t.Context(), []string{"fabric/a.hcl"})
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		slices.Sort(got)
		if got = slices.Compact(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, wanted %q", what, got, want)
		}
	}
	git("base", "init", "-q", "-b", "main")
	write("fabric/a.hcl", "a")
	write("fabric/b.hcl", "b")
	git("base", "add", ".")
	git("base", "commit", "-qm", "first")
	if _, err := r.merged(t.Context(), []string{"fabric/a.hcl"}); err == nil || !strings.Contains(err.Error(), "is no merge") {
		t.Errorf("a commit without a merge: %v", err)
	}
	merge("merger", func() {
		write("fabric/a.hcl", "a2")
		git("alice/bob", "commit", "-qam", "one\n\nCo-authored-by: Carol <carol@x>")
		write("fabric/b.hcl", "b2")
		git("dave", "commit", "-qam", "two")
	})
	want("merge", "alice@x", "bob@x", "carol@x", "dave@x", "merger@x")
	merge("other", func() {
		write("elsewhere/c.hcl", "c")
		git("erin", "add", ".")
		git("erin", "commit", "-qm", "elsewhere")
	})
	want("merge elsewhere", "alice@x", "bob@x", "carol@x", "dave@x", "merger@x")
	merge("other", func() {
		git("mallory", "rm", "-q", "fabric/b.hcl")
		git("mallory", "commit", "-qm", "a file is deleted")
	})
	want("a file deleted beside", "alice@x", "bob@x", "carol@x", "dave@x", "mallory@x", "merger@x", "other@x")
	write("fabric/a.hcl", "a3")
	git("mallory/merger", "commit", "-qam", "squashed")
	if _, err := r.merged(t.Context(), []string{"fabric/a.hcl"}); err == nil || !strings.Contains(err.Error(), "is no merge") {
		t.Errorf("a squash: %v", err)
	}
}
