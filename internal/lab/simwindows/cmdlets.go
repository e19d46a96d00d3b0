//go:build unix

package simwindows

import (
	"slices"
	"strings"

	"weft/internal/slice"
)

// A cmdlet is one of those that this host has, from a page of Microsoft's reference: its
// parameter sets, each with its parameters between spaces, ! after those that must be
// given.
type cmdlet struct {
	source string
	sets   []string
	run    func(h *Host, p params) ([]any, error)
}

// params are what a cmdlet was given, by name in lower case.
type params map[string]any

func (p params) text(name string) string { return text(p[name]) }
func (p params) has(name string) bool    { _, ok := p[name]; return ok }
func (p params) list(name string) []string {
	return slice.Map(each(p[name]), text)
}

// matches reports whether a name is one of those patterns; without any, all are.
func (p params) matches(name string, value string) bool {
	list := p.list(name)
	return len(list) == 0 || slices.ContainsFunc(list, func(pattern string) bool { return like(pattern, value) })
}

// call runs a cmdlet with the parameters that some set of it takes.
func (h *Host) call(f *frame, name string, given params) ([]any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.cmdlets()
	i := slices.IndexFunc(all, func(n namedCmdlet) bool { return strings.EqualFold(n.name, name) })
	if i < 0 {
		return nil, h.unknown(name)
	}
	c := all[i].cmdlet
	fits := slices.ContainsFunc(c.sets, func(set string) bool { return takes(set, given) })
	if !fits {
		return nil, &thrown{message: "Parameter set cannot be resolved using the specified named parameters.", id: "AmbiguousParameterSet," + name,
			kind: "System.Management.Automation.ParameterBindingException"}
	}
	out, err := c.run(h, given)
	if err == nil && h.goesDown(name) {
		return nil, errOff
	}
	return out, err
}

// unknown is the error of a cmdlet that the host does not have.
func (h *Host) unknown(name string) error {
	return &thrown{message: h.say("The term '"+name+"' is not recognized as the name of a cmdlet, function, script file, or operable program.",
		"Die Benennung \""+name+"\" wurde nicht als Name eines Cmdlet, einer Funktion, einer Skriptdatei oder eines ausführbaren Programms erkannt."),
		id: "CommandNotFoundException", kind: "System.Management.Automation.CommandNotFoundException"}
}

func takes(set string, given params) bool {
	known := map[string]bool{"erroraction": true}
	for _, word := range strings.Fields(strings.ToLower(set)) {
		name, needed := strings.CutSuffix(word, "!")
		known[name] = true
		if needed && !given.has(name) {
			return false
		}
	}
	for n := range given {
		if !known[n] {
			return false
		}
	}
	return true
}

// say is a message in the language of the host.
func (h *Host) say(english, german string) string {
	if h.german {
		return german
	}
	return english
}

type namedCmdlet struct {
	name string
	cmdlet
}

const (
	winDocs  = "MicrosoftDocs/windows-powershell-docs, docset/winserver2025-ps: "
	coreDocs = "MicrosoftDocs/PowerShell-Docs, reference/5.1: "
)

func (h *Host) cmdlets() []namedCmdlet {
	return slices.Concat(coreCmdlets(), fileCmdlets(), adapterCmdlets(), settingCmdlets(), addressCmdlets(), bridgingCmdlets(), qosCmdlets(), sharingCmdlets(), taskCmdlets(), featureCmdlets())
}

