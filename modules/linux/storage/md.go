package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
)

// mdScript prints what md keeps on a server and what the disks $@ are, which
// are the halves of mirrors: a line "array NAME" for each array that the kernel
// has, with lines of its attributes, its members and its users, and a line
// "half PATH DEVICE" for each disk with lines about what is on it. A disk that
// no live path leads to is not read: that would wait until there is one.
const mdScript = `command -v mdadm >/dev/null || exit 127; ` +
	`for m in /sys/block/md*; do if [ -e "$m/md/level" ]; then n=${m##*/}; echo "array $n"; ` +
	`mdadm --detail --export "/dev/$n" | while IFS='=' read -r k v; do case $k in MD_UUID|MD_DEVNAME) echo "$k $v";; esac; done; ` +
	`for a in level array_state sync_action sync_completed component_size; do if [ -e "$m/md/$a" ]; then read -r v <"$m/md/$a"; echo "$a $v"; fi; done; ` +
	`for d in "$m/md/"dev-*; do if [ -e "$d/state" ]; then read -r v <"$d/state"; read -r o <"$d/offset"; echo "member ${d##*/dev-} $o $v"; fi; done; ` + DiskUsers + `fi; done; ` +
	mdHalves + `for h in "$@"; do half_ "$h"; done`

// mdHalves is what finds out about one half.
const mdHalves = `live_() { for c in "/sys/block/$1/device/state" "/sys/block/$1/device/"nvme*/state; do if [ -e "$c" ]; then read -r v <"$c"; if [ "$v" = live ]; then return 0; fi; fi; done; return 1; }; ` +
	`half_() { disk=$(readlink -f "$1"); n=${disk##*/}; if ! [ -b "$disk" ]; then echo "half $1 gone"; return; fi; echo "half $1 $disk"; ` +
	`if ! live_ "$n"; then echo "away"; return; fi; read -r v <"/sys/block/$n/size"; echo "sectors $v"; ` +
	DiskUsers +
	`id=$(mdadm --examine --export "$disk" 2>/dev/null | while IFS='=' read -r k v; do if [ "$k" = MD_UUID ]; then echo "$v"; fi; done); ` +
	`if [ -n "$id" ]; then echo "superblock $id"; return; fi; ` +
	`blkid -p -o export "$disk" | while IFS='=' read -r k v; do case $k in TYPE|PTTYPE) echo "holds $v";; esac; done; ` +
	`cmp -s -n 1048576 -i 0:0 "$disk" /dev/zero || echo data; }; `

func mdLook(halves []string) remote.Look {
	return remote.Look{Root: true, Own: true, Args: append([]string{"sh", "-c", mdScript, "sh"}, paths(halves)...)}
}

// An mdArray is one array that the kernel has.
type mdArray struct {
	device  string // md127
	uuid    string
	name    string // below /dev/md
	state   string // clean, active, inactive, …
	level   string
	action  string // idle, resync, recover, …
	done    string // of the action: SECTORS / SECTORS
	size    int64  // of a member, KiB
	members map[string]mdMember
	users   []string
}

// An mdMember is a disk as an array has it.
type mdMember struct {
	state  string // in_sync, faulty, spare, …
	offset int64  // of its data, sectors
}

// An mdDisk is one disk that is to be half of a mirror.
type mdDisk struct {
	device  string // nvme0n1; "": it is not there
	away    bool   // no path to it is live
	sectors int64
	uuid    string   // of the array that it is a part of
	used    []string // in words, by anything else
}

// parseMD reads what mdScript printed.
func parseMD(text string) (arrays []*mdArray, disks map[string]*mdDisk, err error) {
	disks = map[string]*mdDisk{}
	var a *mdArray
	var d *mdDisk
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "array":
			a, d = &mdArray{device: rest, members: map[string]mdMember{}}, nil
			arrays = append(arrays, a)
		case word == "half":
			path, device, _ := strings.Cut(rest, " ")
			a, d = nil, &mdDisk{}
			if device != "gone" {
				d.device = strings.TrimPrefix(device, "/dev/")
			}
			disks[strings.TrimPrefix(path, drivePath(""))] = d
		case a != nil && a.read(word, rest), d != nil && d.read(word, rest):
		default:
			return nil, nil, fmt.Errorf("read what md keeps: %.80q is not understood", line)
		}
	}
	return arrays, disks, nil
}

func (a *mdArray) read(word, rest string) bool {
	switch word {
	case "MD_UUID":
		a.uuid = rest
	case "MD_DEVNAME":
		a.name = rest
	case "level":
		a.level = rest
	case "array_state":
		a.state = rest
	case "sync_action":
		a.action = rest
	case "sync_completed":
		a.done = rest
	case "component_size":
		a.size, _ = strconv.ParseInt(rest, 10, 64) // of an array that is not whole yet there is none
	case "member":
		name, rest, _ := strings.Cut(rest, " ")
		offset, state, _ := strings.Cut(rest, " ")
		one := mdMember{state: state}
		one.offset, _ = strconv.ParseInt(offset, 10, 64) // the kernel writes a number
		a.members[name] = one
	case "user":
		if !slices.Contains(a.users, rest) {
			a.users = append(a.users, rest)
		}
	default:
		return false
	}
	return true
}

func (d *mdDisk) read(word, rest string) bool {
	switch word {
	case "away":
		d.away = true
	case "sectors":
		d.sectors, _ = strconv.ParseInt(rest, 10, 64) // the kernel writes a number
	case "superblock":
		d.uuid = rest
	case "holds":
		d.used = append(d.used, "it holds "+rest)
	case "data":
		d.used = append(d.used, "its first MiB is not empty")
	case "user":
		d.used = append(d.used, rest)
	default:
		return false
	}
	return true
}

// runs reports whether it can be used.
func (a *mdArray) runs() bool { return a.state != "inactive" && a.state != "clear" && a.state != "" }

// progress says how far a resync is; "": there is none. A check compares the halves, as
// distributions do every month (checkarray, mdcheck): nothing is left to do.
func (a *mdArray) progress() string {
	if a.action == "" || a.action == "idle" || a.action == "frozen" || a.action == "check" {
		return ""
	}
	done, all, _ := strings.Cut(a.done, " / ")
	n, err := strconv.ParseFloat(done, 64)
	of, err2 := strconv.ParseFloat(all, 64)
	if err != nil || err2 != nil || of == 0 {
		return a.action + " begins"
	}
	return fmt.Sprintf("%s %.0f%%", a.action, 100*n/of)
}
