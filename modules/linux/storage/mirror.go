package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/wait"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// Mirror keeps one array of md over the two halves of a volume, which lie on
// two servers: the host that uses the volume writes both and reads either, and
// goes on with one. No superblock is ever taken away, and none is written over
// anything that is not empty.
type Mirror struct {
	Name   string // below /dev/md
	UUID   string // of the array, as mdadm writes it
	Halves []MirrorHalf
	Heals  bool `json:",omitempty"` // a half that was lost and is there again rejoins

	Later bool `json:"-"` // the server's own blocks install mdadm

	device string            // observed: md127
	states map[string]string // of halves, by disk
	more   int64             // KiB that the halves have grown
	busy   string            // how far a resync is
	users  []string
}

// MirrorKind is the kind mirror.
func MirrorKind() *host.Kind[Mirror] {
	return &host.Kind[Mirror]{
		Name: "mirror", Present: "running", Stays: true,
		Looks: (*Mirror).Looks, Parse: (*Mirror).Parse, Diff: (*Mirror).Diff, Steps: (*Mirror).Steps,
		Verify: (*Mirror).Verify, Boot: (*Mirror).Boot, Goal: (*Mirror).Goal, Left: (*Mirror).Left, Advice: (*Mirror).Advice,
		Keeps: (*Mirror).Keeps, Together: holdArrays,
		Special: host.Special[Mirror]{Degraded: (*Mirror).degraded},
	}
}

// A MirrorHalf is one of the two.
type MirrorHalf struct {
	Disk string // a name below /dev/disk/by-id
	What string // for people: volume.fast on server.st1
}

// How a half is. Those that are not here are in words of their own.
const (
	halfInSync = "in sync"
	halfBehind = "behind"
	halfAway   = "away"   // no path leads to it
	halfFailed = "failed" // md gave it up, and a path leads to it again
	halfLost   = "lost"   // a part of this array, and md does not have it
	halfBlank  = "blank"
)

func (m *Mirror) path() string { return "/dev/md/" + m.Name }

func (m *Mirror) disks() (list []string) {
	return slice.Map(m.Halves, func(h MirrorHalf) string { return h.Disk })
}

func (m *Mirror) Looks() []remote.Look { return []remote.Look{mdLook(m.disks())} }

var errNoMDADM = hint.Wrap(errors.New("mdadm is not installed, which keeps the halves of a mirror the same"),
	`install it, or have it installed: package "mdadm" {} in the server`)

// Parse: absence is that the array does not run, whether its
// halves are empty or were a part of it before.
func (m *Mirror) Parse(s remote.Seen) (*Mirror, error) {
	look := mdLook(m.disks())
	if s.Of(look).Code == 127 {
		if m.Later {
			return nil, nil
		}
		return nil, errNoMDADM
	}
	out, err := see.Output(s, look)
	if err != nil {
		return nil, fmt.Errorf("read what md keeps: %w", err)
	}
	arrays, disks, err := parseMD(string(out))
	if err != nil {
		return nil, err
	}
	var mine *mdArray
	for _, a := range arrays {
		switch {
		case a.uuid == m.UUID:
			mine = a
		case a.name == m.Name:
			return nil, hint.Wrap(fmt.Errorf("%s is an array that weft did not make (%s, UUID %s)", m.path(), a.device, a.uuid),
				"rename that array (mdadm --assemble --update=name), or stop it if it is not needed; weft does neither")
		}
	}
	have := &Mirror{Name: m.Name, UUID: m.UUID, Halves: m.Halves, states: map[string]string{}}
	for _, h := range m.Halves {
		state, err := m.half(h, disks[h.Disk], mine)
		if err != nil {
			return nil, err
		}
		have.states[h.Disk] = state
	}
	if mine == nil || !mine.runs() {
		return nil, nil
	}
	if mine.level != "raid1" {
		return nil, fmt.Errorf("%s has the level %s: weft makes none like that", m.path(), mine.level)
	}
	have.device, have.busy, have.users = mine.device, mine.progress(), mine.users
	have.more = m.grown(mine, disks)
	return have, nil
}

