package remotetest

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing"

	"weft/internal/remote"
)

func TestReplay(t *testing.T) {
	ctx := context.Background()
	r := NewReplay(t, "st1")
	r.Netdevs["0000:41:00.0"] = "ens1f0"
	r.Files["/sys/class/net/ens1f0/mtu"] = "1500\n"
	r.Commands["ip link set dev ens1f0 mtu 9000"] = Reply{Effect: func(r *Replay, _ string) {
		r.Files["/sys/class/net/ens1f0/mtu"] = "9000\n"
	}}
	r.Commands["false"] = Reply{Code: 1, Stderr: "no"}

	mtu := remote.Look{PCI: "0000:41:00.0", File: "/sys/class/net/{if}/mtu"}
	none := remote.Look{File: "/none"}
	fails := remote.Look{Args: []string{"false"}}
	read := func() remote.Seen {
		t.Helper()
		seen, err := remote.Read(ctx, r, []remote.Look{mtu, none, mtu, fails})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	seen := read()
	if got := seen.Of(mtu); got.Text() != "1500" || got.Interface != "ens1f0" {
		t.Errorf("mtu: %+v", got)
	}
	if got := seen.Of(none); !got.Absent || !errors.Is(got.Err, fs.ErrNotExist) {
		t.Errorf("none: %+v", got)
	}
	if got := seen.Of(fails); got.Code != 1 || got.Err == nil {
		t.Errorf("false: %+v", got)
	}
	if name, _ := seen.Interface("0000:41:00.0"); name != "ens1f0" {
		t.Errorf("interface %q", name)
	}
	for _, s := range []remote.Step{
		{Args: []string{"ip", "link", "set", "dev", "ens1f0", "mtu", "9000"}},
		{Put: &remote.File{Path: "/etc/x", Mode: 0o600, Content: []byte("x")}},
		{Del: "/etc/x"},
	} {
		if err := remote.Do(ctx, r, s); err != nil {
			t.Fatal(err)
		}
	}
	if got := read().Of(mtu).Text(); got != "9000" {
		t.Errorf("mtu afterwards: %s", got)
	}
	want := []string{"$ ip link set dev ens1f0 mtu 9000", "put /etc/x (0600, 1 bytes)", "remove /etc/x"}
	if got := r.Did(); !slices.Equal(got, want) {
		t.Errorf("did %q; want %q", got, want)
	}
}
