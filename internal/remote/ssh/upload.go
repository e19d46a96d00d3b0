package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"weft/internal/remote"
)

// sftpFrom is the size in bytes from which a file is uploaded by SFTP. A
// smaller one travels with the command that puts it in place, in one round
// trip.
const sftpFrom = 64 << 10

// slowLine is how many bytes a second an upload has at least: below it, it is given up.
const slowLine = 16 << 10

// upload stores content by SFTP in a private file below /tmp, as the login
// user, and returns its path. Where it failed the file is gone.
func (c *Client) upload(ctx context.Context, content []byte) (path string, err error) {
	path = "/tmp/.weft-" + runID()
	if err := c.sftp(ctx, len(content), func(files *sftp.Client) error { return store(files, path, content, true) }); err != nil {
		return "", err
	}
	return path, nil
}

// Upload implements remote.Uploader. Who else may read the file is as the folder has it.
func (c *Client) Upload(ctx context.Context, name string, content []byte) (at string, err error) {
	if err = c.sftp(ctx, len(content), func(files *sftp.Client) error {
		home, err := files.Getwd()
		if err != nil {
			return fmt.Errorf("where a session begins: %w", err)
		}
		at = path.Join(home, name)
		return store(files, at, content, false)
	}); err != nil {
		return "", err
	}
	return at, nil
}

// Withdraw implements remote.Uploader.
func (c *Client) Withdraw(ctx context.Context, path string) error {
	return c.sftp(ctx, 0, func(files *sftp.Client) error { return files.Remove(path) })
}

// sftp does something with so many bytes over a session of the subsystem, for as long as a
// command may take, and they over a slow line. A
// machine that grants it and then says nothing holds up nobody: what waits for it ends with
// the connection, and do may then still be at work.
func (c *Client) sftp(ctx context.Context, size int, do func(*sftp.Client) error) error {
	ctx, cancel := c.limited(ctx, time.Duration(size/slowLine)*time.Second)
	defer cancel()
	session, release, err := c.session(ctx, c.conn.sessions)
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	c.conn.work.Go(session.discard)
	c.conn.work.Go(func() {
		defer release()
		defer session.Close()
		done <- c.subsystem(session, do)
	})
	select {
	case err := <-done:
		return c.lostOr(err)
	case <-ctx.Done():
	}
	session.Close()
	within(time.Second, done)
	return c.lostOr(context.Cause(ctx))
}

// subsystem starts sftp in a session.
func (c *Client) subsystem(session *session, do func(*sftp.Client) error) error {
	ok, err := session.SendRequest("subsystem", true, ssh.Marshal(struct{ Name string }{"sftp"}))
	switch {
	case err != nil:
		return err
	case !ok:
		return remote.ErrNoUpload
	}
	files, err := sftp.NewClientPipe(session, session)
	if err != nil {
		return fmt.Errorf("%w: %w", remote.ErrNoUpload, err) // granted, but nothing answers
	}
	defer files.Close()
	return do(files)
}

// store makes a new file; a private one may be read by its owner only, before it holds
// anything. Where it failed the file is gone.
func store(files *sftp.Client, path string, content []byte, private bool) error {
	f, err := files.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("uploading to %s: %w", path, err)
	}
	if private {
		err = f.Chmod(0o600)
	}
	if err == nil {
		_, err = f.ReadFrom(bytes.NewReader(content))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = files.Remove(path) // what matters is why
		return fmt.Errorf("uploading to %s: %w", path, err)
	}
	return nil
}