// half says how one half is; what cannot be one is an error.
func (m *Mirror) half(h MirrorHalf, d *mdDisk, mine *mdArray) (string, error) {
	if d == nil || d.device == "" {
		return halfAway, nil
	}
	if mine != nil {
		one, member := mine.members[d.device]
		state := one.state
		switch {
		case !member:
		case strings.Contains(state, "faulty") && !d.away:
			return halfFailed, nil
		case strings.Contains(state, "faulty"):
			return halfAway, nil
		case strings.Contains(state, "in_sync"):
			return halfInSync, nil
		default:
			return halfBehind, nil
		}
	}
	switch {
	case d.away:
		return halfAway, nil
	case d.uuid == m.UUID && mine == nil && len(d.used) > 0:
		return "", fmt.Errorf("%s (%s) is in use: %s", h.What, d.device, strings.Join(d.used, ", "))
	case d.uuid == m.UUID:
		return halfLost, nil
	case d.uuid != "":
		d.used = append(d.used, "it is a part of the array "+d.uuid+", which weft did not make of it")
	}
	if len(d.used) > 0 {
		return "", hint.Wrap(fmt.Errorf("%s (%s, %s) is not taken: %s", h.What, d.device, drivePath(h.Disk), strings.Join(d.used, ", ")),
			"md would write over it. Copy what is needed to another volume; if nothing is, empty it yourself: wipefs -a %[1]s; dd if=/dev/zero of=%[1]s bs=1M count=1", drivePath(h.Disk))
	}
	return halfBlank, nil
}

// grown is by how much both halves are larger than the array uses, KiB.
func (m *Mirror) grown(a *mdArray, disks map[string]*mdDisk) int64 {
	var least int64
	for i, h := range m.Halves {
		d := disks[h.Disk]
		if d == nil || d.sectors == 0 || a.members[d.device].offset == 0 {
			return 0
		}
		if kib := (d.sectors - a.members[d.device].offset) / 2; i == 0 || kib < least {
			least = kib
		}
	}
	if more := least - a.size; a.size > 0 && more<<10 >= extent {
		return more
	}
	return 0
}

func (m *Mirror) Diff(have *Mirror) []plan.Change {
	var out []plan.Change
	for _, h := range m.back(have) {
		out = append(out, plan.Change{Path: h.What, Before: have.states[h.Disk], After: halfInSync})
	}
	if m.Heals && have.more > 0 && have.busy == "" {
		out = append(out, plan.Change{Path: "size", Before: "as before", After: exactly(have.more<<10) + " more"})
	}
	return out
}

// back are the halves that can be taken in again: one at a time, and none while
// md brings the other up to date.
func (m *Mirror) back(have *Mirror) (list []MirrorHalf) {
	if !m.Heals {
		return nil
	}
	for _, h := range m.Halves {
		switch have.states[h.Disk] {
		case halfFailed, halfLost, halfBlank:
			list = append(list, h)
		}
	}
	return list
}

// degraded reports whether a half is missing that does not come back by itself.
func (m *Mirror) degraded() bool {
	return slices.ContainsFunc(m.Halves, func(h MirrorHalf) bool {
		is := m.states[h.Disk]
		return is != halfInSync && is != halfBehind
	})
}

// Left: what md does by itself, and what it cannot.
func (m *Mirror) Left() string {
	var list []string
	for _, h := range m.Halves {
		switch is := m.states[h.Disk]; is {
		case halfInSync:
		case halfBehind:
			list = append(list, h.What+" is being brought up to date")
		case halfAway:
			list = append(list, "DEGRADED: "+h.What+" does not answer, and the other half is all there is; it is reverted once it does")
		default:
			list = append(list, "DEGRADED: "+h.What+" is "+is)
		}
	}
	if m.busy != "" {
		list = append(list, m.busy)
	}
	return strings.Join(list, "; ")
}

// Goal: a ledger keeps what was made, not how it is looked
// after, so that one that has lost a half can still be taken away.
func (m *Mirror) Goal(*Mirror) *Mirror {
	return &Mirror{Name: m.Name, UUID: m.UUID, Halves: m.Halves}
}

