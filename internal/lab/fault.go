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
)

// targetUnit is the service that faults of a target are about.
const targetUnit = "weft-target.service"

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
