// Package windows is the host system Windows Server: a machine that is asked and changed
// by Windows PowerShell 5.1, over OpenSSH. It has no POSIX shell.
package windows

import (
	"errors"
	"strings"
	"syscall"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// OS is the host system windows.
func OS() *host.OS {
	return &host.OS{
		Name:     "windows",
		Title:    "Windows",
		Method:   "Windows PowerShell over SSH, each step with its undo; a scheduled task reverts changes of the network unless they are proven",
		Open:     func(h remote.Host) host.Transport { return transport{Host: h} },
		Refused:  loginFailed,
		Who:      host.Identity{Looks: func() []remote.Look { return []remote.Look{whoLook()} }, Parse: parseWho},
		Kinds:    Kinds,
		Memory:   memory{},
		Fence:    fence(),
		Guard:    task{},
		Port:     portOf,
		Declares: declared,
		Witness:  witness,
		Agent:    agentOf,
		Facts:    &host.Teller{Origins: origins(), Looks: factsLooks, Parse: tellFacts, Check: checkNIC, Survey: surveyLooks, Surveyed: surveyed},
		Health:   &host.Examiner{Looks: examineLooks, Parse: examined},
		Without: map[host.Feature]string{
			host.Intents:  "drives, targets and connections of the kernel are not managed on Windows",
			host.Counting: "what its NICs count by class stands in counters of each vendor, whose form has no source; path.rdma_traffic is what they count of RDMA",
			host.Probing:  "what the in-box initiator has connected is not read: Microsoft does not document it",
			host.Cutting:  "weft cuts no link of a Windows host",
		},
	}
}

// Kinds are all the kinds of resources on a Windows host, which ledgers may name.
func Kinds() []host.AnyKind {
	return []host.AnyKind{FeatureKind(), AdapterKind(), AddressKind(), DCBKind(), PolicyKind(), AdapterQoSKind(), SMBKind(), AgentKind()}
}

// loginFailed says what else a login that failed may mean on Windows.
func loginFailed(err error) error {
	if !errors.As(err, new(*remote.UnreachableError)) {
		return err
	}
	if errors.As(err, new(*remote.AuthError)) {
		return hint.Wrap(err, `keys of administrators are read from C:\ProgramData\ssh\administrators_authorized_keys only, and without a word not at all unless nobody but SYSTEM and Administrators may write it: icacls C:\ProgramData\ssh\administrators_authorized_keys /inheritance:r /grant Administrators:F /grant SYSTEM:F`)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return hint.Wrap(err, "OpenSSH Server is an optional feature until Windows Server 2022, and off at first: its service is sshd")
	}
	return err
}

// whoLook asks who a machine is. MachineGuid is of the installation, the UUID of the
// machine.
func whoLook() remote.Look {
	return ask("who the machine is", `$os = Get-CimInstance -ClassName 'Win32_OperatingSystem'
$product = Get-CimInstance -ClassName 'Win32_ComputerSystemProduct'
$bios = Get-CimInstance -ClassName 'Win32_BIOS'
$guid = [Microsoft.Win32.Registry]::GetValue('HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Cryptography', 'MachineGuid', '')
$value = @{ guid = [string]$guid; uuid = [string]$product.UUID; vendor = [string]$product.Vendor; model = [string]$product.Name
serial = [string]$bios.SerialNumber; caption = [string]$os.Caption; build = [string]$os.BuildNumber; type = [int]$os.ProductType
boot = $os.LastBootUpTime.ToUniversalTime().ToString('o'); memory = [int64]$os.TotalVisibleMemorySize }`)
}

// A who is what whoLook sees.
type who struct {
	GUID    string `json:"guid"`
	UUID    string `json:"uuid"`
	Vendor  string `json:"vendor"`
	Model   string `json:"model"`
	Serial  string `json:"serial"`
	Caption string `json:"caption"`
	Build   string `json:"build"`
	Type    int    `json:"type"` // 1: no server
	Boot    string `json:"boot"`
	Memory  int64  `json:"memory"` // KiB
}

func (w who) system() string {
	return strings.TrimSpace(w.Caption + " build " + w.Build)
}

func parseWho(s remote.Seen) (id plan.Identity) {
	var w who
	if err := answer(s, whoLook(), &w); err != nil {
		id.Warnings = append(id.Warnings, "the identity of the host cannot be read: "+err.Error())
		return id
	}
	id.MachineID = strings.ToLower(strings.ReplaceAll(w.GUID, "-", ""))
	id.Serial, id.BootID, id.System = w.Serial, w.Boot, w.system()
	if w.Type == 1 {
		id.Warnings = append(id.Warnings, w.Caption+" is no Windows Server: what weft knows is of that")
	}
	return id
}

func origins() host.Origins {
	return host.Origins{System: "Win32_OperatingSystem", Model: "Win32_ComputerSystemProduct", RDMA: "Get-NetAdapterRdma, *NetworkDirectTechnology",
		Enable: "a driver with NetworkDirect (Get-NetAdapterRdma does not list it)"}
}
