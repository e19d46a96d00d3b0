//go:build unix

package simserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// modprobe is a part of kmod's: modprobe [-r] NAME.
func modprobe(x *call) int {
	opts, args, ok := x.options("rq", long{"remove": 'r', "quiet": 'q'})
	if !ok || len(args) != 1 {
		return x.notSimulated(1)
	}
	if !x.user.root {
		return x.errorf("ERROR: could not insert '%s': Operation not permitted", args[0])
	}
	if !opts.has('r') {
		if err := x.server.loadModule(args[0]); err != nil {
			return x.errorf("%v", err)
		}
		return 0
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	folder := strings.ReplaceAll(args[0], "-", "_")
	switch _, known := modulesOfKernel()[folder]; {
	case builtinModules()[folder] != nil:
		return x.errorf("FATAL: Module %s is builtin.", folder)
	case !known:
		return x.errorf("FATAL: Module %s not found.", args[0])
	case len(s.holders(folder)) > 0:
		return x.errorf("FATAL: Module %s is in use.", folder)
	}
	delete(s.software.modules, folder) // one that is not loaded is no error
	return 0
}

// holders are the loaded modules that use another: nvmet_tcp uses nvmet. The
// caller holds s.mu.
func (s *Server) holders(folder string) []string {
	var list []string
	if folder == "nvmet" && len(s.nvmet.hosts)+len(s.nvmet.subsystems)+len(s.nvmet.ports) > 0 {
		list = append(list, "configfs") // which lsmod counts and does not name
	}
	for other := range s.software.modules {
		if strings.HasPrefix(other, folder+"_") {
			list = append(list, other)
		}
	}
	slices.Sort(list)
	return list
}

// rmmod is a part of kmod's: rmmod NAME.
func rmmod(x *call) int {
	_, args, ok := x.options("", nil)
	if !ok || len(args) != 1 {
		return x.notSimulated(1)
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	folder := strings.ReplaceAll(args[0], "-", "_")
	holders := s.holders(folder)
	switch {
	case !x.user.root:
		return x.errorf("ERROR: could not remove '%s': Operation not permitted", args[0])
	case builtinModules()[folder] != nil:
		return x.errorf("ERROR: Module %s is builtin.", folder)
	case s.software.modules[folder] == nil:
		return x.errorf("ERROR: Module %s is not currently loaded", folder)
	case len(holders) > 0:
		return x.errorf("ERROR: Module %s is in use by: %s", folder, strings.Join(holders, " "))
	}
	delete(s.software.modules, folder)
	return 0
}

// lsmod is kmod's. Nothing here has a size.
func lsmod(x *call) int {
	if len(x.args) > 0 {
		return x.notSimulated(1)
	}
	s := x.server
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(x.stdout, "Module                  Size  Used by")
	for _, name := range slices.Sorted(maps.Keys(s.software.modules)) {
		holders := s.holders(name)
		line := fmt.Sprintf("%-19s %8d  %d %s", name, 16384, len(holders), strings.Join(holders, ","))
		fmt.Fprintln(x.stdout, strings.TrimRight(line, " "))
	}
	return 0
}
