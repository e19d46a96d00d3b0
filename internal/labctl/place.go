//go:build unix

package labctl

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Names of files in the folder of a lab.
const (
	stateName  = "lab.json"
	configName = "ssh_config"
)

// A Place is the folder of a lab, .weft/lab.
type Place struct {
	dir  string
	lock **os.File
}

// At is the place of the lab of a directory.
func At(dir string) Place {
	return Place{filepath.Join(dir, ".weft", "lab"), new(*os.File)}
}

// Dir is the folder.
func (p Place) Dir() string { return p.dir }

// File is the path of a file in the folder.
func (p Place) File(name string) string { return filepath.Join(p.dir, name) }

// Root is the folder with the file system of a simulated server.
func (p Place) Root(host string) string { return filepath.Join(p.dir, "servers", host) }

// CreateLog creates the log of a lab that runs in the background, and replaces the last one.
func CreateLog(dir string) (*os.File, error) {
	p := At(dir)
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the lab: %w", err)
	}
	return os.OpenFile(p.File("lab.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// errLocked reports that another process has locked the lab's folder.
var errLocked = errors.New("a lab is being started or stopped in this directory")

// Lock locks the folder for this process.
func (p Place) Lock() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("folder of the lab: %w", err)
	}
	f, err := os.OpenFile(p.File("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("folder of the lab: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errLocked
		}
		return fmt.Errorf("folder of the lab: locking %s: %w", f.Name(), err)
	}
	*p.lock = f
	return nil
}

// Unlock unlocks the folder, if this process has locked it.
func (p Place) Unlock() error {
	if *p.lock == nil {
		return nil
	}
	return (*p.lock).Close()
}

// EndAgents ends the agents that a crashed lab left running.
func (p Place) EndAgents() {
	roots, err := os.ReadDir(p.File("servers"))
	if err != nil {
		return // there are none
	}
	for _, r := range roots {
		EndTarget(p.Root(r.Name()))
	}
}

// Clean removes the files of a lab. The output of services stays until the next lab starts.
func (p Place) Clean() error {
	var errs []error
	for _, name := range []string{stateName, configName, "known_hosts", "key", "servers"} {
		errs = append(errs, os.RemoveAll(p.File(name)))
	}
	return errors.Join(errs...)
}

// read reads the state; nil: there is none.
func (p Place) read() (*State, error) {
	data, err := os.ReadFile(p.File(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of the lab: %w", err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s is not the state of a lab: %w", p.File(stateName), err)
	}
	return &s, nil
}
