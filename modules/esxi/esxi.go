// Package esxi is the host system VMware ESXi: a machine that is asked and changed by
// esxcli, over SSH.
package esxi

import (
	"context"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// OS is the host system esxi.
func OS() *host.OS {
	return &host.OS{
		Name:     "esxi",
		Title:    "ESXi",
		Method:   "esxcli over SSH, each step with its undo; a script that sleeps reverts changes of the network unless they are proven",
		Open:     open,
		Refused:  loginFailed,
		Who:      host.Identity{Looks: whoLooks, Parse: parseWho},
		Kinds:    Kinds,
		Memory:   keepsakes(),
		Fence:    keepsakes().Fence(),
		Guard:    sleeper{},
		Last:     backUp,
		Port:     portOf,
		Connect:  connect,
		Declares: declared,
		Uplinks:  true,
		Counters: meter,
		Probe:    &host.Prober{Attached: readAttached, Live: readLive},
		Witness:  witness,
		Restart:  restarter(),
		Facts:    &host.Teller{Origins: origins(), Looks: factsLooks, Parse: tellFacts, Check: checkNIC, Survey: surveyLooks, Surveyed: surveyed},
		Health:   &host.Examiner{Looks: examineLooks, Parse: examined},
		Without: map[host.Feature]string{
			host.Intents: "drives, targets and weft's own agents are none of a hypervisor's",
			host.Cutting: "weft cuts no link of a hypervisor",
		},
	}
}

func open(h remote.Host) host.Transport { return transport{h} }

// backUp saves the configuration, which is in RAM and otherwise saved once an hour.
func backUp(ctx context.Context, t host.Transport) error {
	_, err := t.Run(ctx, remote.Cmd{Args: []string{"/sbin/auto-backup.sh"}})
	return err
}

// Kinds are all the kinds of resources on an ESXi host, which ledgers may name.
func Kinds() []host.AnyKind {
	return []host.AnyKind{
		DCBKind(), VSwitchKind(), PortGroupKind(), VMKernelKind(), ServiceKind(), NVMeAdapterKind(), NVMeConnectionKind(),
		VSANNetworkKind(), OptionKind(), RulesetKind(), ParametersKind(), PauseKind(),
	}
}

func uuidLook() remote.Look     { return ask("system", "uuid", "get") }
func versionLook() remote.Look  { return ask("system", "version", "get") }
func platformLook() remote.Look { return ask("hardware", "platform", "get") }

// whoLooks are the looks at who a host is: its UUID, its serial number, its release.
func whoLooks() []remote.Look { return []remote.Look{uuidLook(), versionLook(), platformLook()} }

// parseWho: a host that was installed anew has another UUID; the serial number is that
// of the machine.
func parseWho(s remote.Seen) (id plan.Identity) {
	if v, err := answer(s, uuidLook()); err == nil {
		id.MachineID = strings.ToLower(strings.ReplaceAll(v.text, "-", ""))
	} else {
		id.Warnings = append(id.Warnings, "the identity of the host cannot be read: "+err.Error())
	}
	var err error
	id.System = release(one(s, versionLook(), &err))
	if r := one(s, platformLook(), &err); err == nil {
		id.Serial = r.maybe("SerialNumber")
	}
	return id
}

// release is what runs on a host, for people.
func release(r row) string {
	name := strings.TrimSpace(r.maybe("Product") + " " + r.maybe("Version"))
	if build := r.maybe("Build"); build != "" {
		name += " " + strings.ToLower(build)
	}
	return name
}

func origins() host.Origins {
	return host.Origins{System: command(versionLook()), Model: command(platformLook()), RDMA: command(rdmaLook()),
		Enable: "an RDMA device (its RDMA driver, and for some drivers a module parameter that turns RDMA on)"}
}
