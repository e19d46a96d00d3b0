//go:build unix

package simesxi

import (
	"maps"
	"slices"
	"strings"
)

// commands are all that this host has.
func commands() []command {
	return slices.Concat(aboutHost(), aboutRestart(), aboutNetwork(), aboutNVMe())
}

// aboutHost are the commands about who a host is, and its settings.
func aboutHost() []command {
	return []command{
		{words: "system uuid get", source: reference, run: func(h *Host, _ map[string]string) (string, error) {
			u := h.uuid
			return "   <string>" + strings.Join([]string{u[:8], u[8:12], u[12:16], u[16:20], u[20:]}, "-") + "</string>\n", nil
		}},
		{words: "system version get", source: reference, run: func(*Host, map[string]string) (string, error) {
			return structure("VersionGet", "Build", "Releasebuild-24022510", "Patch", "0", "Product", "VMware ESXi (SIMULATED)", "Update", "3", "Version", "8.0.3"), nil
		}},
		{words: "hardware platform get", source: reference + "; VMware, govmomi, simulator of esxcli", run: func(h *Host, _ map[string]string) (string, error) {
			return structure("PlatformGet", "EnclosureSerialNumber", "SIM-"+h.uuid[:8], "ProductName", "SIMULATED host", "SerialNumber", "SIM-"+h.uuid[:8], "VendorName", "weft lab"), nil
		}},
		{words: "hardware cpu global get", source: reference, run: func(*Host, map[string]string) (string, error) {
			return structure("GlobalCPU", "CPUCores", 32, "CPUPackages", 2, "CPUThreads", 64), nil
		}},
		{words: "hardware memory get", source: reference, run: func(*Host, map[string]string) (string, error) {
			return structure("Memory", "NUMANodeCount", 2, "PhysicalMemory", "549755813888"), nil
		}},
		{words: "system settings advanced list", options: map[string]string{"o": "option"}, needed: "o", source: reference + "; VMware, govmomi, simulator of esxcli", run: optionList},
		{words: "system settings advanced set", options: map[string]string{"o": "option", "s": "string-value", "i": "int-value"}, needed: "o", changes: true, source: reference, run: optionSet},
		{words: "system module parameters list", options: map[string]string{"m": "module"}, needed: "m", source: reference + "; NetApp, ontap-sanhost, nvme-esxi-7", run: moduleList},
		{words: "system module parameters set", options: map[string]string{"m": "module", "p": "parameter-string"}, needed: "mp", changes: true, source: reference + "; " + nvidiaUM, run: moduleSet},
		{words: "network firewall ruleset list", options: map[string]string{"r": "ruleset-id"}, needed: "r", source: reference, run: func(h *Host, o map[string]string) (string, error) {
			on, ok := h.now.rulesets[o["r"]]
			if !ok {
				return "", says("Unable to find ruleset %s", o["r"])
			}
			return list(structure("Ruleset", "Enabled", on, "Name", o["r"])), nil
		}},
		{words: "network firewall ruleset set", options: map[string]string{"r": "ruleset-id", "e": "enabled"}, needed: "re", changes: true, source: reference, run: func(h *Host, o map[string]string) (string, error) {
			if _, ok := h.now.rulesets[o["r"]]; !ok {
				return "", says("Unable to find ruleset %s", o["r"])
			}
			on, err := boolean(o["e"])
			if err == nil {
				h.now.rulesets[o["r"]] = on
			}
			return "", err
		}},
	}
}

func optionList(h *Host, o map[string]string) (string, error) {
	value, ok := h.now.options[o["o"]]
	if !ok {
		return "", says("Unable to find option %s", strings.TrimPrefix(o["o"], "/"))
	}
	return list(structure("Option", "DefaultIntValue", 0, "DefaultStringValue", "", "Description", "SIMULATED", "IntValue", 0, "MaxValue", 0, "MinValue", 0,
		"Path", o["o"], "StringValue", value, "Type", "string", "ValidCharacters", "*")), nil
}

// optionSet: the options of this host are texts.
func optionSet(h *Host, o map[string]string) (string, error) {
	if _, ok := h.now.options[o["o"]]; !ok {
		return "", says("Unable to find option %s", strings.TrimPrefix(o["o"], "/"))
	}
	value, ok := o["s"]
	if _, number := o["i"]; !ok || number {
		return "", says("Invalid data constraint for parameter 'type'.")
	}
	h.now.options[o["o"]] = value
	return "", nil
}

func moduleList(h *Host, o map[string]string) (string, error) {
	m, ok := h.now.modules[o["m"]]
	if !ok {
		return "", says("Unable to find module %s", o["m"])
	}
	var rows []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		rows = append(rows, structure("ModuleParameter", "Description", "SIMULATED", "Name", name, "Type", "uint", "Value", m[name]))
	}
	return list(rows...), nil
}

// moduleSet replaces all parameters of a module, which it takes when it is loaded.
func moduleSet(h *Host, o map[string]string) (string, error) {
	m, ok := h.now.modules[o["m"]]
	if !ok {
		return "", says("Unable to find module %s", o["m"])
	}
	fresh := map[string]string{}
	for name := range m {
		fresh[name] = ""
	}
	for _, word := range strings.Fields(o["p"]) {
		name, value, ok := strings.Cut(word, "=")
		if _, known := fresh[name]; !ok || !known {
			return "", says("Unable to set module parameters the following params are invalid: %s", name)
		}
		fresh[name] = value
	}
	h.now.modules[o["m"]] = fresh
	return "", nil
}
