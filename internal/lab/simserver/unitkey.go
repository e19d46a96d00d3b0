//go:build unix

package simserver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A value says whether a setting may have it.
type value func(string) bool

// sandbox are the settings that the lab takes and that change nothing here, with
// what they may be set to. From the manual pages of systemd 252, which the lab
// plays: systemd.unit(5), systemd.service(5), systemd.exec(5) and
// systemd.resource-control(5). systemd itself logs keys that it does not know and
// goes on without them; the lab refuses them, so that none is mistyped.
func sandbox() map[string]value {
	all := map[string]value{
		"Unit.Description":           matching(`.*`),
		"Unit.StartLimitIntervalSec": span,
		"Service.Restart":            among("no", "always", "on-success", "on-failure", "on-abnormal", "on-abort", "on-watchdog"),

		"Service.RestartPreventExitStatus": every(matching(`[0-9]{1,3}|SIG[A-Z0-9]+`)),
		"Service.RuntimeDirectoryPreserve": among("yes"), // else a stop removes what others keep there

		"Service.TasksMax":  matching(`[0-9]+%?|infinity`),
		"Service.MemoryMax": matching(`[0-9]+[KMGT%]?|infinity`),

		"Service.CapabilityBoundingSet":   every(listed(capabilities)),
		"Service.ProtectSystem":           among("yes", "no", "full", "strict"),
		"Service.ProtectHome":             among("yes", "no", "read-only", "tmpfs"),
		"Service.ProtectProc":             among("noaccess", "invisible", "ptraceable", "default"),
		"Service.RestrictAddressFamilies": every(among("AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET")),
		"Service.SystemCallArchitectures": among("native"),
		"Service.SystemCallFilter":        every(listed(callSets)),
		"Service.SystemCallErrorNumber":   matching(`E[A-Z]+`),
	}
	for _, key := range []string{"Wants", "After", "Before", "Requires"} {
		all["Unit."+key] = every(matching(`[A-Za-z0-9:_.@-]+\.(service|target|mount|timer|socket)`))
	}
	for _, key := range []string{"RestartSec", "TimeoutStartSec", "TimeoutStopSec"} {
		all["Service."+key] = span
	}
	for _, key := range []string{"StateDirectoryMode", "RuntimeDirectoryMode", "UMask"} {
		all["Service."+key] = matching(`0[0-7]{3}`)
	}
	for _, key := range []string{"LimitMEMLOCK", "LimitNOFILE"} {
		all["Service."+key] = matching(`[0-9]+|infinity`)
	}
	for _, key := range []string{
		"NoNewPrivileges", "PrivateTmp", "PrivateMounts", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables",
		"ProtectControlGroups", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality", "MemoryDenyWriteExecute",
	} {
		all["Service."+key] = among("yes", "no", "true", "false", "1", "0", "on", "off") // systemd.syntax(7)
	}
	return all
}

// capabilities are those of capabilities(7) that services commonly keep.
const capabilities = "CAP_NET_BIND_SERVICE CAP_NET_ADMIN CAP_NET_RAW CAP_IPC_LOCK CAP_SYS_ADMIN CAP_SYS_RAWIO CAP_SYS_NICE CAP_SYS_RESOURCE " +
	"CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_CHOWN CAP_FOWNER CAP_SETUID CAP_SETGID CAP_KILL"

// callSets are the predefined sets of system calls, systemd.exec(5).
const callSets = "@aio @basic-io @chown @clock @cpu-emulation @debug @default @file-system @io-event @ipc @keyring @memlock @module @mount " +
	"@network-io @obsolete @pkey @privileged @process @raw-io @reboot @resources @sandbox @setuid @signal @swap @sync @system-service @timer @known"

func span(text string) bool { return matching(`infinity|[0-9]+(us|ms|s|min|h|d)?`)(text) }

// matching is a whole value of a form.
func matching(form string) value { return regexp.MustCompile(`^(` + form + `)$`).MatchString }

// listed is one of some names, be it with the ~ of what is taken away.
func listed(names string) value {
	return func(text string) bool { return slices.Contains(strings.Fields(names), strings.TrimPrefix(text, "~")) }
}

func among(values ...string) value {
	return func(text string) bool { return slices.Contains(values, text) }
}

// every is a list, empty to begin anew.
func every(one value) value {
	return func(text string) bool {
		return !slices.ContainsFunc(strings.Fields(text), func(word string) bool { return !one(word) })
	}
}

var sandboxOnce = sync.OnceValue(sandbox)

// harmless reports a setting that the lab does not know, or not so.
func harmless(key, text string) error {
	may, known := sandboxOnce()[key]
	section, name, _ := strings.Cut(key, ".")
	switch {
	case !known:
		return fmt.Errorf("%s= in [%s]: not simulated in the lab", name, section)
	case !may(text):
		return fmt.Errorf("%s=%s: not simulated in the lab", name, text)
	}
	return nil
}

// folders are what RuntimeDirectory= and StateDirectory= name: below a fixed
// place, never above it. systemd.exec(5).
func folders(below, text string) (list []string, err error) {
	for _, name := range strings.Fields(text) {
		if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") || strings.ContainsAny(name, "%\\:\"'") {
			return nil, fmt.Errorf("%q is no folder below %s", name, below)
		}
		list = append(list, below+"/"+name)
	}
	return list, nil
}
