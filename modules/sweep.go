package modules

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/modules/claim"
	"weft/plan"
)

// An apply that is killed may leave a lease, and files that were on their way to
// their place. Nobody would ever ask for them again: what was left is swept by the
// next transaction on the server, under its lease.

// leavings are what an apply that did not end has left.
type leavings struct {
	lease string   // who held it, for people; "": none was left
	files []string // half or whole uploads
}

// leftScript shows uploads in the folders $@, and before and after that the lease:
// while a lease is held its holder may be uploading.
const leftScript = `held() {
	if [ ! -d ` + leaseDir + `/lease ]; then return; fi
	until= holder=
	read -r until 2>/dev/null <` + leaseDir + `/lease/until
	read -r holder 2>/dev/null <` + leaseDir + `/lease/holder
	echo "held ${up%%.*} ${until:-never} $holder"
}
read -r up rest </proc/uptime
held
for d in "$@"; do for f in "$d"/.weft-????????????????; do if [ -f "$f" ]; then echo "left $f"; fi; done; done
held`

// leftLook looks for what was left in the folders in which weft puts files, which
// are those that the other looks are about, and some that it always uses.
func leftLook(owner string, looks []remote.Look) remote.Look {
	dirs := []string{"/tmp", agent.BinDir, path.Dir(agent.ConfigPath), path.Clean(agent.UnitPath), path.Dir(ledgerPath(owner))}
	for _, l := range looks {
		if strings.HasPrefix(l.File, "/") && !strings.HasPrefix(l.File, "/sys/") && !strings.HasPrefix(l.File, "/proc/") {
			dirs = append(dirs, path.Dir(l.File))
		}
	}
	slices.Sort(dirs)
	return remote.Look{Root: true, Own: true, Args: append([]string{"sh", "-c", leftScript, "sh"}, slices.Compact(dirs)...)}
}

// parseLeft reads the answer. Nothing is left of anybody while somebody is at
// work, or may be.
func parseLeft(text []byte, me claim.Holder) leavings {
	var l leavings
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "left":
			l.files = append(l.files, rest)
		case "held":
			who, over := parseHeld(rest, me)
			if !over {
				return leavings{}
			}
			l.lease = who
		}
	}
	return l
}

// parseHeld reads "UP UNTIL HOLDER" of a lease. It is over where its time has
// come, or its holder is known to be gone.
func parseHeld(text string, me claim.Holder) (who string, over bool) {
	f := strings.SplitN(text, " ", 3)
	if len(f) < 3 {
		return "", false
	}
	var holder leaseFile
	_ = json.Unmarshal([]byte(f[2]), &holder) // whoever it is
	up, err1 := strconv.Atoi(f[0])
	until, err2 := strconv.Atoi(f[1])
	if err1 != nil || err2 != nil { // it is just being taken
		return "", false
	}
	return holder.describe(), until <= up || me.Outlived(holder.Holder)
}

// changes are what it takes to sweep them.
func (l leavings) changes() (d plan.Diff) {
	if l.lease != "" {
		d.Changes = append(d.Changes, plan.Change{Path: "lease", Before: "left by " + l.lease})
		d.Send = append(d.Send, "remove "+leaseDir+"/lease")
	}
	if n := len(l.files); n > 0 {
		d.Changes = append(d.Changes, plan.Change{Path: "uploads", Before: fmt.Sprintf("%d left by an apply that did not end", n)})
	}
	d.Sweeps = []string{"lease", "uploads"}
	for _, f := range l.files {
		d.Send = append(d.Send, "remove "+f)
	}
	return d
}

// sweep removes the uploads. The lease is the transaction's own by now.
func (d *server) sweep(ctx context.Context) error {
	files := d.left.files
	d.left = leavings{}
	if len(files) == 0 {
		return nil
	}
	if _, err := d.host.Run(ctx, remote.Cmd{Args: append([]string{"rm", "-f", "--"}, files...)}); err != nil {
		return fmt.Errorf("remove what an apply that did not end has left: %w", err)
	}
	return nil
}