func (m *Mirror) Steps(have *Mirror) []remote.Step {
	switch {
	case have == nil:
		return []remote.Step{host.Run(append([]string{"sh", "-c", mirrorStart, "sh", m.Name, m.UUID}, paths(m.disks())...)...)}
	case m == nil:
		return []remote.Step{have.mdadm("--stop")}
	}
	var steps []remote.Step
	for _, h := range m.back(have) {
		path := drivePath(h.Disk)
		switch have.states[h.Disk] {
		case halfFailed:
			steps = append(steps, m.mdadm("--manage", "--remove", path), m.mdadm("--manage", "--re-add", path))
		case halfLost:
			steps = append(steps, m.mdadm("--manage", "--re-add", path))
		case halfBlank:
			steps = append(steps, m.mdadm("--manage", "--add", path))
		}
	}
	if m.Heals && have.more > 0 && have.busy == "" {
		steps = append(steps, m.mdadm("--grow", "--size", "max"))
	}
	return steps
}

// mirrorDo tells mdadm to do $2 with the array with the UUID $1, whatever its
// number is by now, and $3 and so on. To stop one that does not run is done.
const mirrorDo = `uuid=$1 how=$2; shift 2; for m in /sys/block/md*; do if [ -e "$m/md/level" ]; then ` +
	`case $(mdadm --detail --export "/dev/${m##*/}") in *"MD_UUID=$uuid"*) mdadm "$how" "/dev/${m##*/}" "$@"; exit;; esac; fi; done; ` +
	`if [ "$how" != --stop ]; then echo "the array $uuid does not run" >&2; exit 1; fi`

func (m *Mirror) mdadm(how string, args ...string) remote.Step {
	return host.Run(append([]string{"sh", "-c", mirrorDo, "sh", m.UUID, how}, args...)...)
}

// mirrorStart starts the array $1 with the UUID $2 of the disks $3 and $4: of
// those that were a part of it before, or, when both are empty, as a new one.
// Anything else on them is left alone. udev may have been faster.
const mirrorStart = mdHalves + `name=$1 uuid=$2; shift 2; ` +
	`find_() { md=; for m in /sys/block/md*; do if [ -e "$m/md/level" ]; then case $(mdadm --detail --export "/dev/${m##*/}") in *"MD_UUID=$uuid"*) md=${m##*/};; esac; fi; done; }; ` +
	`up_() { if [ -z "$md" ]; then return 1; fi; read -r v <"/sys/block/$md/md/array_state"; case $v in inactive|clear) return 1;; esac; }; ` +
	`look_() { ours= blank= all= lost=; for half in "$@"; do s=$(half_ "$half"); case $s in *" gone") lost="$lost; no disk has appeared as $half";; *away*) lost="$lost; no path to $half is live";; *"superblock $uuid"*) all=$all. ours="$ours $half";; ` +
	`*"superblock "*|*"holds "*|*"user "*|*data*) echo "it is not empty: $s" >&2; exit 1;; *) all=$all. blank="$blank $half";; esac; done; }; ` +
	`left=20; find_; look_ "$@"; while ! up_ && { [ -n "$md" ] || [ "$all" != .. ]; } && [ $left -gt 0 ]; do left=$((left - 1)); sleep 1; find_; look_ "$@"; done; ` +
	`if ! up_; then if [ -n "$md" ]; then mdadm --run "/dev/$md" || exit 1; ` +
	`elif [ "$all" != .. ]; then echo "a half of the mirror does not answer: ${lost#; }" >&2; exit 1; ` +
	`elif [ -z "$ours" ]; then exec mdadm --create "/dev/md/$name" --level=1 --raid-devices=2 --metadata=1.2 --bitmap=internal --homehost=any "--name=$name" "--uuid=$uuid" "$@"; ` +
	`else mdadm --assemble "/dev/md/$name" "--uuid=$uuid" --run $ours || exit 1; fi; find_; fi; ` +
	`for half in $ours; do disk=$(readlink -f "$half"); if ! [ -e "/sys/block/$md/md/dev-${disk##*/}" ]; then mdadm "/dev/$md" --re-add "$half" || exit 1; fi; done; ` +
	`for half in $blank; do mdadm "/dev/$md" --add "$half" || exit 1; done`

