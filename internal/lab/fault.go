//go:build unix

package lab

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"weft/internal/lab/simswitch"
	"weft/internal/lab/simwindows"
)

// targetUnit is the service that faults of a target are about.
const targetUnit = "weft-target.service"

// Faults lists what Fault understands, for help texts.
func Faults() []string {
	return []string{
		"drop            cut the device's connections",
		"refuse, accept  reset new connections, and take them again",
		"slow=DURATION   delay every session of a server or line of a switch; slow=0s ends it",
		"hostile=REGEXP  answer lines that match with what terminals obey, commands of a server then fail; empty ends it",
		"reboot          of a server: what is volatile is lost, enabled services start; of a switch: it starts with what was saved; of a vCenter: it knows no session of before",
		"clock=DURATION  of a vCenter: its clock is that far ahead; clock=0s ends it",
		"timers          of a server: whatever its timers are to run later runs now",
		"stop-target, start-target  of a server: stop and start weft-target",
		"lock-packages, unlock-packages  of a server: another package tool is at work, and has ended",
		"expire, license  of an ESXi host: its licence allows no change, and allows them again",
		"runs=NAME  of an ESXi host: a virtual machine of that name runs there; without a name none does",
		"maintenance=on, maintenance=off  of an ESXi host: somebody puts it in maintenance mode, and ends that",
		"hang            of an ESXi host: the next restart that is asked for does not come to its end: nobody answers until accept",
		"vsan, no-vsan  of an ESXi host: it is a member of a cluster of vSAN, and no longer",
		"offline=NQN, online=NQN  of an ESXi host: the controllers of that subsystem are not online, or are again",
		"blocks=DRIVE=BYTES  of a server: its drive of that name in /dev/disk/by-id has such blocks",
		"blocks=NQN=BYTES  of an ESXi host: the namespaces of that subsystem have such blocks",
		"dcb=HOW  of an ESXi host: its NICs have ieee, cee or off from their switch, or are silent about it",
		"longest=BYTES  of an ESXi host: longer packets do not come through; 0: all do",
		"datastore=NQN=NAME  of an ESXi host: there is a datastore on the namespaces of that subsystem; without a name no longer",
		strings.Join(simwindows.Faults(), ", ") + "  of a Windows host: its PowerShell runs no script, speaks German, its accounts are not elevated, it passes keys over, the shell of its logins is bash, PowerShell 7, or greets first, Network ATC or Hyper-V has its NICs, they have room for two traffic classes, a policy of the domain is in force, its RDMA or its SMB Multichannel is off, its adapters are described alike, files are copied over RDMA, connections of that break, it restarts in the middle of the next change, it takes no files by SFTP, no standard input, only signed files; and as it should be",
		"no-sudo, sudo   of a server: sudo asks for a password, and no longer",
		"narrow, wide    of a server: its cards run with half of their PCIe lanes, and with all",
		"vfs, no-vfs     of a server: its RDMA cards have a virtual function with a representor, and none",
		"no-sm, sm       of a server: its InfiniBand ports wait for a subnet manager, and one has set them up",
		"overrun=PORT:DSCP:PACKETS  of a switch: so many packets come in there faster than they can leave",
		"refuse-line=REGEXP  of a switch: refuse configuration lines that match; empty ends it",
		"lack=REGEXP     of a switch: it has no commands that match, as older releases; empty ends it",
		"break=REGEXP    of a switch with modules: they do not carry out lines that match; empty ends it",
		"deny=REGEXP     of a switch: refuse lines that match as those that the user may not type; empty ends it",
		"role=LINE;LINE  of a switch: its user has a role that permits these lines only, * is any word; role= ends it",
		"save            of a switch: somebody saves what runs, for the next start",
		"silent=PORT     of a switch: LLDP hears nobody there, whoever is plugged in; hear= ends it",
		"hear=PORT=PORTID=SYSTEM  of a switch: LLDP hears that there as well, SYSTEM may be empty; hear= ends it",
		"ail=WHAT        of a switch: it shows that its supply, fan or module fails, that it is warm or logs less, or optic PORT, hot PORT, as far as it shows that; ail= ends it",
		"full, room      of a switch: its file system has no room left, and has again",
		"drop-after=N    of a switch: answer N more lines, then cut the connection",
		"pass=DURATION   of a switch: time passes at once, and what its timers are to do then happens",
	}
}

// fault makes something break, or mends it.
func (d *device) fault(name string) error {
	name, value, _ := strings.Cut(name, "=")
	if d.guest != nil {
		return d.guestFault(name, value)
	}
	switch name {
	case "drop":
		d.listener.drop()
		return nil
	case "refuse", "accept":
		d.listener.setRefuse(name == "refuse")
		return nil
	case "hostile":
		return d.setHostile(value)
	case "slow":
		wait, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("slow: %w", err)
		}
		switch {
		case d.sw != nil:
			d.sw.Slow(wait)
		case d.esxi != nil:
			d.esxi.Slow(wait)
		case d.win != nil:
			d.win.Slow(wait)
		default:
			d.server.Slow(wait)
		}
		return nil
	}
	if d.esxi != nil {
		return d.esxiFault(name, value)
	}
	if d.win != nil {
		return d.windowsFault(name)
	}
	if d.sw != nil {
		return d.switchFault(name, value)
	}
	if name == "blocks" {
		drive, size, err := blocksOf(value)
		if err != nil {
			return err
		}
		return d.server.Blocks(drive, size)
	}
	return d.serverFault(name)
}

// blocksOf reads whose blocks are to have which size: NAME=BYTES.
func blocksOf(value string) (name string, size int, err error) {
	name, text, _ := strings.Cut(value, "=")
	if size, err = strconv.Atoi(text); err != nil {
		return "", 0, fmt.Errorf("blocks: %q is not NAME=BYTES", value)
	}
	return name, size, nil
}