func coreCmdlets() []namedCmdlet {
	return []namedCmdlet{
		{"ConvertTo-Json", cmdlet{coreDocs + "Microsoft.PowerShell.Utility/ConvertTo-Json", []string{"InputObject! Depth Compress"}, func(_ *Host, p params) ([]any, error) {
			depth := int64(2) // without -Depth
			if d, is := p["depth"].(int64); is {
				depth = d
			}
			var b strings.Builder
			toJSON(&b, p["inputobject"], depth)
			return []any{b.String()}, nil
		}}},
		{"New-Object", cmdlet{coreDocs + "Microsoft.PowerShell.Utility/New-Object", []string{"TypeName! ArgumentList Property"}, func(_ *Host, p params) ([]any, error) {
			kind := "System." + strings.TrimPrefix(p.text("typename"), "System.")
			switch kind {
			case "System.byte[]":
				n, _ := p["argumentlist"].(int64)
				return []any{made(kind, "Length", n)}, nil
			case "System.Net.NetworkInformation.Ping":
				return []any{made(kind)}, nil
			case "System.Net.NetworkInformation.PingOptions":
				if list, is := p["argumentlist"].([]any); is && len(list) == 2 {
					return []any{made(kind, "DontFragment", list[1])}, nil
				}
			}
			if how, is := p["property"].(*object); is && kind == "System.Diagnostics.ProcessStartInfo" {
				return []any{&object{kind: kind, fields: how.fields}}, nil
			}
			if kind != "System.Security.Principal.WindowsPrincipal" && kind != "System.Security.AccessControl.DirectorySecurity" {
				return nil, raise("System.Management.Automation.PSArgumentException", "Cannot find type [%s]: verify that the assembly containing this type is loaded.", kind)
			}
			return []any{made(kind)}, nil
		}}},
		{"Get-Acl", cmdlet{coreDocs + "Microsoft.PowerShell.Security/Get-Acl", []string{"LiteralPath"}, func(h *Host, p params) ([]any, error) {
			i := h.disk.items[key(p.text("literalpath"))]
			if i == nil {
				return nil, raise("System.Management.Automation.ItemNotFoundException", "Cannot find path '%s' because it does not exist.", p.text("literalpath"))
			}
			return []any{made("System.Security.AccessControl.DirectorySecurity", "Sddl", i.sddl)}, nil
		}}},
		{"Get-CimInstance", cmdlet{coreDocs + "CimCmdlets/Get-CimInstance", []string{"ClassName! Namespace Filter Property"}, (*Host).instances}},
	}
}

// instances are those of a class of CIM.
func (h *Host) instances(p params) ([]any, error) {
	switch class := strings.ToLower(p.text("classname")); class {
	case "win32_operatingsystem":
		return []any{made(class, "Caption", "Microsoft Windows Server 2025 Datacenter (SIMULATED)", "BuildNumber", "26100", "ProductType", int64(3),
			"LastBootUpTime", moment{h.booted}, "TotalVisibleMemorySize", int64(268435456))}, nil
	case "win32_computersystemproduct":
		return []any{made(class, "UUID", strings.ToUpper(h.guid), "Vendor", "weft lab", "Name", "SIMULATED host")}, nil
	case "win32_systemdriver":
		if p.text("filter") != "Name='stornvmeofi'" {
			return nil, nil
		}
		return []any{made(class, "Name", "stornvmeofi", "State", "Stopped", "StartMode", "Manual")}, nil
	case "win32_processor":
		return []any{made(class, "Architecture", int64(9))}, nil
	case "win32_perfrawdata_counters_rdmaactivity":
		return h.counts(), nil
	case "win32_bios":
		return []any{made(class, "SerialNumber", "SIM-"+h.guid[:8])}, nil
	}
	return nil, &thrown{message: h.say("Invalid class ", "Ungültige Klasse "), id: "HRESULT 0x80041010,Microsoft.Management.Infrastructure.CimCmdlets.GetCimInstanceCommand", kind: "Microsoft.Management.Infrastructure.CimException"}
}