// Boot: udev and mdadm put the array together when its
// halves appear. A half that appeared late rejoins here.
func (m *Mirror) Boot() []string {
	return []string{"mirror_ " + remote.Quote(append([]string{m.UUID}, paths(m.disks())...)...)}
}

// bootMD is the function of boot scripts for mirrors.
const bootMD = mdHalvesBoot + `# mirror_ takes those of the disks $2 and $3 back into the array with the UUID $1
# that it lost. It fails while the array does not run with both.
mirror_() {
	uuid=$1; shift
	md=
	for m in /sys/block/md*; do
		[ -e "$m/md/level" ] || continue
		case $(mdadm --detail --export "/dev/${m##*/}") in *"MD_UUID=$uuid"*) md=${m##*/} ;; esac
	done
	if [ -z "$md" ]; then echo "the array $uuid does not run yet" >&2; status=1; return; fi
	for h in "$@"; do
		d=$(readlink -f "$h")
		is=
		if [ -e "/sys/block/$md/md/dev-${d##*/}/state" ]; then read -r is <"/sys/block/$md/md/dev-${d##*/}/state"; fi
		case $is in
		*faulty*) live_ "${d##*/}" && do_ mdadm "/dev/$md" --remove "$d" && do_ mdadm "/dev/$md" --re-add "$d" ;;
		"") [ -b "$d" ] && do_ mdadm "/dev/$md" --re-add "$d" || status=1 ;;
		esac
	done
}

`

// mdHalvesBoot is what boot scripts need to know of a half.
const mdHalvesBoot = `# live_ says whether a path to the disk $1 is live.
live_() {
	for c in "/sys/block/$1/device/state" "/sys/block/$1/device/"nvme*/state; do
		if [ -e "$c" ]; then read -r is <"$c"; if [ "$is" = live ]; then return 0; fi; fi
	done
	status=1
	return 1
}

`

func (m *Mirror) Keeps() string {
	if len(m.users) == 0 {
		return ""
	}
	return strings.Join(m.users, "; ")
}

func (m *Mirror) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "failed to stop"), strings.Contains(reply, "Cannot get exclusive access"):
		return "something has it open: lsblk " + m.path() + "; fuser " + m.path()
	case strings.Contains(reply, "re-add") && strings.Contains(reply, "not possible"):
		return "the two halves have gone on without each other, or too much was written meanwhile: weft does not choose. " +
			"Look at both (mdadm --examine); the half that is to be thrown away is emptied by hand (wipefs -a), and the next apply adds it afresh"
	case strings.Contains(reply, "does not answer"):
		var missing []string
		for _, h := range m.Halves {
			if strings.Contains(reply, h.Disk) {
				missing = append(missing, h.What)
			}
		}
		return "both halves are needed to begin with, and this one is missing: " + strings.Join(missing, ", ") + "; see its connection, and the target of its server"
	}
	return ""
}

const mirrorPatience = 20 * time.Second // until md has begun

// Verify: the array runs with both halves, in sync or on the
// way there.
func (m *Mirror) Verify(ctx context.Context, h remote.Host) error {
	for deadline := time.Now().Add(mirrorPatience); ; {
		seen, err := remote.Read(ctx, h, m.Looks())
		if err != nil {
			return err
		}
		have, err := m.Parse(seen)
		switch {
		case err == nil && have == nil:
			err = fmt.Errorf("%s does not run", m.path())
		case err == nil && slices.ContainsFunc(m.Halves, func(h MirrorHalf) bool {
			return have.states[h.Disk] != halfInSync && have.states[h.Disk] != halfBehind
		}):
			err = errors.New(have.Left())
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if !wait.For(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// mirrorsAtBoot are what assembles arrays at boot.
func MirrorsAtBoot() put.BootFunctions {
	return put.BootFunctions{Called: func(line string) bool { return strings.HasPrefix(line, "mirror_ ") }, Text: bootMD}
}
