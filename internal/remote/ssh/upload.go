package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// sftpFrom is the size in bytes from which a file is uploaded by SFTP. A
// smaller one travels with the command that puts it in place, in one round
// trip.
const sftpFrom = 64 << 10

// errNoSFTP is a server that has no SFTP subsystem.
var errNoSFTP = errors.New("the server has no SFTP subsystem")

// upload stores content by SFTP in a private file below /tmp, as the login
// user, and returns its path. Where it failed the file is gone.
func (c *Client) upload(ctx context.Context, content []byte) (path string, err error) {
	session, release, err := c.session(ctx, c.conn.sessions)
	if err != nil {
		return "", err
	}
	defer release()
	defer session.Close()
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	c.conn.work.Go(session.discard)
	ok, err := session.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	switch {
	case err != nil:
		return "", c.lostOr(err)
	case !ok:
		return "", errNoSFTP
	}
	files, err := sftp.NewClientPipe(session, session)
	if err != nil {
		return "", c.lostOr(fmt.Errorf("%w: %w", errNoSFTP, err)) // granted, but nothing answers
	}
	defer files.Close()
	path = "/tmp/.weft-" + runID()
	if err := store(files, path, content); err != nil {
		files.Remove(path)
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", c.lostOr(fmt.Errorf("uploading to %s: %w", path, err))
	}
	return path, nil
}

// store makes a new file that only its owner may read, before it holds
// anything.
func store(files *sftp.Client, path string, content []byte) error {
	f, err := files.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	err = f.Chmod(0o600)
	if err == nil {
		_, err = f.ReadFrom(bytes.NewReader(content))
	}
	return errors.Join(err, f.Close())
}
