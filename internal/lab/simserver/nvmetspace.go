//go:build unix

package simserver

import (
	"strconv"
	"strings"
	"syscall"

	"weft/internal/pattern"
)

var (
	uuidForm  = pattern.New(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	nguidForm = pattern.New(`^([0-9a-fA-F]{2}[-:]?){16}$`)
)

func (s *Server) renderNamespace(r rendered, dir string, ns *nvmetNamespace) {
	shown := ns.path
	if shown == "" {
		shown = "(null)"
	}
	quiet := func(set func(string) error) func(string) error {
		return func(v string) error {
			if ns.enabled {
				return syscall.EBUSY
			}
			return set(v)
		}
	}
	s.nvmetValue(r, dir+"/device_path", shown, quiet(func(v string) error { ns.path = v; return nil }))
	s.nvmetValue(r, dir+"/device_uuid", ns.uuid, quiet(func(v string) error {
		if !uuidForm.MatchString(v) {
			return syscall.EINVAL
		}
		ns.uuid = strings.ToLower(v)
		return nil
	}))
	s.nvmetValue(r, dir+"/device_nguid", ns.nguid, quiet(func(v string) error {
		if !nguidForm.MatchString(v) {
			return syscall.EINVAL
		}
		h := strings.ToLower(strings.NewReplacer("-", "", ":", "").Replace(v))
		ns.nguid = strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
		return nil
	}))
	s.nvmetValue(r, dir+"/ana_grpid", strconv.Itoa(ns.group), func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 128 {
			return syscall.EINVAL
		}
		ns.group = n
		return nil
	})
	r.attribute(dir+"/enable", bit(ns.enabled), 0o644, func(v string) error { return s.enable(ns, v) })
	r.attribute(dir+"/revalidate_size", "", 0o200, func(string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !ns.enabled {
			return syscall.EINVAL
		}
		return nil
	})
}

// enable opens the device of a namespace, or lets it go. As the kernel does,
// it takes a file in place of a device.
func (s *Server) enable(ns *nvmetNamespace, v string) error {
	on, err := strconv.ParseBool(v)
	if err != nil {
		return syscall.EINVAL
	}
	s.mu.RLock()
	device := ns.path
	s.mu.RUnlock()
	if on && device == "" {
		return syscall.EINVAL
	}
	if on {
		if _, err := s.rootView().Stat(device); err != nil {
			return syscall.ENOENT
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ns.enabled = on
	return nil
}
