package remote

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"weft/internal/hint"
)

func TestParseNeedsTheWholeReply(t *testing.T) {
	looks := []Look{{File: "/a"}, {Args: []string{"b"}}}
	whole := "\nN look 0\nA\nN end 0 seen\n\nN look 1\nB\nN end 1 code 0\n\nN done\n"
	for n := range whole {
		if _, err := parse("N", looks, Output{Stdout: []byte(whole[:n])}); !errors.Is(err, errCut) {
			t.Errorf("cut after %d bytes: %v", n, err)
		}
	}
	seen, err := parse("N", looks, Output{Stdout: []byte(whole)})
	if err != nil {
		t.Fatal(err)
	}
	if got := seen.Of(looks[0]).Text() + seen.Of(looks[1]).Text(); got != "AB" {
		t.Errorf("got %q", got)
	}
}

func TestParseDenied(t *testing.T) {
	look := Look{File: "/secret", Root: true}
	seen, err := parse("N", []Look{look}, Output{Stdout: []byte("\nN look 0\n\nN end 0 denied\n\nN done\n")})
	if err != nil {
		t.Fatal(err)
	}
	s := seen.Of(look)
	if s.Absent || !errors.Is(s.Err, fs.ErrPermission) || hint.Of(s.Err) == "" {
		t.Errorf("%+v, hint %q", s, hint.Of(s.Err))
	}
	if s := seen.Of(Look{File: "/other"}); s.Err == nil || s.Absent {
		t.Errorf("never looked at: %+v", s)
	}
}

func TestParseMode(t *testing.T) {
	for text, want := range map[string]fs.FileMode{
		"-rw-r--r--":  0o644,
		"-rwxr-x---.": 0o750,
		"drwxrwxrwt":  fs.ModeDir | fs.ModeSticky | 0o777,
		"-rwSr-sr--+": fs.ModeSetuid | fs.ModeSetgid | 0o654,
	} {
		if got, err := parseMode(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"", "-rw", "-rw-r--r-?"} {
		if got, err := parseMode(bad); err == nil {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	looks := []Look{
		{PCI: "0000:41:00.0", File: "/sys/{if}/mtu"},
		{File: "/bin/sh", Sum: true},
		{Args: []string{"true"}},
		{File: "/etc/a", Stat: true},
		{File: "/etc/b"},
	}
	const batch = "\nN files 3 4\nweft=N\x00a\nweft=N\x00b\nN stats 3\n8100:0\n81a4:2\n"
	f.Add("hi\n\nN pci 0 eth0\n\nN look 0\n1500\n\nN end 0 seen\n\nN look 1\n"+strings.Repeat("0a", 32)+
		"  -\n-rwxr-xr-x 1 0 0 42 Jan  1 00:00 /bin/sh\n\nN end 1 seen\n\nN look 2\n\nN end 2 code 1\n"+batch+"\nN done\n", "\nN look 2\noh\nN done\n")
	f.Add("\nN pci 0 \n\nN look 1\n\nN end 1 absent\n\nN look 2\n\nN end 2 code x\n"+batch+"\nN list 3\n-rw-r--r-- 1 0 0 2 Jan  1 00:00 /etc/a\n\nN done\n", "")
	f.Fuzz(func(t *testing.T, stdout, stderr string) {
		seen, err := parse("N", looks, Output{Stdout: []byte(stdout), Stderr: []byte(stderr)})
		if err != nil {
			return
		}
		for _, l := range looks {
			s := seen.Of(l)
			if s.Absent && !errors.Is(s.Err, fs.ErrNotExist) {
				t.Errorf("%s is absent without a reason: %v", l, s.Err)
			}
			if l.Sum && s.Err == nil && len(s.Sum) != 64 {
				t.Errorf("sum %q", s.Sum)
			}
		}
	})
}
