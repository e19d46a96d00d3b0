package ssh

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
)

// ReadFile implements remote.Host. The path must be absolute.
func (c *Client) ReadFile(ctx context.Context, path string) ([]byte, error) {
	look := remote.Look{File: path}
	seen, err := remote.Read(ctx, c, []remote.Look{look})
	if err != nil {
		return nil, err
	}
	s := seen.Of(look)
	return s.Content, s.Err
}

// putScript replaces $1 with mode $2 by the file $5, which it removes, or where
// that is "" by standard input, if its SHA-256 is $3, by way of the temporary
// $4 next to it. The sum matters: to the shell, a
// connection that breaks looks like the end of the input. Besides built-ins
// it runs mkdir, cat, sha256sum, chmod, sync, mv and rm.
//
// Not to follow what another user put in the temporary's place, and to keep the
// upload private, matters on a real machine: the mode is set by the descriptor.
// An interpreter that has neither noclobber nor a umask, nor descriptors in
// /proc, is a simulated one.
const putScript = `set -C 2>/dev/null || :
clear() { rm -f -- "$tmp"; [ -z "$from" ] || rm -f -- "$from"; }
fail() { clear; echo "$1" >&2; exit 1; }
tmp=$4 from=$5
if [ -d "$1" ]; then fail "it is a directory"; fi
umask 022 2>/dev/null || :
[ -d "${1%/*}/" ] || mkdir -p -- "${1%/*}/" || { clear; exit 1; }
umask 077 2>/dev/null || :
mode() { if [ -e /proc/self/fd/1 ]; then chmod "$1" /proc/self/fd/1; else chmod "$1" "$tmp"; fi; }
{ if [ -n "$from" ]; then cat -- "$from"; else cat; fi && mode "$2"; } >"$tmp" || fail "the upload was not stored"
sum=$(sha256sum <"$tmp") || fail "the upload has no sum"
[ "${sum%% *}" = "$3" ] || fail "the upload did not arrive whole"
sync "$tmp" 2>/dev/null || sync
mv -f -- "$tmp" "$1" || fail "the upload was not put in place"
[ -z "$from" ] || rm -f -- "$from"
sync "${1%/*}/" 2>/dev/null || sync
`

// WriteFile implements remote.Host. The path must be absolute. The content is
// uploaded to a private temporary next to the target, compared with its
// SHA-256, synced to disk and renamed: one round trip, with and without
// Become. What is large goes ahead by SFTP, where the server has that. A
// symbolic link is replaced, not followed.
func (c *Client) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) error {
	if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
		return fmt.Errorf("%q is not the absolute path of a file", path)
	}
	// The sum goes ahead of the content.
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	temporary := path[:strings.LastIndexByte(path, '/')+1] + ".weft-" + runID()
	var uploaded string
	var stdin io.Reader = bytes.NewReader(content)
	if len(content) >= sftpFrom {
		switch uploaded, err = c.upload(ctx, content); {
		case err == nil:
			stdin = nil
		case !errors.Is(err, remote.ErrNoUpload):
			return err
		}
	}
	// Quiet: the script is no use in a message.
	out, err := c.Run(ctx, remote.Cmd{
		Args:  append(slices.Clone(behind), "sh", "-c", putScript, "sh", path, fmt.Sprintf("%04o", mode.Perm()), hex.EncodeToString(sum[:]), temporary, uploaded),
		Stdin: stdin,
		Quiet: true,
	})
	if err == nil {
		return nil
	}
	var exit *remote.ExitError
	if !errors.As(err, &exit) {
		c.forget(ctx, temporary, uploaded)
		return err
	}
	if len(behind) > 0 { // the script may not have come to it
		c.forget(ctx, temporary, uploaded)
	}
	said := reason(string(out.Stderr))
	switch {
	case said == "":
		return exit
	case strings.Contains(said, "Permission denied"):
		err = fmt.Errorf("%w: %s", fs.ErrPermission, said)
		if c.target.Become == "" {
			err = hint.Wrap(err, `if only root may write it, set become = "sudo" in the connection`)
		}
		return err
	case strings.Contains(said, "No space left on device"), strings.Contains(said, "Disk quota exceeded"):
		return hint.Wrap(errors.New(said), "the previous file is unchanged; free space on the file system of %s", path)
	case strings.Contains(said, "Read-only file system"):
		return hint.Wrap(errors.New(said), "find out whether it is meant to be read-only: after errors of its disk, Linux makes a file system so by itself")
	}
	return &remote.WriteError{Code: exit.Code, Stderr: string(out.Stderr), Said: said}
}

// reason is what putScript and its tools said, in one line: what did not work,
// and then why.
func reason(stderr string) string {
	var lines []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if n := len(lines); n > 1 {
		lines = append(lines[n-1:], lines[:n-1]...)
	}
	return strings.Join(lines, ": ")
}

// forget removes what an upload that was killed has left.
func (c *Client) forget(ctx context.Context, left ...string) {
	if c.conn.dead() {
		return // the script has seen its input end, and has removed it
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killGrace)
	defer cancel()
	c.Run(ctx, remote.Cmd{Args: append([]string{"rm", "-f", "--"}, slices.DeleteFunc(left, func(p string) bool { return p == "" })...), Quiet: true})
}
