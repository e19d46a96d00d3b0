package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/review"
	"weft/plan"
)

// A repository is the git repository that the files are in, if any.
type repository struct {
	opts *options
}

// git asks the repository of --chdir. Replaced objects count as what they replace.
func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-replace-objects", "--literal-pathspecs", "-C", r.opts.dir}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

var (
	fullCommit  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	shortCommit = regexp.MustCompile(`^[0-9a-f]{4,63}$`)
)

// revision finds the commit that a name stands for: a full commit, a ref in full, or a
// branch that is nothing else as well. Git itself prefers a tag to a branch of the same
// name, and whoever may push a tag could choose the commit.
func (r *repository) revision(ctx context.Context, name string) (string, error) {
	if fullCommit.MatchString(name) { // git takes it for an object, whatever refs are called
		return r.commitOf(ctx, name)
	}
	if name == "HEAD" || name == "@" {
		return "", hint.Wrap(errors.New("HEAD is the change itself: its authors could change the list"), "name the base branch: refs/remotes/origin/main")
	}
	if strings.HasPrefix(name, "refs/") {
		if !r.isRef(ctx, name) {
			return "", fmt.Errorf("there is no ref %s in this repository", name)
		}
		return r.commitOf(ctx, name)
	}
	var found []string
	for _, prefix := range []string{"refs/heads/", "refs/remotes/", "refs/tags/", "refs/"} { // gitrevisions(7)
		if r.isRef(ctx, prefix+name) {
			found = append(found, prefix+name)
		}
	}
	switch {
	case len(found) > 1:
		return "", hint.Wrap(fmt.Errorf("%q is ambiguous: %s", name, strings.Join(found, ", ")), "name it in full: --signers %s:PATH", preferred(found))
	case len(found) == 1 && strings.HasPrefix(found[0], "refs/tags/"):
		return "", hint.Wrap(fmt.Errorf("%q is a tag, which any user with push permission can create", name), "name a branch, such as refs/remotes/origin/main; or the tag in full: --signers %s:PATH", found[0])
	case len(found) == 1:
		return r.commitOf(ctx, found[0])
	}
	err := fmt.Errorf("%q is neither a branch nor a full commit", name)
	if shortCommit.MatchString(name) {
		err = fmt.Errorf("%w: it may abbreviate several commits", err)
	}
	return "", hint.Wrap(err, "name a branch in full, such as refs/remotes/origin/main, or all digits of a commit")
}

// preferred is the ref of several that was most likely meant: a branch of a remote.
func preferred(refs []string) string {
	if i := slices.IndexFunc(refs, func(r string) bool { return strings.HasPrefix(r, "refs/remotes/") }); i >= 0 {
		return refs[i]
	}
	return refs[0]
}

func (r *repository) isRef(ctx context.Context, full string) bool {
	_, err := r.git(ctx, "show-ref", "--verify", "--quiet", "--", full)
	return err == nil
}

// commitOf is the commit of a ref in full, or of a full object name.
func (r *repository) commitOf(ctx context.Context, full string) (string, error) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--end-of-options", full+"^{commit}")
	return strings.TrimSpace(string(out)), err
}

// upstream is the branch that clones of a remote begin with.
const upstream = "refs/remotes/origin/HEAD"

// namedAuthors are those of --author or WEFT_AUTHORS; nil: none is named.
func (a *approvers) namedAuthors() []string {
	if len(a.approvals.authors) > 0 {
		return a.approvals.authors
	}
	if list := strings.FieldsFunc(os.Getenv("WEFT_AUTHORS"), func(r rune) bool { return r == ',' || r == ' ' }); len(list) > 0 {
		return list
	}
	return nil
}

