//go:build unix

package simserver

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"weft/internal/slice"
)

// unitDir is where units are.
const unitDir = "/etc/systemd/system"

// A service is what a unit file says, as far as the lab understands it.
type service struct {
	kind     string     // simple, exec, notify or oneshot
	start    [][]string // ExecStart=, each an argument vector
	reload   []string   // ExecReload=
	env      []string
	remain   bool     // RemainAfterExit=
	wantedBy []string // of [Install]
	made     []string // folders that are there while it runs: RuntimeDirectory=, StateDirectory=
}

// parseUnit reads a unit file. What the lab does not know is refused.
func parseUnit(text string) (*service, error) {
	s := &service{kind: "simple"}
	section := ""
	for n, line := range strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "", line[0] == '#', line[0] == ';':
			continue
		case line[0] == '[':
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section == "" {
			return nil, fmt.Errorf("line %d: no assignment in a section: %s", n+1, line)
		}
		if err := s.set(section+"."+strings.TrimSpace(key), strings.TrimSpace(value)); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if len(s.start) == 0 {
		return nil, errors.New("service has no ExecStart=")
	}
	if strings.Contains(text, "\nRuntimeDirectory=") && !strings.Contains(text, "\nRuntimeDirectoryPreserve=") {
		return nil, errors.New("RuntimeDirectory= without RuntimeDirectoryPreserve=: not simulated in the lab")
	}
	if len(s.start) > 1 && s.kind != "oneshot" {
		return nil, errors.New("service has more than one ExecStart= and is not Type=oneshot")
	}
	return s, nil
}

func (s *service) set(key, value string) error {
	switch key {
	case "Service.Type":
		switch value {
		case "simple", "exec", "notify", "oneshot":
			s.kind = value
			return nil
		}
		return fmt.Errorf("service with Type=%s: not simulated in the lab", value)
	case "Service.ExecStart":
		if value == "" {
			s.start = nil // an empty assignment resets the list
			return nil
		}
		args, err := splitExec(value)
		s.start = append(s.start, args)
		return err
	case "Service.ExecReload":
		args, err := splitExec(value)
		s.reload = args
		return err
	case "Service.Environment":
		vars, err := splitWords(value)
		s.env = append(s.env, vars...)
		return err
	case "Service.RemainAfterExit":
		s.remain = value == "yes" || value == "true" || value == "1"
	case "Install.WantedBy":
		s.wantedBy = append(s.wantedBy, strings.Fields(value)...)
	case "Service.RuntimeDirectory", "Service.StateDirectory":
		below := map[string]string{"Service.RuntimeDirectory": "/run", "Service.StateDirectory": "/var/lib"}[key]
		made, err := folders(below, value)
		s.made = append(s.made, made...)
		return err
	default:
		return harmless(key, value)
	}
	return nil
}

// splitExec splits a command line of a unit.
func splitExec(value string) ([]string, error) {
	args, err := splitWords(value)
	if err != nil {
		return nil, err
	}
	if len(args) == 0 || !strings.HasPrefix(args[0], "/") {
		return nil, fmt.Errorf("%q does not start with the absolute path of a command", value)
	}
	return args, nil
}

// splitWords splits at blanks outside of quotes. What systemd would expand is
// refused.
func splitWords(value string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, inside := rune(0), false
	for _, r := range value {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, inside = r, true
		case r == '%' || r == '\\':
			return nil, fmt.Errorf("%q in %q: not simulated in the lab", r, value)
		case quote == 0 && (r == ' ' || r == '\t'):
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("open quote in %q", value)
	}
	if inside {
		words = append(words, word.String())
	}
	return words, nil
}

// A unit is a service as the service manager knows it.
type unit struct {
	name    string
	text    string // of the file that was loaded
	service *service
	broken  error // the file could not be understood
	active  string
	result  string
	status  int // exit status of the last process
	proc    *process
	stopped bool // it was asked for
}

// unitName adds the suffix that systemctl lets people leave out.
func unitName(s string) string {
	if strings.Contains(s, ".") {
		return s
	}
	return s + ".service"
}

// rootView is the file system as the service manager sees it.
func (s *Server) rootView() view { return view{s.tree, user{"root", true}} }

// load finds a unit, from its file where it is not loaded yet; nil: there is
// no such unit. s.mu is not held.
func (s *Server) load(name string) *unit {
	s.mu.Lock()
	u := s.units[name]
	s.mu.Unlock()
	if u != nil {
		return u
	}
	data, err := s.unitFile(name)
	if err != nil {
		return nil
	}
	u = &unit{name: name, text: string(data), active: "inactive", result: "success"}
	u.service, u.broken = parseUnit(u.text)
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.units[name]; other != nil {
		return other
	}
	s.units[name] = u
	return u
}

func (s *Server) unitFile(name string) ([]byte, error) {
	if strings.Contains(name, "/") {
		return nil, fs.ErrNotExist
	}
	return s.rootView().ReadFile(unitDir + "/" + name)
}

// daemonReload reads every loaded unit again.
func (s *Server) daemonReload() {
	s.mu.Lock()
	var loaded []*unit
	for _, u := range s.units {
		loaded = append(loaded, u)
	}
	s.mu.Unlock()
	for _, u := range loaded {
		data, err := s.unitFile(u.name)
		s.mu.Lock()
		switch {
		case err != nil && u.proc == nil:
			delete(s.units, u.name)
		case err == nil:
			u.text = string(data)
			u.service, u.broken = parseUnit(u.text)
		}
		s.mu.Unlock()
	}
}

// stale reports whether the file of a unit is no longer what was loaded.
func (s *Server) stale(u *unit) bool {
	data, err := s.unitFile(u.name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err != nil || string(data) != u.text
}

// wants is the link that makes a target start a unit.
func wants(target, name string) string { return unitDir + "/" + target + ".wants/" + name }

// enabled reports whether a unit starts at boot.
func (s *Server) enabled(u *unit) bool {
	s.mu.Lock()
	svc := u.service
	s.mu.Unlock()
	if svc == nil {
		return false
	}
	for _, target := range svc.wantedBy {
		if _, err := s.rootView().Lstat(wants(target, u.name)); err == nil {
			return true
		}
	}
	return false
}

// enabledUnits are the names of all units that start at boot.
func (s *Server) enabledUnits() []string {
	dirs, err := s.rootView().ReadDir(unitDir)
	if err != nil {
		return nil
	}
	var names []string
	for _, d := range dirs {
		if !d.IsDir() || !strings.HasSuffix(d.Name(), ".wants") {
			continue
		}
		links, err := s.rootView().ReadDir(unitDir + "/" + d.Name())
		if err != nil {
			continue
		}
		names = append(names, slice.Map(links, fs.FileInfo.Name)...)
	}
	return names
}
