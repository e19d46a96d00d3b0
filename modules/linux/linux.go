package linux

import (
	"context"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/plan"
)

// Linux is the host system linux.
func OS() *host.OS {
	return &host.OS{
		Name:     "linux",
		Title:    "Linux",
		Method:   "steps, each with its undo; a timer reverts changes of NICs unless they are proven",
		Sudo:     true,
		Open:     open,
		Who:      host.Identity{Looks: whoLooks, Parse: parseWho},
		Kinds:    Kinds,
		Memory:   keepsakes(),
		Guard:    timer{},
		Fence:    keepsakes().Fence(),
		Intents:  true,
		Declares: declared,
		Facts:    &host.Teller{Origins: origins(), Looks: factsLooks, Parse: tellFacts, Check: checkNIC, Survey: surveyLooks, Surveyed: surveyed},
		Health:   &host.Examiner{Looks: healthLooks, Parse: tellHealth},
		Reading:  settingsReader(),

		Counters: readCounters,
		Probe:    &host.Prober{Attached: nvme.ReadPaths, Live: nvme.ReadLivePaths, Uses: nvme.ReadUses, Ports: nvme.ReadPorts},
		Cut:      &host.Cutter{Cut: cutLink, How: cutHow},
	}
}

// A transport reads with one script and runs commands, each as an argument vector.
type transport struct{ remote.Host }

func (t transport) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	return remote.Read(ctx, t.Host, looks)
}

func (t transport) Do(ctx context.Context, s remote.Step) error { return remote.Do(ctx, t.Host, s) }

func open(h remote.Host) host.Transport { return transport{h} }

// whoLooks are the looks at the machine id, the boot and the kernel.
func whoLooks() []remote.Look {
	return []remote.Look{{File: "/etc/machine-id"}, {File: "/proc/sys/kernel/random/boot_id"}, {Args: []string{"uname", "-srm"}}}
}

func parseWho(s remote.Seen) (id plan.Identity) {
	looks := whoLooks()
	id.MachineID, id.BootID = s.Of(looks[0]).Text(), s.Of(looks[1]).Text()
	if uname := s.Of(looks[2]); uname.Err == nil {
		id.System = strings.TrimSpace(string(uname.Content))
	}
	return id
}

func script(text string, args ...string) remote.Cmd {
	return remote.Cmd{Args: append([]string{"sh", "-c", text, "sh"}, args...)}
}

func origins() host.Origins {
	return host.Origins{System: "uname, /etc/os-release", Model: "DMI of the machine", Lanes: "/sys of the machine", RDMA: "/sys of the machine", Drives: "/sys/class/nvme, /dev/disk/by-id",
		Enable: "the module %s", Serves: true}
}