func featureCmdlets() []namedCmdlet {
	one := func(h *Host, p params) (string, error) {
		name := p.text("name")
		if !strings.EqualFold(name, "Data-Center-Bridging") {
			return "", &thrown{message: "ArgumentNotValid: The role, role service, or feature name is not valid: '" + name + "'.", id: "NameDoesNotExist", kind: "System.Exception"}
		}
		return "Data-Center-Bridging", nil
	}
	set := func(on bool) func(*Host, params) ([]any, error) {
		return func(h *Host, p params) ([]any, error) {
			if _, err := one(h, p); err != nil {
				return nil, err
			}
			if h.dcb = on; !on {
				h.qos.willing, h.qos.pauses, h.qos.classes = true, [8]bool{}, nil
			}
			return []any{made("Microsoft.Windows.ServerManager.Commands.FeatureOperationResult", "Success", true, "RestartNeeded", "No", "ExitCode", "Success")}, nil
		}
	}
	return []namedCmdlet{
		{"Get-WindowsFeature", cmdlet{winDocs + "ServerManager/Get-WindowsFeature", []string{"Name"}, func(h *Host, p params) ([]any, error) {
			name, err := one(h, p)
			if err != nil {
				return nil, err
			}
			state := map[bool]string{true: "Installed", false: "Available"}[h.dcb]
			return []any{made("Microsoft.Windows.ServerManager.Commands.Feature", "Name", name, "Installed", h.dcb, "InstallState", state)}, nil
		}}},
		{"Install-WindowsFeature", cmdlet{winDocs + "ServerManager/Install-WindowsFeature", []string{"Name! Restart IncludeAllSubFeature IncludeManagementTools Confirm"}, set(true)}},
		{"Uninstall-WindowsFeature", cmdlet{winDocs + "ServerManager/Uninstall-WindowsFeature", []string{"Name! Restart IncludeManagementTools Remove Confirm"}, set(false)}},
	}
}

func taskCmdlets() []namedCmdlet {
	build := func(kind string) func(*Host, params) ([]any, error) {
		return func(_ *Host, p params) ([]any, error) {
			o := &object{kind: kind}
			for n, v := range p {
				o.fields = append(o.fields, fieldOf{n, v})
			}
			return []any{o}, nil
		}
	}
	return []namedCmdlet{
		{"New-ScheduledTaskAction", cmdlet{winDocs + "ScheduledTasks/New-ScheduledTaskAction", []string{"Id Execute! Argument WorkingDirectory"}, build("action")}},
		{"New-ScheduledTaskTrigger", cmdlet{winDocs + "ScheduledTasks/New-ScheduledTaskTrigger", []string{"Once! At! RandomDelay RepetitionDuration RepetitionInterval"}, build("trigger")}},
		{"New-ScheduledTaskPrincipal", cmdlet{winDocs + "ScheduledTasks/New-ScheduledTaskPrincipal", []string{"Id RunLevel ProcessTokenSidType RequiredPrivilege UserId! LogonType"}, build("principal")}},
		{"New-ScheduledTaskSettingsSet", cmdlet{winDocs + "ScheduledTasks/New-ScheduledTaskSettingsSet", []string{"StartWhenAvailable AllowStartIfOnBatteries DontStopIfGoingOnBatteries"}, build("settings")}},
		{"Register-ScheduledTask", cmdlet{winDocs + "ScheduledTasks/Register-ScheduledTask", []string{"Force TaskName! TaskPath Principal! Action! Description Settings Trigger"}, func(h *Host, p params) ([]any, error) {
			name, at := p.text("taskname"), p["trigger"].(*object).field("at").(moment)
			if _, there := h.tasks[name]; there && !p.has("force") {
				return nil, raise("System.Exception", "Cannot create a file when that file already exists.")
			}
			if p["principal"].(*object).field("userid") != "S-1-5-18" {
				return nil, raise("System.Exception", "No mapping between account names and security IDs was done.")
			}
			argument := text(p["action"].(*object).field("argument"))
			_, file, _ := strings.Cut(argument, `-File "`)
			h.tasks[name] = scheduled{at: at.Time, file: strings.TrimSuffix(file, `"`), late: p["settings"].(*object).field("startwhenavailable") == true}
			h.reschedule()
			return []any{made("task", "TaskName", name)}, nil
		}}},
		{"Get-ScheduledTask", cmdlet{winDocs + "ScheduledTasks/Get-ScheduledTask", []string{"TaskName TaskPath"}, func(h *Host, p params) (out []any, err error) {
			for name := range h.tasks {
				if p.matches("taskname", name) {
					out = append(out, made("task", "TaskName", name))
				}
			}
			return out, nil
		}}},
		{"Unregister-ScheduledTask", cmdlet{winDocs + "ScheduledTasks/Unregister-ScheduledTask", []string{"TaskName TaskPath Confirm"}, func(h *Host, p params) ([]any, error) {
			if p["confirm"] != false {
				return nil, raise("System.Management.Automation.PSInvalidOperationException", "Windows PowerShell is in NonInteractive mode. Read and Prompt functionality is not available.")
			}
			if _, there := h.tasks[p.text("taskname")]; !there {
				return nil, &thrown{message: h.say("No MSFT_ScheduledTask objects found", "Es wurden keine MSFT_ScheduledTask-Objekte gefunden"), id: "CmdletizationQuery_NotFound_TaskName,Unregister-ScheduledTask", kind: "Microsoft.PowerShell.Cmdletization.CimJobException"}
			}
			delete(h.tasks, p.text("taskname"))
			return nil, nil
		}}},
	}
}

