package system

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// Sysctl keeps one parameter of the kernel, now and after a restart.
type Sysctl struct {
	Key   string // net.core.rmem_max
	Value string // fields apart by one space
	Boot  string // text of the file that sets it at boot; "" is no such file of weft's

	Later bool `json:",omitempty"` // it may come with something that is applied before

	bad error // why it cannot be written
}

// SysctlKind is the kind sysctl.
func SysctlKind() *host.Kind[Sysctl] {
	return &host.Kind[Sysctl]{
		Name: "sysctl", Lasting: true,
		Declares: sysctlWords(), Blocks: sysctlBlocks,
		Writes: func(_ string, s *Sysctl) (string, []host.Setting, error) {
			return s.Key, []host.Setting{host.Set("value", s.Value)}, nil
		},
		Looks: (*Sysctl).Looks, Parse: (*Sysctl).Parse, Diff: (*Sysctl).Diff, Steps: (*Sysctl).Steps,
		Check: (*Sysctl).unwritable, Advice: (*Sysctl).Advice,
	}
}

func sysctlWords() *inventory.BlockType {
	return &inventory.BlockType{
		Name: "sysctl", About: "A kernel parameter.", Label: "key",
		Named: inventory.Form{Is: "a key of sysctl", Pattern: `[A-Za-z0-9_][A-Za-z0-9_-]*([./][A-Za-z0-9_:*-]+)+`},
		Attributes: []inventory.Attribute{{
			Name: "value", About: "The value, as sysctl prints it.", Needed: true,
			Form: inventory.Form{Is: "a single-line string", Pattern: `(?:\t|[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}])+`},
		}},
	}
}

func sysctlBlocks(s *inventory.Server) (list []host.Block[Sysctl]) {
	for _, b := range s.Declared("sysctl") {
		w := newSysctl(b.Label, b.Values["value"])
		w.Later = len(s.Packages)+len(s.KernelModules) > 0
		list = append(list, host.Block[Sysctl]{Block: &b.Block, Name: b.Label, Also: b.Label + ".value", Want: w})
	}
	return list
}

func newSysctl(key, value string) *Sysctl {
	value = strings.Join(strings.Fields(value), " ")
	boot, err := put.SysctlSetting(key, value)
	return &Sysctl{Key: key, Value: value, Boot: boot, bad: err}
}

func (s *Sysctl) unwritable() error { return s.bad }

// live is where the kernel shows the parameter. As sysctl(8) does it, the
// first of dot and slash to appear separates the parts.
func (s *Sysctl) live() string {
	path := s.Key
	if i := strings.IndexAny(s.Key, "./"); i >= 0 && s.Key[i] == '.' {
		path = strings.NewReplacer(".", "/", "/", ".").Replace(s.Key)
	}
	return "/proc/sys/" + path
}

// file is read at boot after those of the distribution, of which the last is
// 99-sysctl.conf.
func (s *Sysctl) file() string {
	return "/etc/sysctl.d/99-weft-" + strings.ReplaceAll(s.Key, "/", "-") + ".conf"
}

func (s *Sysctl) looks() (live, boot remote.Look) {
	return remote.Look{File: s.live(), Root: true}, remote.Look{File: s.file()}
}

func (s *Sysctl) Looks() []remote.Look {
	live, boot := s.looks()
	return []remote.Look{live, boot}
}

func (s *Sysctl) Parse(seen remote.Seen) (*Sysctl, error) {
	live, boot := s.looks()
	now := seen.Of(live)
	if now.Absent && !s.Later {
		return nil, hint.Wrap(fmt.Errorf("the kernel has no parameter %s", s.Key),
			"see what there is: sysctl -a; some come with a kernel module, which a kernel_module block loads")
	}
	if now.Err != nil && !now.Absent {
		return nil, now.Err
	}
	kept, err := see.File(seen, boot)
	if err != nil {
		return nil, err
	}
	return &Sysctl{Key: s.Key, Value: strings.Join(strings.Fields(now.Text()), " "), Boot: string(kept.Content)}, nil
}

func (s *Sysctl) Diff(have *Sysctl) []plan.Change {
	return append(plan.Changed("value", have.Value, s.Value, plan.ImpactNone),
		plan.Changed("boot", strings.TrimSpace(have.Boot), strings.TrimSpace(s.Boot), plan.ImpactNone)...)
}

func (s *Sysctl) Steps(have *Sysctl) []remote.Step {
	var steps []remote.Step
	if s.Value != have.Value && s.Value != "" {
		steps = append(steps, host.Run("sysctl", "-q", "-w", s.Key+"="+s.Value))
	}
	if s.Boot != have.Boot {
		steps = append(steps, put.Back(s.file(), 0o644, s.Boot))
	}
	return steps
}

func (s *Sysctl) Advice(reply string) string {
	switch {
	case reply == "":
		return "the kernel keeps another value than it was given: it may be rounded, or bounded by another parameter"
	case strings.Contains(reply, "Invalid argument"):
		return "the kernel does not take that value for " + s.Key
	case strings.Contains(reply, "Read-only file system"), strings.Contains(reply, "permission denied"):
		return "in a container this parameter is set on its host"
	}
	return ""
}
