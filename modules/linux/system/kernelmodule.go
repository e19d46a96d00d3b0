package system

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// KernelModule keeps one module of the kernel loaded, now and after a restart,
// with its parameters.
type KernelModule struct {
	Name    string
	Options map[string]string // parameters as they are in force
	Loaded  bool              // or built into the kernel
	Builtin bool              `json:",omitempty"` // observed: the latter, which no command changes

	Load string // text of the file that loads it at boot; "" is no such file of weft's
	Conf string // text of the file with its parameters; "" likewise

	bad error // why these cannot be written
}

// KernelModuleKind is the kind kernel_module.
func KernelModuleKind() *host.Kind[KernelModule] {
	return &host.Kind[KernelModule]{
		Name:   "kernel_module",
		Blocks: kernelModuleBlocks, Writes: kernelModuleWritten,
		Looks: (*KernelModule).Looks, Parse: (*KernelModule).Parse, Diff: (*KernelModule).Diff, Steps: (*KernelModule).Steps, Absent: (*KernelModule).absent,
		Check: (*KernelModule).unwritable, Advice: (*KernelModule).Advice,
	}
}

func kernelModuleWritten(_ string, m *KernelModule) (label string, set []host.Setting, err error) {
	if len(m.Options) > 0 {
		set = []host.Setting{host.Set("options", m.Options)}
	}
	return m.Name, set, nil
}

func kernelModuleBlocks(s *inventory.Server) (list []host.Block[KernelModule]) {
	for _, b := range s.KernelModules {
		list = append(list, host.Block[KernelModule]{Block: &b.Block, Name: b.Name, Want: newKernelModule(b.Name, b.Options)})
	}
	return list
}

func newKernelModule(name string, options map[string]string) *KernelModule {
	m := &KernelModule{Name: name, Options: options, Loaded: true}
	var load, conf error
	m.Load, load = put.ModulesLoad(name)
	m.Conf, conf = put.ModprobeOptions(name, options)
	m.bad = errors.Join(load, conf)
	return m
}

func (m *KernelModule) unwritable() error { return m.bad }

// name is what the kernel calls the module: it knows no dashes.
func (m *KernelModule) name() string { return strings.ReplaceAll(m.Name, "-", "_") }

func (m *KernelModule) folder() string { return "/sys/module/" + m.name() }

// whereIs tells a module that is loaded from one that is built in: only the
// former has a state, and of the latter those without parameters are in a list
// alone. Names of files have dashes or underscores.
const whereIs = `if test -e "$1/initstate"; then echo loaded; ` +
	`elif test -d "$1" || grep -qs "/$2[.]ko" "/lib/modules/$(uname -r)/modules.builtin"; then echo built in; fi`

type moduleLooks struct {
	loaded, load, conf remote.Look
	options            map[string]remote.Look
}

func (m *KernelModule) looks() moduleLooks {
	l := moduleLooks{
		loaded:  remote.Look{Args: []string{"sh", "-c", whereIs, "sh", m.folder(), strings.ReplaceAll(m.name(), "_", "[-_]")}, Own: true},
		load:    remote.Look{File: "/etc/modules-load.d/weft-" + m.Name + ".conf"},
		conf:    remote.Look{File: "/etc/modprobe.d/weft-" + m.Name + ".conf"},
		options: map[string]remote.Look{},
	}
	for k := range m.Options {
		l.options[k] = remote.Look{File: m.folder() + "/parameters/" + k, Root: true}
	}
	return l
}

func (m *KernelModule) Looks() []remote.Look {
	l := m.looks()
	looks := []remote.Look{l.loaded, l.load, l.conf}
	for _, k := range slices.Sorted(maps.Keys(l.options)) {
		looks = append(looks, l.options[k])
	}
	return looks
}