// adapterCmdlets are about the adapters of the host.
func adapterCmdlets() []namedCmdlet {
	get := func(of func(*Host, *adapter) *object) func(*Host, params) ([]any, error) {
		return func(h *Host, p params) (out []any, err error) {
			for _, a := range h.adapters {
				if !p.matches("name", a.name) {
					continue
				}
				if o := of(h, a); o != nil {
					out = append(out, o)
				}
			}
			return out, nil
		}
	}
	return []namedCmdlet{
		{"Get-NetAdapter", cmdlet{winDocs + "NetAdapter/Get-NetAdapter", []string{"Name IncludeHidden Physical"}, withVirtual(get(func(_ *Host, a *adapter) *object {
			media := map[bool]int64{true: 1, false: 2}[a.up]
			return made("MSFT_NetAdapter", "Name", a.name, "InterfaceDescription", a.description, "MacAddress", a.mac, "MtuSize", a.mtu(), "MediaConnectionState", media,
				"InterfaceAdminStatus", int64(1), "ReceiveLinkSpeed", a.Speed, "DriverFileName", "mlx5.sys", "DriverVersion", "24.10.26603.0", "PnPDeviceID", `PCI\VEN_15B3&DEV_1021&SUBSYS_00000000`)
		}))}},
		{"Get-NetAdapterHardwareInfo", cmdlet{winDocs + "NetAdapter/Get-NetAdapterHardwareInfo", []string{"Name IncludeHidden"}, get(func(_ *Host, a *adapter) *object {
			n := a.place()
			return made("MSFT_NetAdapterHardwareInfoSettingData", "Name", a.name, "Segment", n[0], "Bus", n[1], "Device", n[2], "Function", n[3], "NumaNode", int64(0))
		})}},
		{"Get-NetAdapterRdma", cmdlet{winDocs + "NetAdapter/Get-NetAdapterRdma", []string{"Name IncludeHidden"}, get(func(_ *Host, a *adapter) *object {
			if !a.RDMA {
				return nil
			}
			return made("MSFT_NetAdapterRdmaSettingData", "Name", a.name, "InterfaceDescription", a.description, "Enabled", a.rdma)
		})}},
		{"Get-NetAdapterBinding", cmdlet{winDocs + "NetAdapter/Get-NetAdapterBinding", []string{"Name ComponentID DisplayName IncludeHidden AllBindings"}, func(h *Host, p params) (out []any, err error) {
			for _, a := range h.adapters {
				for _, c := range []string{"ms_tcpip", "vms_pp"} {
					if p.matches("name", a.name) && p.matches("componentid", c) {
						out = append(out, made("MSFT_NetAdapterBindingSettingData", "Name", a.name, "ComponentID", c, "Enabled", c == "ms_tcpip" != a.taken))
					}
				}
			}
			return out, nil
		}}},
	}
}

// withVirtual gives the NICs besides that a Hyper-V switch has for its host, where it has
// adapters and not only physical ones are asked for.
func withVirtual(get func(*Host, params) ([]any, error)) func(*Host, params) ([]any, error) {
	return func(h *Host, p params) ([]any, error) {
		out, err := get(h, p)
		const name = "vEthernet (SMB)"
		if slices.ContainsFunc(h.adapters, func(a *adapter) bool { return a.taken }) && !p.has("physical") && p.matches("name", name) {
			out = append(out, made("MSFT_NetAdapter", "Name", name, "InterfaceDescription", "Hyper-V Virtual Ethernet Adapter"))
		}
		return out, err
	}
}
