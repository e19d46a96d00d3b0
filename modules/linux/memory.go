package linux

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/host/posix"
	"weft/modules/linux/put"
)

// keepsakes is the memory of Linux: it keeps the lease where a restart forgets it, and
// ends it by the time since the start.
func keepsakes() posix.Memory {
	return posix.Memory{
		Logger: "logger -t weft",
		Dir:    "/var/lib/weft", Run: put.RunDir, Mask: "022", Clock: posix.Uptime, Enter: posix.ByRename, Keep: posix.SyncThenMove,
		Write: func(ctx context.Context, t host.Transport, path string, raw []byte) error {
			return t.WriteFile(ctx, path, bytes.NewReader(raw), 0o600)
		},
		Left: uploads, OnWay: []string{".weft-????????????????"}, Folders: folders, Open: open,
	}
}

// folders are those of agents, of their keys and of mirrors.
func folders(owner string) []string {
	keys := path.Dir(agent.KeyFile(owner, ""))
	return []string{path.Dir(fmt.Sprintf(agent.MirrorState, owner, "")), path.Dir(agent.TLSKeyFile(owner, "")), keys, path.Dir(keys), path.Dir(agent.ConfigPath), agent.BinDir + "/" + owner, agent.BinDir}
}

// uploads are in the folders in which weft puts files, which are those that the other
// looks are about, and some that it always uses.
func uploads(owner string, looks []remote.Look) []string {
	dirs := []string{"/tmp", agent.BinDir, path.Dir(agent.ConfigPath), path.Clean(agent.UnitPath), path.Dir(keepsakes().Place(host.KeptLedger, owner))}
	for _, l := range looks {
		if strings.HasPrefix(l.File, "/") && !strings.HasPrefix(l.File, "/sys/") && !strings.HasPrefix(l.File, "/proc/") {
			dirs = append(dirs, path.Dir(l.File))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
