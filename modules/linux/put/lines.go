package put

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/pattern"
)

// Files that programs read by lines are written here, each format by one writer:
// what goes in comes out as exactly the entries that were given, or not at all.
// Keys have a closed alphabet; no value begins another line, word or comment.

// unwritableError is a part of a line that its format does not take.
func unwritableError(format, part, text string) error {
	return fmt.Errorf("%s: %s %q cannot be written into one line of it", format, part, text)
}

var (
	moduleName     = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
	moduleOption   = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	moduleValue    = pattern.New(`^(?:[!#-\[\]-~]*|"[ !#-\[\]-~]*")$`)
	sysctlKey      = pattern.New(`^[A-Za-z0-9_][A-Za-z0-9_:*./-]*$`)
	sysctlValue    = pattern.New(`^[^\s\p{Cc}](?:[^\p{Cc}]*[^\s\p{Cc}])?$`)
	LimitedUser    = pattern.New(`^[A-Za-z_][A-Za-z0-9_.-]*$`) // @ begins a group, and * is everybody
	deviceProperty = pattern.New(`^[A-Z][A-Z0-9_]*$`)
	propertyValue  = pattern.New(`^[A-Za-z0-9_.+-]*$`) // of LVM, whose names are of these: lvm(8)
	unitSection    = pattern.New(`^[A-Z][A-Za-z]*$`)
	unitValue      = pattern.New(`^[^\s\p{Cc}\\](?:[^\p{Cc}\\]*[^\s\p{Cc}\\])?$`)
)

// modprobeOptions is a file of modprobe.d(5) with the options of one module, ""
// without any.
func ModprobeOptions(module string, options map[string]string) (string, error) {
	if len(options) == 0 {
		return "", nil
	}
	if !moduleName.MatchString(module) {
		return "", unwritableError("modprobe.d", "the module", module)
	}
	line := "options " + module
	for _, key := range slices.Sorted(maps.Keys(options)) {
		switch {
		case !moduleOption.MatchString(key):
			return "", unwritableError("modprobe.d", "the option", key)
		case !moduleValue.MatchString(options[key]):
			return "", unwritableError("modprobe.d", "the value of "+key, options[key])
		}
		line += " " + key + "=" + options[key]
	}
	return line + "\n", nil
}

// modulesLoad is a file of modules-load.d(5) with one module.
func ModulesLoad(module string) (string, error) {
	if !moduleName.MatchString(module) {
		return "", unwritableError("modules-load.d", "the module", module)
	}
	return module + "\n", nil
}

// sysctlSetting is a file of sysctl.d(5) with one parameter.
func SysctlSetting(key, value string) (string, error) {
	switch {
	case !sysctlKey.MatchString(key):
		return "", unwritableError("sysctl.d", "the key", key)
	case !sysctlValue.MatchString(value):
		return "", unwritableError("sysctl.d", "the value of "+key, value)
	}
	return key + " = " + value + "\n", nil
}

// lockedMemory is a file of limits.conf(5) in which users may lock any memory.
func LockedMemory(users []string) (string, error) {
	text := "# Written by weft: the next apply replaces what is changed here.\n# RDMA programs of these users may lock what memory they register.\n"
	for _, u := range users {
		if !LimitedUser.MatchString(u) {
			return "", unwritableError("limits.d", "the user", u)
		}
		text += u + " - memlock unlimited\n"
	}
	return text, nil
}

// A property is one of a block device, as udev(7) knows it.
type Property struct{ Name, Value string }

// udevRule is a file of rules that gives a device with all of these properties
// another one.
func UdevRule(comment string, devices []Property, becomes Property) (string, error) {
	if strings.ContainsFunc(comment, func(r rune) bool { return r < ' ' }) || strings.HasSuffix(comment, `\`) {
		return "", unwritableError("udev", "the comment", comment)
	}
	var terms []string
	for i, p := range append(slices.Clone(devices), becomes) {
		switch {
		case !deviceProperty.MatchString(p.Name):
			return "", unwritableError("udev", "the property", p.Name)
		case !propertyValue.MatchString(p.Value):
			return "", unwritableError("udev", "the value of "+p.Name, p.Value)
		}
		operator := "=="
		if i == len(devices) {
			operator = "="
		}
		terms = append(terms, "ENV{"+p.Name+"}"+operator+`"`+p.Value+`"`)
	}
	return "# " + comment + "\n" + strings.Join(terms, ", ") + "\n", nil
}

// A unitPart is one section of a unit of systemd, with its settings in order.
type UnitPart struct {
	Name     string
	Settings [][2]string
}

// unitText is a unit of systemd.unit(5).
func UnitText(sections ...UnitPart) (string, error) {
	var b strings.Builder
	b.WriteString("# Written by weft: the next apply replaces what is changed here.\n")
	for i, s := range sections {
		if i > 0 {
			b.WriteByte('\n')
		}
		if !unitSection.MatchString(s.Name) {
			return "", unwritableError("a unit", "the section", s.Name)
		}
		b.WriteString("[" + s.Name + "]\n")
		for _, kv := range s.Settings {
			switch {
			case !unitSection.MatchString(kv[0]):
				return "", unwritableError("a unit", "the setting", kv[0])
			case !unitValue.MatchString(kv[1]):
				return "", unwritableError("a unit", "the value of "+kv[0], kv[1])
			}
			b.WriteString(kv[0] + "=" + kv[1] + "\n")
		}
	}
	return b.String(), nil
}

// checkNQNs is an error where one is no name for a directory or a file.
func CheckNQNs(list ...string) error {
	for _, nqn := range list {
		if err := agent.CheckNQN(nqn); err != nil {
			return err
		}
	}
	return nil
}
