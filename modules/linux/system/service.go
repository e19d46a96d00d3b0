package system

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// Service keeps one unit of systemd enabled or not, and running or not.
type Service struct {
	Unit    string // with its suffix: chrony.service
	Enabled bool   // starts at boot
	Running bool

	Later  bool `json:",omitempty"` // it may come with something that is applied before
	Coming bool `json:",omitempty"` // observed: it is not there yet, and what it comes with may start it
}

// ServiceKind is the kind service.
func ServiceKind() *host.Kind[Service] {
	return &host.Kind[Service]{
		Name: "service", Lasting: true,
		Blocks: serviceBlocks, Writes: serviceWritten,
		Looks: (*Service).Looks, Parse: (*Service).Parse, Diff: (*Service).Diff, Steps: (*Service).Steps,
		Advice: (*Service).Advice, Why: (*Service).Why,
	}
}

func serviceWritten(_ string, s *Service) (label string, set []host.Setting, err error) {
	if !s.Enabled {
		set = append(set, host.Set("enabled", false))
	}
	if !s.Running {
		set = append(set, host.Set("running", false))
	}
	return strings.TrimSuffix(s.Unit, ".service"), set, nil
}

func serviceBlocks(s *inventory.Server) (list []host.Block[Service]) {
	for _, b := range s.Services {
		w := newService(b.Name, b.Enabled, b.Running)
		w.Later = len(s.Packages)+len(s.FileBlocks)+len(s.Commands) > 0
		list = append(list, host.Block[Service]{Block: &b.Block, Name: w.Unit, Also: strings.TrimSuffix(w.Unit, ".service"), Want: w})
	}
	return list
}

func newService(name string, enabled, running bool) *Service {
	if !strings.Contains(name, ".") {
		name += ".service"
	}
	return &Service{Unit: name, Enabled: enabled, Running: running}
}

func (s *Service) look() remote.Look {
	return remote.Look{Args: []string{"systemctl", "show", "-p", "LoadState,ActiveState,SubState,UnitFileState", s.Unit}}
}

func (s *Service) Looks() []remote.Look { return []remote.Look{see.SystemdLook(), s.look()} }

func (s *Service) Parse(seen remote.Seen) (*Service, error) {
	if err := see.Systemd(seen); err != nil {
		return nil, err
	}
	out, err := see.Output(seen, s.look())
	if err != nil {
		return nil, err
	}
	is := map[string]string{}
	for line := range strings.Lines(string(out)) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
		is[k] = v
	}
	have := &Service{Unit: s.Unit}
	switch is["ActiveState"] {
	case "active", "reloading", "activating", "refreshing":
		have.Running = is["SubState"] != "auto-restart" // it keeps failing
	}
	switch is["UnitFileState"] {
	case "enabled", "enabled-runtime":
		have.Enabled = true
	case "static", "alias", "indirect", "generated", "transient":
		if s.Enabled { // something else starts it
			have.Enabled = true
		}
	}
	switch load := is["LoadState"]; {
	case load == "not-found" && s.Later:
		have.Coming = true
		return have, nil
	case load == "not-found":
		return nil, hint.Wrap(fmt.Errorf("there is no unit %s", s.Unit), "list them with: systemctl list-unit-files")
	case load == "masked" && (s.Enabled || s.Running):
		return nil, hint.Wrap(fmt.Errorf("%s is masked, so it cannot be started", s.Unit), "if that was not on purpose: systemctl unmask %s", s.Unit)
	case load == "bad-setting" || load == "error":
		return nil, hint.Wrap(fmt.Errorf("systemd cannot load %s: %s", s.Unit, load), "see: systemctl status %s", s.Unit)
	}
	return have, nil
}

func (s *Service) Diff(have *Service) []plan.Change {
	if s.comes(have) {
		return append(plan.Changed("enabled", plan.Unknown, fmt.Sprint(s.Enabled), plan.ImpactNone),
			plan.Changed("running", plan.Unknown, fmt.Sprint(s.Running), plan.ImpactNone)...)
	}
	impact := plan.ImpactNone
	if have.Running && !s.Running {
		impact = plan.ImpactTraffic // whatever it served
	}
	return append(plan.Changed("enabled", have.Enabled, s.Enabled, plan.ImpactNone),
		plan.Changed("running", have.Running, s.Running, impact)...)
}

// comes says whether the unit is to appear between the look and the step.
func (s *Service) comes(have *Service) bool { return have.Coming && !s.Coming }

func (s *Service) Steps(have *Service) []remote.Step {
	var steps []remote.Step
	verb := func(now, wanted bool, on, off string) {
		switch {
		case wanted && (!now || s.comes(have)):
			steps = append(steps, host.Run("systemctl", on, s.Unit))
		case !wanted && (now || s.comes(have)):
			steps = append(steps, host.Run("systemctl", off, s.Unit))
		}
	}
	verb(have.Enabled, s.Enabled, "enable", "disable")
	verb(have.Running, s.Running, "start", "stop")
	return steps
}

func (s *Service) Why() []string { return see.StatusOf(s.Unit) }

func (s *Service) Advice(string) string {
	return "more is in its journal: journalctl -u " + s.Unit
}
