package discover

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"weft/internal/nvme/names"
)

// What files need not say, because it follows from the rest. A test holds that the
// language derives the same; where it did not, a plan would say so.

func usualSerial(nqn string) string {
	sum := sha256.Sum256([]byte(nqn))
	return "WEFT" + strings.ToUpper(hex.EncodeToString(sum[:8]))
}

func usualUUID(nqn string, id uint32) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(fmt.Sprintf("%s/%d", nqn, id))).String()
}

// usualArray is the UUID of the array of md with which a host mirrors a volume.
func usualArray(owner, volume string) string {
	id := strings.ReplaceAll(uuid.NewSHA1(uuid.NameSpaceURL, []byte("weft-mirror/"+owner+"/"+volume)).String(), "-", "")
	return strings.Join([]string{id[:8], id[8:16], id[16:24], id[24:]}, ":")
}

func usualHostNQN(owner, server string) string {
	return names.UUID + uuid.NewSHA1(uuid.NameSpaceURL, []byte(owner+"/"+server)).String()
}

// size writes bytes in the largest unit that they are a multiple of.
func size(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9}, {"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"KB", 1e3}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// rate writes bits a second; "": not known.
func rate(n int64) string {
	switch {
	case n <= 0:
		return ""
	case n%1e9 == 0:
		return fmt.Sprintf("%dG", n/1e9)
	}
	return fmt.Sprintf("%dM", n/1e6)
}
