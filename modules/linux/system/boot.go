package system

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/pattern"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// Boot keeps the script, and the unit that runs it at boot, that make
// again what a restart of the server loses.
type Boot struct {
	Owner   string
	Part    string `json:",omitempty"` // "": what NICs lose, early; bootStorage: what is exported and connected, late
	Script  string // "" is none
	Unit    string // "" is none
	Enabled bool

	Connects []Connects `json:"-"` // whose mark a ledger may know otherwise
	plain    string     // the script without such marks

	bad error // why its unit cannot be written
}

// BootKind is the kind boot.
func BootKind() *host.Kind[Boot] {
	return &host.Kind[Boot]{
		Name:  "boot",
		Looks: (*Boot).Looks, Parse: (*Boot).Parse, Diff: (*Boot).Diff, Steps: (*Boot).Steps, Absent: (*Boot).absent,
		Check:   (*Boot).unwritable,
		Special: host.Special[Boot]{Inherit: (*Boot).inherit},
	}
}

// newBoot makes the script of the lines, with those functions that they call.
func NewBoot(owner, part string, lines []string, functions []put.BootFunctions) *Boot {
	b := &Boot{Owner: owner, Part: part, Enabled: true}
	head := fmt.Sprintf(bootHead, owner) + bootFunctions
	for _, f := range functions {
		if slices.ContainsFunc(lines, f.Called) {
			head += f.Text
		}
	}
	nics, lines := nameNICs(lines)
	b.Script = head + strings.Join(append(nics, lines...), "\n") + "\nexit $status\n"
	b.Unit, b.bad = bootUnit(owner, part, b.script())
	return b
}

func (b *Boot) unwritable() error { return b.bad }

// nameNICs looks each NIC up once: one that is gone is waited for once.
func nameNICs(lines []string) (nics, named []string) {
	names := map[string]string{}
	for _, line := range lines {
		named = append(named, nicCall.ReplaceAllStringFunc(line, func(call string) string {
			if names[call] == "" {
				names[call] = fmt.Sprintf("nic%d", len(names))
				nics = append(nics, names[call]+"="+call+" || status=1")
			}
			return "${" + names[call] + "}"
		}))
	}
	return nics, named
}

var nicCall = pattern.New(`\$\(nic [0-9A-Fa-f:.@]+\)`)

const bootHead = `#!/bin/sh
# Written by weft for %q: the next apply replaces what is changed here.
# It restores what a restart loses, and may run at any time.
status=0

`

const bootFunctions = remote.FindPort + `
# nic prints the network interface of a NIC port, which it waits for.
nic() {
	left=30
	while :; do
		weft_find "$1"
		if [ -n "$weft_if" ]; then echo "$weft_if"; return 0; fi
		left=$((left - 1))
		if [ $left -le 0 ]; then echo "$1 names no network interface, or several:$weft_more" >&2; return 1; fi
		sleep 1
	done
}

# do_ goes on with the rest when one command fails, and says so.
do_() {
	"$@" || { echo "failed: $*" >&2; status=1; }
}

`

// bootUnit is the unit of a part. That of storage is tried again until all of it
// is there: what it connects to may start later than the server does.
func bootUnit(owner, part, script string) (string, error) {
	unit := put.UnitPart{Name: "Unit", Settings: [][2]string{
		{"Description", "weft restores what a restart loses, for " + owner},
		{"After", "network.target"},
		{"Before", "network-online.target weft-target.service"},
	}}
	service := put.UnitPart{Name: "Service", Settings: [][2]string{
		{"Type", "oneshot"},
		{"RemainAfterExit", "yes"},
		{"ExecStart", "/bin/sh " + script},
		{"TimeoutStartSec", "300s"},
	}}
	if part == BootStorage {
		unit = put.UnitPart{Name: "Unit", Settings: [][2]string{
			{"Description", "weft restores what is exported and connected, for " + owner},
			{"Wants", "network-online.target"},
			{"After", "weft-restore-" + owner + ".service network-online.target systemd-modules-load.service sys-kernel-config.mount lvm2-monitor.service rdma-hw.target"},
			{"StartLimitIntervalSec", "0"},
		}}
		service.Settings = append(service.Settings, [2]string{"Restart", "on-failure"}, [2]string{"RestartSec", "10s"})
	}
	return put.UnitText(unit, service, put.UnitPart{Name: "Install", Settings: [][2]string{{"WantedBy", "multi-user.target"}}})
}

// bootStorage is the part that comes when the network and the drives are there.
const BootStorage = "storage"

// name is that of the part.
func (b *Boot) Name() string { return cmp.Or(b.Part, "restore") }

func (b *Boot) script() string { return agent.BinDir + "/" + b.Owner + "/" + b.Name() + ".sh" }
func (b *Boot) unit() string   { return "weft-" + b.Name() + "-" + b.Owner + ".service" }
func (b *Boot) file() string   { return "/etc/systemd/system/" + b.unit() }

type bootLooks struct{ script, unit, enabled remote.Look }

func (b *Boot) looks() bootLooks {
	return bootLooks{
		script:  remote.Look{File: b.script(), Root: true},
		unit:    remote.Look{File: b.file()},
		enabled: remote.Look{Args: []string{"systemctl", "is-enabled", b.unit()}},
	}
}

func (b *Boot) Looks() []remote.Look {
	l := b.looks()
	return []remote.Look{see.SystemdLook(), l.script, l.unit, l.enabled}
}

func (b *Boot) Parse(s remote.Seen) (*Boot, error) {
	l := b.looks()
	if err := see.Systemd(s); err != nil {
		return nil, fmt.Errorf("settings lost in a restart could not be restored: %w", err)
	}
	have := &Boot{Owner: b.Owner, Part: b.Part, Enabled: s.Of(l.enabled).Code == 0}
	for _, f := range []struct {
		look remote.Look
		text *string
	}{{l.script, &have.Script}, {l.unit, &have.Unit}} {
		got, err := see.File(s, f.look)
		if err != nil {
			return nil, err
		}
		*f.text = string(got.Content)
	}
	return have, nil
}

func (b *Boot) absent() *Boot { return &Boot{Owner: b.Owner, Part: b.Part} }

func (b *Boot) Diff(have *Boot) []plan.Change {
	out := put.FileChanges("script", have.Script, b.Script, nil, plan.ImpactNone)
	out = append(out, put.FileChanges("unit", have.Unit, b.Unit, put.UnitSettings, plan.ImpactNone)...)
	return append(out, plan.Changed("enabled", have.Enabled, b.Enabled, plan.ImpactNone)...)
}

// Steps: nothing is started: all of it is in force already.
func (b *Boot) Steps(have *Boot) []remote.Step {
	var steps []remote.Step
	if have.Enabled && !b.Enabled {
		steps = append(steps, host.Run("systemctl", "disable", b.unit()))
	}
	if b.Script != have.Script {
		steps = append(steps, put.Back(b.script(), 0o755, b.Script))
	}
	if b.Unit != have.Unit {
		steps = append(steps, put.Back(b.file(), 0o644, b.Unit), host.Run("systemctl", "daemon-reload"))
	}
	if b.Enabled && !have.Enabled { // links need no other look at all units
		steps = append(steps, host.Run("systemctl", "enable", "--no-reload", b.unit()))
	}
	return steps
}
