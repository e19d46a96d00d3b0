package linux

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

// tokenPath holds the highest token of those that took the lease: it is there after a
// restart, too, which forgets the lease.
const tokenPath = ledgerDir + "/token"

// fence is the check that commands run behind.
func fence() *host.Fence {
	return &host.Fence{Behind: behind, Token: standing, Yield: yield}
}

// tokenOf begins scripts with the token of a claim.
func tokenOf(c host.Claim) string {
	if c.ByHand {
		return "hand=1\n"
	}
	return fmt.Sprintf("te=%d; tr=%d\n", c.Token.Epoch, c.Token.Revision)
}

// fenceScript runs the command $2… if nobody but the word $1 has the lease, and no
// token stands above te and tr.
const fenceScript = leaseSteps + tokenSteps + `for f in "$l"/*; do case $f in *."$1"|"$l/*") ;; *) echo "` + fencedBy + `another weft" >&2; exit 121;; esac; done
if barred; then echo "` + fencedBy + `a run with the token $e.$r" >&2; exit 121; fi
shift; exec "$@"`

const fencedBy = "weft-fence: "

// A fenced transport changes nothing for who was overtaken.
type fenced struct {
	transport
	prefix []string
}

func behind(t host.Transport, c host.Claim) host.Transport {
	return fenced{transport{t}, []string{"sh", "-c", tokenOf(c) + fenceScript, "sh", word(c.Text)}}
}

func (f fenced) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	args := cmd.Args
	cmd.Args = append(slices.Clone(f.prefix), args...)
	out, err := f.Host.Run(ctx, cmd)
	var exit *remote.ExitError
	if errors.As(err, &exit) && exit.Args != nil {
		exit.Args = args // as it was meant
	}
	return out, refused(err)
}

func (f fenced) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, _ ...string) error {
	return refused(f.Host.WriteFile(ctx, path, r, mode, f.prefix...))
}

func (f fenced) Do(ctx context.Context, s remote.Step) error { return remote.Do(ctx, f, s) }

// refused is what the check says, where it is the check.
func refused(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if exit := (*remote.ExitError)(nil); errors.As(err, &exit) {
		text += "\n" + string(exit.Output.Stderr)
	}
	_, by, found := strings.Cut(text, fencedBy)
	if !found {
		return err
	}
	by, _, _ = strings.Cut(by, "\n")
	return &host.FencedError{By: by}
}

// tokenLook reads the token that stands.
func tokenLook() remote.Look { return remote.Look{Root: true, File: tokenPath} }

// readToken is a token as people see it.
func readToken(text string) string {
	return cmp.Or(strings.Join(strings.Fields(text), "."), "in "+tokenPath+", which cannot be read")
}

func standing(ctx context.Context, t host.Transport) (string, error) {
	out, err := t.Run(ctx, script(tokenSteps+`if stands; then echo token "$e" "$r"; fi`))
	text, there := strings.CutPrefix(strings.TrimSpace(string(out.Stdout)), "token")
	if err != nil || !there {
		return "", err
	}
	return readToken(text), nil
}

func yield(ctx context.Context, t host.Transport) error {
	_, err := t.Run(ctx, remote.Cmd{Args: []string{"rm", "-f", "--", tokenPath}})
	return err
}