// hostileText sets a title and the clipboard, turns text to blinking and around,
// and hides some, with sequences of seven bits and of eight.
const hostileText = "hostile \x1b]0;title\x07\x1b]52;c;Y2xpcA==\x07\x1b[5mblink\x1b[2J\u009b5mC1\u202eover\u2066iso\u200b\x08\x7f\xff\rend"

func (d *device) setHostile(value string) error {
	var lines *regexp.Regexp
	if value != "" {
		var err error
		if lines, err = regexp.Compile(value); err != nil {
			return fmt.Errorf("hostile: %w", err)
		}
	}
	if d.esxi != nil || d.win != nil {
		return errors.New("fault hostile: not one that a simulated ESXi or Windows host has")
	}
	if d.sw != nil {
		d.sw.Hostile(lines, hostileText)
	} else {
		d.server.Hostile(lines, hostileText)
	}
	return nil
}

func (d *device) switchFault(name, value string) error {
	switch name {
	case "overrun":
		return d.overrun(value)
	case "refuse-line", "deny", "lack", "break":
		set := map[string]func(*regexp.Regexp){"refuse-line": d.sw.Refuse, "deny": d.sw.Deny, "lack": d.sw.Lack, "break": d.sw.Break}[name]
		if value == "" {
			set(nil)
			return nil
		}
		lines, err := regexp.Compile(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		set(lines)
		return nil
	case "role":
		d.sw.Restrict(strings.FieldsFunc(value, func(r rune) bool { return r == ';' }))
		return nil
	case "save":
		d.sw.Save()
		return nil
	case "silent":
		d.sw.Silence(value)
		return nil
	case "hear":
		return d.hear(value)
	case "ail":
		return d.sw.Ail(value)
	case "full", "room":
		d.sw.Fill(name == "full")
		return nil
	case "reboot":
		d.listener.setRefuse(true)
		d.listener.drop()
		d.sw.Reboot()
		d.listener.setRefuse(false)
		return nil
	case "drop-after":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("drop-after: %q is not a number of lines", value)
		}
		d.sw.DropAfter(n)
		return nil
	case "pass":
		time, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("pass: %w", err)
		}
		d.sw.Pass(time)
		return nil
	}
	return fmt.Errorf("fault %s: not one that a simulated switch has", name)
}

// hear lets a switch hear somebody: PORT=PORTID=SYSTEM; nothing ends it.
func (d *device) hear(value string) error {
	if value == "" {
		d.sw.Listen()
		return nil
	}
	said := strings.SplitN(value, "=", 3)
	if len(said) != 3 {
		return fmt.Errorf("hear: %q is not PORT=PORTID=SYSTEM", value)
	}
	return d.sw.Hear(simswitch.Neighbour{Port: said[0], PortID: said[1], SystemName: said[2]})
}

func (d *device) esxiFault(name, value string) error {
	switch name {
	case "reboot":
		d.listener.setRefuse(true)
		d.listener.drop()
		err := d.esxi.Reboot()
		d.listener.setRefuse(false)
		return err
	case "timers":
		d.esxi.Wake()
		return nil
	case "runs":
		d.esxi.Runs(value)
		return nil
	case "maintenance":
		if value != "on" && value != "off" {
			return fmt.Errorf("maintenance: %q is neither on nor off", value)
		}
		d.esxi.Maintain(value == "on")
		return nil
	case "vsan", "no-vsan":
		d.esxi.Cluster(name == "vsan")
		return nil
	case "expire", "license":
		d.esxi.Licence(name == "expire")
		return nil
	case "datastore":
		nqn, store, _ := strings.Cut(value, "=")
		d.esxi.Datastore(nqn, store)
		return nil
	case "dcb":
		return d.esxi.DCB(value)
	case "hang":
		d.esxi.Hangs(func() { d.listener.setRefuse(true); d.listener.drop() })
		return nil
	case "offline", "online":
		d.esxi.Online(value, name == "online")
		return nil
	case "blocks":
		nqn, size, err := blocksOf(value)
		if err != nil {
			return err
		}
		d.esxi.Blocks(nqn, size)
		return nil
	case "longest":
		bytes, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("longest: %w", err)
		}
		d.esxi.Longest(bytes)
		return nil
	}
	return fmt.Errorf("fault %s: not one that a simulated ESXi host has", name)
}

func (d *device) serverFault(name string) error {
	switch name {
	case "no-sudo", "sudo":
		d.server.NoSudo(name == "no-sudo")
		return nil
	case "vfs", "no-vfs":
		d.server.Virtual(name == "vfs")
		return nil
	case "narrow", "wide":
		d.server.Narrow(name == "narrow")
		return nil
	case "no-sm", "sm":
		d.server.Sweep(name == "sm")
		return nil
	case "lock-packages", "unlock-packages":
		d.server.LockPackages(name == "lock-packages")
		return nil
	case "reboot":
		d.listener.setRefuse(true)
		d.listener.drop()
		d.server.Reboot()
		d.listener.setRefuse(false)
		return nil
	case "timers":
		d.server.FireTimers()
		return nil
	case "stop-target":
		if !d.server.StopUnit(targetUnit) {
			return fmt.Errorf("%s has no %s", d.name, targetUnit)
		}
		return nil
	case "start-target":
		known, err := d.server.StartUnit(targetUnit)
		if err == nil && !known {
			err = fmt.Errorf("%s has no %s", d.name, targetUnit)
		}
		return err
	}
	return fmt.Errorf("fault %s: not one that a simulated server has", name)
}