func (m *KernelModule) Parse(s remote.Seen) (*KernelModule, error) {
	l := m.looks()
	where := s.Of(l.loaded)
	if where.Err != nil {
		return nil, where.Err
	}
	have := &KernelModule{Name: m.Name, Loaded: where.Text() != "", Builtin: where.Text() == "built in"}
	for _, f := range []struct {
		look remote.Look
		text *string
	}{{l.load, &have.Load}, {l.conf, &have.Conf}} {
		got, err := see.File(s, f.look)
		if err != nil {
			return nil, err
		}
		*f.text = string(got.Content)
	}
	for k, look := range l.options {
		if got := s.Of(look); got.Err == nil { // some parameters cannot be read
			if have.Options == nil {
				have.Options = map[string]string{}
			}
			have.Options[k] = got.Text()
		}
	}
	if k := m.stale(have); have.Builtin && len(k) > 0 {
		return nil, hint.Wrap(fmt.Errorf("%s is built into the kernel with %s=%s", m.Name, k[0], have.Options[k[0]]),
			"its parameters come from the kernel's command line: %s.%s=%s", m.name(), k[0], m.Options[k[0]])
	}
	return have, nil
}

// absent is the kernel without it. What is built in stays.
func (m *KernelModule) absent() *KernelModule {
	return &KernelModule{Name: m.Name, Loaded: m.Builtin, Builtin: m.Builtin}
}

func (m *KernelModule) Diff(have *KernelModule) []plan.Change {
	out := plan.Changed("loaded", have.Loaded, m.Loaded, plan.ImpactNone)
	for _, k := range m.stale(have) {
		out = append(out, plan.Change{Path: "options." + k, Before: have.Options[k], After: m.Options[k], Impact: plan.ImpactTraffic})
	}
	for _, k := range m.dropped(have) {
		out = append(out, plan.Change{Path: "options." + k, Before: "as weft set it", After: "left alone until " + m.Name +
			" is loaded again (modprobe -r " + m.Name + "; modprobe " + m.Name + ") or the server restarts"})
	}
	out = append(out, plan.Changed("boot", strings.TrimSpace(have.Load), strings.TrimSpace(m.Load), plan.ImpactNone)...)
	return append(out, plan.Changed("options", strings.TrimSpace(have.Conf), strings.TrimSpace(m.Conf), plan.ImpactNone)...)
}

// stale lists the parameters that are in force with another value.
func (m *KernelModule) stale(have *KernelModule) []string {
	if !m.Loaded || !have.Loaded {
		return nil
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m.Options)) {
		if is, known := have.Options[k]; known && truth(is) != truth(m.Options[k]) {
			list = append(list, k)
		}
	}
	return list
}

// dropped lists the parameters that weft's file sets and that are declared no
// more. The kernel forgets them only with the module.
func (m *KernelModule) dropped(have *KernelModule) []string {
	if !m.Loaded || !have.Loaded || len(m.stale(have)) > 0 {
		return nil
	}
	var list []string
	for _, word := range strings.Fields(have.Conf) {
		k, _, is := strings.Cut(word, "=")
		if is && !strings.Contains(m.Conf, " "+k+"=") {
			list = append(list, k)
		}
	}
	return list
}

// truth makes one spelling of the kernel's for a truth value.
func truth(value string) string {
	switch value {
	case "Y", "y":
		return "1"
	case "N", "n":
		return "0"
	}
	return value
}

// Steps: a module whose parameters are to change is loaded
// again; one that is in use refuses that.
func (m *KernelModule) Steps(have *KernelModule) []remote.Step {
	l := m.looks()
	var steps []remote.Step
	if m.Conf != have.Conf {
		steps = append(steps, put.Back(l.conf.File, 0o644, m.Conf))
	}
	if m.Load != have.Load {
		steps = append(steps, put.Back(l.load.File, 0o644, m.Load))
	}
	again := len(m.stale(have)) > 0
	if have.Loaded && (again || !m.Loaded) {
		steps = append(steps, host.Run("modprobe", "-r", m.Name))
	}
	if m.Loaded && (again || !have.Loaded) {
		steps = append(steps, host.Run("modprobe", m.Name))
	}
	return steps
}

func (m *KernelModule) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "in use"):
		return "the last column of lsmod lists its users: stop them and apply again"
	case strings.Contains(reply, "not found"):
		return "the running kernel has no such module: a package may bring it (linux-modules-extra, kernel-modules-extra), or the server waits for a restart into a newer kernel"
	case strings.Contains(reply, "Unknown parameter"), strings.Contains(reply, "Invalid argument"):
		return "see what it takes: modinfo -p " + m.Name
	case reply == "" && m.Loaded && len(m.Options) > 0:
		return "the module did not take a parameter: see modinfo -p " + m.Name + " and the files in /etc/modprobe.d"
	}
	return ""
}