// writers are who wrote what is rolled out: as they are given, or authors and committers
// of every commit since the base, or since the merge base with the upstream branch. An
// error says why nobody knows them.
func (a *approvers) writers(ctx context.Context, base string, p *plan.Plan) ([]string, error) {
	if list := a.namedAuthors(); list != nil {
		return list, nil
	}
	unknown := func(format string, args ...any) ([]string, error) {
		return nil, hint.Wrap(fmt.Errorf(format, args...), "name the authors with --author, or WEFT_AUTHORS")
	}
	if a.project.moved(p) != nil {
		return unknown("the files in %s are not those of the plan, so git does not say who wrote them", a.opts.dir)
	}
	files := slices.Sorted(maps.Keys(p.Sources))
	if _, err := a.repo.git(ctx, append([]string{"ls-files", "--error-unmatch", "--"}, files...)...); err != nil {
		return unknown("files of the plan are not in git")
	}
	if left, err := a.repo.git(ctx, "status", "--porcelain", "--untracked-files=no"); err != nil || len(left) > 0 {
		return unknown("files in %s are not committed", a.opts.dir)
	}
	if base == "" {
		common, err := a.repo.git(ctx, "merge-base", upstream, "HEAD")
		if err != nil {
			return unknown("git knows no base of the change: the signers are a file, and there is no %s", upstream)
		}
		base = strings.TrimSpace(string(common))
	}
	out, err := a.repo.git(ctx, "log", "--format=%ae%n%ce", base+"..HEAD")
	if err != nil {
		return unknown("%w", err)
	}
	names := strings.Fields(string(out))
	if len(names) == 0 { // it is merged
		if names, err = a.repo.merged(ctx, files); err != nil {
			return unknown("no commit lies between %.12s and HEAD, and %w", base, err)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// merged are the authors and committers of the merges that made the files what they are, with
// those whom commits name as co-authors. Changes beside the files since then count, too: one
// may have deleted a file. A commit without a second parent is a squash or a rebase, of which
// git does not say who wrote it.
func (r *repository) merged(ctx context.Context, files []string) ([]string, error) {
	one, err := r.git(ctx, append([]string{"log", "--first-parent", "-1", "--format=%H", "HEAD", "--"}, files...)...)
	last := strings.TrimSpace(string(one))
	if err != nil || last == "" {
		return nil, errors.Join(err, errors.New("no commit has made the files what they are"))
	}
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[filepath.ToSlash(filepath.Dir(f))] = true
	}
	since, err := r.git(ctx, append([]string{"log", "--first-parent", "--format=%H", last + "..HEAD", "--"}, slices.Sorted(maps.Keys(dirs))...)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, commit := range append(strings.Fields(string(since)), last) {
		if _, err := r.git(ctx, "rev-parse", "--verify", "--quiet", commit+"^2"); err != nil {
			return nil, fmt.Errorf("%.12s is no merge, so git does not say who wrote what it brought", commit)
		}
		out, err := r.git(ctx, "log", "--format=%ae%n%ce%n%(trailers:key=Co-authored-by,valueonly)", commit+"^1.."+commit)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if _, address, ok := strings.Cut(line, "<"); ok {
				line, _, _ = strings.Cut(address, ">")
			}
			names = append(names, strings.Fields(line)...)
		}
	}
	return names, nil
}

// inRepository is the path of a file of the inventory from the directory that weft
// works in, with slashes.
func (r *repository) inRepository(name string) string {
	path := filepath.Join(r.opts.dir, filepath.FromSlash(name))
	if filepath.IsAbs(path) {
		if here, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
				path = rel
			}
		}
	}
	return filepath.ToSlash(path)
}

// log begins a SARIF file.
func (r *repository) sarif(files []string) *review.Log {
	first := "."
	if len(files) > 0 {
		first = files[0]
	}
	return &review.Log{Version: version(), Path: r.inRepository, First: first}
}

// outsideRepository refuses a list of signers that a pull request could change.
func (r *repository) outsideRepository(name string) error {
	file, err := filepath.EvalSymlinks(name)
	if err == nil {
		file, err = filepath.Abs(file)
	}
	dir, bad := filepath.EvalSymlinks(r.opts.dir)
	if bad == nil {
		dir, bad = filepath.Abs(dir)
	}
	if err = errors.Join(err, bad); err != nil {
		return err
	}
	top := dir
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Lstat(filepath.Join(up, ".git")); err == nil {
			top = up
			break
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	if rel, err := filepath.Rel(top, file); err == nil && filepath.IsLocal(rel) {
		return hint.Wrap(fmt.Errorf("%s is in the repository: authors of a change could approve it themselves", name),
			"keep it elsewhere, or take it from the base branch: --signers refs/remotes/origin/main:%s", filepath.ToSlash(rel))
	}
	return nil
}

// commit is that of the files, where git knows it: for the record.
func (r *repository) commit() string {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if err != nil {
		return "" // there is no git, or no repository
	}
	return strings.TrimSpace(string(out))
}
