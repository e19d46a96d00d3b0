package posix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

// tokenPath holds the highest token of those that took the lease, "EPOCH REVISION": it is
// there after a restart, too, which forgets the lease.
func (m Memory) tokenPath() string { return m.Dir + "/token" }

// tokenSteps are functions of scripts about the token that stands. stands sets e and r to
// it, and reports whether there is one; barred reports whether it is not certain that te
// and tr are as high: it may be that the shell cannot read it, or compare such numbers.
func (m Memory) tokenSteps() string {
	return `token=` + m.tokenPath() + `
` + string(m.Keep) + `
stands() { e=0; r=0; [ -e "$token" ] || return 1; e=; r=; read -r e r <"$token" || :; case "$e-$r" in *[!0-9-]*|-*|*-) e=; r=;; esac; }
barred() { stands && [ -z "$hand" ] || return 1; [ -n "$e" ] || return 0; if [ "${te:-0}" -gt "$e" ] || { [ "${te:-0}" -eq "$e" ] && [ "${tr:-0}" -ge "$r" ]; }; then return 1; fi; }
`
}

// tokenOf begins scripts with the token of a claim.
func tokenOf(c host.Claim) string {
	if c.ByHand {
		return "hand=1\n"
	}
	return fmt.Sprintf("te=%d; tr=%d\n", c.Token.Epoch, c.Token.Revision)
}

const fencedBy = "weft-fence: "

// fenceScript runs the command $2… if nobody but the word $1 has the lease, and no
// token stands above te and tr.
func (m Memory) fenceScript() string {
	return m.leaseSteps() + m.tokenSteps() + `for f in "$l"/*; do case $f in *."$1"|"$l/*") ;; *) echo "` + fencedBy + `another weft" >&2; exit 121;; esac; done
if barred; then echo "` + fencedBy + `a run with the token $e.$r" >&2; exit 121; fi
shift; exec "$@"`
}

// Fence is the check that commands run behind.
func (m Memory) Fence() *host.Fence {
	return &host.Fence{Behind: m.behind, Token: m.standing, Yield: func(ctx context.Context, t host.Transport) error {
		return m.Sweep(ctx, t, []string{m.tokenPath()})
	}}
}

// A fenced transport changes nothing for who was overtaken. What is read passes.
type fenced struct {
	host.Transport // which changes
	reads          host.Transport
}

func (m Memory) behind(t host.Transport, c host.Claim) host.Transport {
	return fenced{m.Open(fence{t, []string{"sh", "-c", tokenOf(c) + m.fenceScript(), "sh", word(c.Text)}}), t}
}

func (f fenced) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	return f.reads.Read(ctx, looks)
}

// A fence is the way to a machine through the check.
type fence struct {
	remote.Host
	check []string
}

func (f fence) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	args := cmd.Args
	cmd.Args = append(slices.Clone(f.check), args...)
	out, err := f.Host.Run(ctx, cmd)
	var exit *remote.ExitError
	if errors.As(err, &exit) && exit.Args != nil {
		exit.Args = args // as it was meant
	}
	return out, refused(err)
}

func (f fence) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, _ ...string) error {
	return refused(f.Host.WriteFile(ctx, path, r, mode, f.check...))
}

// refused is what the check says, where it is the check.
func refused(err error) error {
	if err == nil {
		return nil
	}
	var printed string
	if exit := (*remote.ExitError)(nil); errors.As(err, &exit) {
		printed = string(exit.Output.Stderr)
	} else if w := (*remote.WriteError)(nil); errors.As(err, &w) {
		printed = w.Stderr
	}
	_, by, found := strings.Cut(printed, fencedBy)
	if !found {
		return err
	}
	by, _, _ = strings.Cut(by, "\n")
	return &host.FencedError{By: by}
}

// tokenScript shows the token that stands.
func (m Memory) tokenScript() string {
	return m.tokenSteps() + `if stands; then echo token "$e" "$r"; fi`
}

func (m Memory) tokenLook() remote.Look { return look(m.tokenScript()) }

// stood is what tokenScript has shown; "": no token stands.
func (m Memory) stood(shown []byte) string {
	text, there := strings.CutPrefix(strings.TrimSpace(string(shown)), "token")
	if !there {
		return ""
	}
	return m.tokenText(text)
}

// tokenText is a token as people see it.
func (m Memory) tokenText(words string) string {
	return cmp.Or(strings.Join(strings.Fields(words), "."), "in "+m.tokenPath()+", which cannot be read")
}

func (m Memory) standing(ctx context.Context, t host.Transport) (string, error) {
	out, err := t.Run(ctx, script(m.tokenScript()))
	if err != nil {
		return "", err
	}
	return m.stood(out.Stdout), nil
}
