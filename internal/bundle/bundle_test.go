package bundle

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"weft/internal/hint"
)

func packed(t *testing.T, content string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func TestOpen(t *testing.T) {
	whole := packed(t, "arm")
	b := From(fstest.MapFS{
		"agents/linux-amd64/weft-target.gz":   packed(t, "amd"),
		"agents/linux-arm64/weft-target.gz":   whole,
		"agents/darwin-arm64/weft-target.gz":  {Data: whole.Data[:len(whole.Data)-9]},
		"agents/freebsd-arm64/weft-target.gz": {Data: []byte("ELF")},
	})
	for arch, want := range map[string]string{"amd64": "amd", "arm64": "arm"} {
		exe, sum, err := b.Open("linux", arch, "weft-target")
		digest := sha256.Sum256([]byte(want))
		if err != nil || string(exe) != want || sum != hex.EncodeToString(digest[:]) {
			t.Errorf("%s: %q %s %v", arch, exe, sum, err)
		}
		again, _, err := b.Open("linux", arch, "weft-target")
		if err != nil || &again[0] != &exe[0] {
			t.Errorf("%s was unpacked twice (%v)", arch, err)
		}
	}
	for _, goos := range []string{"darwin", "freebsd"} {
		if _, _, err := b.Open(goos, "arm64", "weft-target"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), goos+"/arm64") {
			t.Errorf("damaged: %v", err)
		}
	}
}

