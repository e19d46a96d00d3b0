//go:build unix

package windows

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/pkg/sftp"

	"weft/internal/agent"
	"weft/internal/lab/simwindows"
	"weft/internal/remote"
)

// A reach is a box that takes files by SFTP, too.
type reach struct{ *box }

func (r reach) sftp(do func(*sftp.Client) error) error {
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- r.SFTP(r.t.Context(), r.login(), far); _ = far.Close() }()
	c, err := sftp.NewClientPipe(near, near)
	if err == nil {
		err = errors.Join(do(c), c.Close())
	} else {
		err = errors.Join(remote.ErrNoUpload, err)
	}
	_ = near.Close()
	<-served
	return err
}

func (r reach) Upload(_ context.Context, name string, content []byte) (path string, err error) {
	err = r.sftp(func(c *sftp.Client) error {
		home, err := c.Getwd()
		if err != nil {
			return err
		}
		path = home + "/" + name
		f, err := c.OpenFile(path, 0x1|0x40|0x80) // write, create, exclusive
		if err != nil {
			return err
		}
		_, err = f.ReadFrom(bytes.NewReader(content))
		return errors.Join(err, f.Close())
	})
	return path, err
}

func (r reach) Withdraw(_ context.Context, path string) error {
	return r.sftp(func(c *sftp.Client) error { return c.Remove(path) })
}

// ways are a host with SFTP, one whose SFTP does not answer, and one of which nothing is
// known of it.
func ways(t *testing.T) map[string]remote.Host {
	mute := newBox(t)
	if err := mute.Fault("no-sftp"); err != nil {
		t.Fatal(err)
	}
	return map[string]remote.Host{"with SFTP": reach{newBox(t)}, "SFTP does not answer": reach{mute}, "without": newBox(t)}
}

func contents(h remote.Host) map[string]string {
	if r, is := h.(reach); is {
		return r.Contents()
	}
	return h.(*box).Contents()
}

// A file comes by SFTP, or in pieces, whole or not at all, and nothing is left of its way.
func TestPut(t *testing.T) {
	for name, h := range ways(t) {
		tr := OS().Open(h)
		for _, content := range [][]byte{bytes.Repeat([]byte("first "), 200_000), []byte("second")} {
			if err := tr.Do(t.Context(), remote.Step{Put: &remote.File{Path: probeExe, Content: content}}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if left := contents(h); len(left) != 1 || left[probeExe] != string(content) {
				t.Errorf("%s: %d files, %d bytes", name, len(left), len(left[probeExe]))
			}
		}
		look := exeLook()
		seen, err := tr.Read(t.Context(), []remote.Look{look})
		if got := seen.Of(look); err != nil || got.Sum != "16367aacb67a4a017c8da8ab95682ccb390863780f7114dda0a0e0c55644c7c4" {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		if err := tr.Do(t.Context(), remote.Step{Del: probeExe}); err != nil || len(contents(h)) != 0 {
			t.Errorf("%s: removed: %v", name, err)
		}
		seen, err = tr.Read(t.Context(), []remote.Look{look})
		if got := seen.Of(look); err != nil || !got.Absent {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		for _, path := range []string{`C:\Windows\system32\x.exe`, root + `\..\x.exe`, `/etc/passwd`} {
			if err := tr.Do(t.Context(), remote.Step{Put: &remote.File{Path: path}}); err == nil || len(contents(h)) != 0 {
				t.Errorf("%s: %s was put", name, path)
			}
		}
	}
}

// What others have changed on its way is not put in its place.
func TestPutIsCompared(t *testing.T) {
	b := newBox(t)
	tr := OS().Open(b)
	b.Plant(probeExe+".new", "another", false)
	_, err := tr.Run(t.Context(), do("x", "$path = '"+probeExe+"'\n$sum = 'ab'\n"+place))
	if err == nil || !strings.Contains(err.Error(), "SHA-256") || len(b.Contents()) != 0 {
		t.Errorf("%v, left %v", err, b.Contents())
	}
}

// Where standard input does not arrive, scripts come as files; what cannot be is told apart.
func TestShortInput(t *testing.T) {
	b := newBox(t)
	if err := b.Fault("no-stdin"); err != nil {
		t.Fatal(err)
	}
	look := ask("x", "$value = 'it runs'\n")
	seen, err := OS().Open(reach{b}).Read(t.Context(), []remote.Look{look})
	if got := seen.Of(look).Text(); err != nil || got != "it runs" || len(b.Contents()) != 0 {
		t.Errorf("%q %v, left %v", got, err, b.Contents())
	}
	b.user = "Jane Doe" // no shell takes C:/Users/Jane Doe as one word
	if seen, err = OS().Open(reach{b}).Read(t.Context(), []remote.Look{look}); err != nil || seen.Of(look).Text() != "it runs" || len(b.Contents()) != 0 {
		t.Errorf("a profile with a space in its path: %q %v, left %v", seen.Of(look).Text(), err, b.Contents())
	}
	if _, err := OS().Open(b).Read(t.Context(), []remote.Look{look}); err == nil || !strings.Contains(err.Error(), "did not reach the host whole") {
		t.Errorf("without SFTP: %v", err)
	}
	if err := b.Fault("all-signed"); err != nil {
		t.Fatal(err)
	}
	if _, err := OS().Open(reach{b}).Read(t.Context(), []remote.Look{look}); err == nil || !strings.Contains(err.Error(), "not digitally signed") || len(b.Contents()) != 0 {
		t.Errorf("only signed files run: %v, left %v", err, b.Contents())
	}
}

// weft-initiator is run with what it is asked for, and says what became of it.
func TestProbe(t *testing.T) {
	status := 0
	h, err := simwindows.New(simwindows.Spec{Name: "win1", Probe: func(_ context.Context, exe []byte, args []string, input []byte) ([]byte, []byte, int, error) {
		return []byte("ä " + string(exe) + " " + strings.Join(args, ",") + " " + string(input)), []byte("told"), status, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	b := &box{Host: h, t: t}
	tr := OS().Open(b)
	cmd := func() remote.Cmd {
		return remote.Cmd{Args: []string{agent.ProbeBin, "do"}, Stdin: strings.NewReader(`{"read": 'x'}`)}
	}
	if _, err := tr.Run(t.Context(), cmd()); err == nil || !strings.Contains(err.Error(), "cannot find the file") {
		t.Errorf("it is not installed: %v", err)
	}
	b.Plant(probeExe, "MZ", false)
	out, err := tr.Run(t.Context(), cmd())
	if got := string(out.Stdout); err != nil || got != `ä MZ do {"read": 'x'}` || string(out.Stderr) != "told" {
		t.Errorf("%q %v", got, err)
	}
	status = 3
	var exit *remote.ExitError
	if _, err := tr.Run(t.Context(), cmd()); !errors.As(err, &exit) || exit.Code != 3 || !strings.Contains(string(exit.Output.Stdout), "do") {
		t.Errorf("%v", err)
	}
	if _, err := tr.Run(t.Context(), remote.Cmd{Args: []string{agent.ProbeBin, "do", "'"}}); err == nil {
		t.Error("a quote went through")
	}
}
