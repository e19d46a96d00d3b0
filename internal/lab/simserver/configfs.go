//go:build unix

package simserver

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// attribute is an open rendered file that is written to. As in sysfs, what one
// write holds is one value.
type attribute struct {
	set  func(value string) error
	info nodeInfo
}

func (a *attribute) Write(p []byte) (int, error) {
	if err := a.set(strings.TrimSuffix(string(p), "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (a *attribute) WriteAt(p []byte, _ int64) (int, error) { return a.Write(p) }
func (a *attribute) Read([]byte) (int, error)               { return 0, syscall.EBADF }
func (a *attribute) ReadAt([]byte, int64) (int, error)      { return 0, syscall.EBADF }
func (a *attribute) Close() error                           { return nil }
func (a *attribute) Sync() error                            { return nil }
func (a *attribute) Stat() (fs.FileInfo, error)             { return a.info, nil }

// attribute renders a file that takes values.
func (r rendered) attribute(p, value string, mode fs.FileMode, set func(string) error) {
	r[p] = node{mode: mode, content: value + "\n", set: set}
	r.dir(path.Dir(p))
}

// A cmDevice is what the connection manager of the kernel keeps of an RDMA
// device, whether or not it can be seen in configfs.
type cmDevice struct {
	shown bool
	mode  string
	tos   uint8
}

const (
	configDir = "/sys/kernel/config"
	cmDir     = configDir + "/rdma_cm"
)

// cmOf is what is kept of a device; nil: there is no such device. The caller
// does not hold s.mu.
func (s *Server) cmOf(device string) *cmDevice {
	for _, d := range s.rdmaDevices() {
		if d.name != device {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cm[device] == nil {
			s.cm[device] = &cmDevice{mode: "RoCE v2"}
		}
		return s.cm[device]
	}
	return nil
}

// renderConfig shows configfs: of the connection manager the devices whose
// directories were made.
func (s *Server) renderConfig(r rendered) {
	r.dir(configDir)
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.renderNVMeT(r)
	if s.software.modules["rdma_cm"] == nil {
		return
	}
	r.dir(cmDir)
	for name, d := range s.cm {
		if !d.shown {
			continue
		}
		port := cmDir + "/" + name + "/ports/1/"
		r.attribute(port+"default_roce_mode", d.mode, 0o644, s.setCM(name, func(d *cmDevice, value string) error {
			if value != "RoCE v2" && value != "IB/RoCE v1" {
				return syscall.EINVAL
			}
			d.mode = value
			return nil
		}))
		r.attribute(port+"default_roce_tos", strconv.Itoa(int(d.tos)), 0o644, s.setCM(name, func(d *cmDevice, value string) error {
			n, err := strconv.ParseUint(value, 0, 8)
			if err != nil {
				return syscall.EINVAL
			}
			d.tos = uint8(n)
			return nil
		}))
	}
}

func (s *Server) setCM(name string, set func(d *cmDevice, value string) error) func(string) error {
	return func(value string) error {
		d := s.cmOf(name)
		if d == nil {
			return syscall.ENODEV
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return set(d, value)
	}
}

// configMkdir makes a directory in configfs; elsewhere in /sys and /proc there
// are none to make.
func (s *Server) configMkdir(p string) error {
	if _, there := s.render()[p]; there {
		return syscall.EEXIST
	}
	if _, there := s.render()[path.Dir(p)]; !there {
		return syscall.ENOENT
	}
	if isBelow(p, nvmetDir) {
		return s.nvmetMkdir(p)
	}
	if path.Dir(p) != cmDir {
		return syscall.EPERM
	}
	d := s.cmOf(path.Base(p))
	if d == nil {
		return syscall.ENODEV
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	d.shown = true
	return nil
}

func (s *Server) configRmdir(p string) error {
	switch _, there := s.render()[p]; {
	case !there:
		return syscall.ENOENT
	case isBelow(p, nvmetDir):
		return s.nvmetRemove(p)
	case path.Dir(p) != cmDir:
		return syscall.EPERM
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cm[path.Base(p)].shown = false
	return nil
}

// configLink makes a link in configfs; target is the path that it leads to.
func (s *Server) configLink(target, p string) error {
	drawn := s.render()
	if _, there := drawn[p]; there {
		return syscall.EEXIST
	}
	if _, there := drawn[path.Dir(p)]; !there {
		return syscall.ENOENT
	}
	if !isBelow(p, nvmetDir) {
		return syscall.EPERM
	}
	return s.nvmetLink(target, p)
}