// The sum that was packed is told without unpacking, and has to be that of what
// is unpacked.
func TestSum(t *testing.T) {
	digest := sha256.Sum256([]byte("amd"))
	sum := hex.EncodeToString(digest[:])
	b := From(fstest.MapFS{
		"agents/linux-amd64/weft-target.gz":        {Data: []byte("ELF")},
		"agents/linux-amd64/weft-target.gz.sum":    {Data: []byte(sum + "\n")},
		"agents/linux-amd64/weft-initiator.gz":     packed(t, "amd"),
		"agents/linux-arm64/weft-target.gz":        packed(t, "arm"),
		"agents/linux-arm64/weft-target.gz.sum":    {Data: []byte(sum + "\n")},
		"agents/linux-arm64/weft-initiator.gz":     packed(t, "arm"),
		"agents/linux-arm64/weft-initiator.gz.sum": {Data: []byte("arm\n")},
		"agents/linux-riscv64/weft-target.gz.sum":  {Data: []byte(sum + "\n")},
	})
	for _, name := range []string{"weft-target", "weft-initiator"} { // not to be unpacked; without a sum
		if got, err := b.Sum("linux", "amd64", name); got != sum || err != nil {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	if _, _, err := b.Open("linux", "arm64", "weft-target"); err == nil || !strings.Contains(err.Error(), sum) {
		t.Errorf("the sum of another: %v", err)
	}
	if got, err := b.Sum("linux", "arm64", "weft-initiator"); err == nil || got != "" || !strings.Contains(err.Error(), "no SHA-256") {
		t.Errorf("no sum: %s %v", got, err)
	}
	if got, err := b.Sum("linux", "riscv64", "weft-target"); got != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a sum of nothing: %s %v", got, err)
	}
}

func TestMissingSaysRunMake(t *testing.T) {
	_, _, err := New().Open("plan9", "mips", "weft-target")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(hint.Of(err), "run make") || !strings.Contains(err.Error(), "plan9/mips") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// That an agent is as it was packed is told without unpacking it, where both sums
// were packed, and else by unpacking it.
func TestSize(t *testing.T) {
	whole := packed(t, "amd")
	sums := func(texts ...string) *fstest.MapFile {
		var b strings.Builder
		for _, text := range texts {
			fmt.Fprintf(&b, "%x\n", sha256.Sum256([]byte(text)))
		}
		return &fstest.MapFile{Data: []byte(b.String())}
	}
	damaged := &fstest.MapFile{Data: bytes.Clone(whole.Data)}
	damaged.Data[len(damaged.Data)/2] ^= 1
	b := From(fstest.MapFS{
		"agents/linux-amd64/whole.gz":          whole,
		"agents/linux-amd64/whole.gz.sum":      sums("amd", string(whole.Data)),
		"agents/linux-amd64/old.gz":            whole,
		"agents/linux-amd64/old.gz.sum":        sums("amd"),
		"agents/linux-amd64/damaged.gz":        damaged,
		"agents/linux-amd64/damaged.gz.sum":    sums("amd", string(whole.Data)),
		"agents/linux-amd64/olddamaged.gz":     damaged,
		"agents/linux-amd64/olddamaged.gz.sum": sums("amd"),
		"agents/linux-amd64/three.gz":          whole,
		"agents/linux-amd64/three.gz.sum":      sums("amd", string(whole.Data), ""),
	})
	for name, want := range map[string]int{"whole": 3, "old": 3, "damaged": 0, "olddamaged": 0, "three": 0, "none": 0} {
		size, err := b.Size("linux", "amd64", name)
		if size != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %d bytes, %v", name, size, err)
		}
		if name == "none" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, unpacked := range map[string]int{"whole": 0, "old": 1} {
		b := From(b.files)
		if _, err := b.Size("linux", "amd64", name); err != nil || len(b.unpacked) != unpacked {
			t.Errorf("%s: %d were unpacked (%v)", name, len(b.unpacked), err)
		}
	}
}

// What a resource installs is that of the platform of its machine; without a bundle, or a
// platform that it has, the error says so before anything is unpacked.
func TestExecutable(t *testing.T) {
	b := From(fstest.MapFS{"agents/windows-amd64/weft-initiator.gz": packed(t, "exe")})
	e := Executable{From: b, Platform: "windows-amd64", Name: "weft-initiator"}
	digest := sha256.Sum256([]byte("exe"))
	if sum, err := e.Sum(); err != nil || sum != hex.EncodeToString(digest[:]) {
		t.Errorf("%q %v", sum, err)
	}
	size, unpack, err := e.Packed()
	if err != nil || size != len("exe") {
		t.Fatal(size, err)
	}
	if exe, err := unpack(); err != nil || string(exe) != "exe" {
		t.Errorf("%q %v", exe, err)
	}
	for want, e := range map[string]Executable{
		"no bundle of weft goes with it":      {nil, "windows-amd64", "weft-initiator"},
		"no weft-initiator for windows/arm64": {b, "windows-arm64", "weft-initiator"},
		"no weft-target for windows/amd64":    {b, "windows-amd64", "weft-target"},
		"no weft-initiator for riscv/":        {b, "riscv", "weft-initiator"},
	} {
		if _, err := e.Sum(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("sum: %v, want %s", err, want)
		}
		if _, _, err := e.Packed(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("packed: %v, want %s", err, want)
		}
	}
}

// TestReproducible demands that the embedded agents depend neither on the directory nor on the
// commit that they were built in: plans carry their sums.
func TestReproducible(t *testing.T) {
	b, found := New(), 0
	for _, platform := range [][2]string{{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}} {
		for _, name := range []string{"weft-target", "weft-initiator"} {
			exe, _, err := b.Open(platform[0], platform[1], name)
			if err != nil {
				continue // not built
			}
			found++
			info, err := buildinfo.Read(bytes.NewReader(exe))
			if err != nil {
				t.Errorf("%s for %s: %v", name, platform, err)
				continue
			}
			set := map[string]string{}
			for _, s := range info.Settings {
				set[s.Key] = s.Value
			}
			if set["-trimpath"] != "true" || set["vcs.revision"] != "" || set["CGO_ENABLED"] != "0" {
				t.Errorf("%s for %s was built with -trimpath=%q, vcs.revision=%q and CGO_ENABLED=%q: make build builds it anew",
					name, platform, set["-trimpath"], set["vcs.revision"], set["CGO_ENABLED"])
			}
		}
	}
	if found == 0 {
		t.Skip("no agents are embedded: make build")
	}
}
