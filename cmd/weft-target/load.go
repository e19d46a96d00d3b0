package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/google/uuid"

	"weft/internal/agent"
	"weft/internal/nvme/backend"
	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/psk"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tls13"
	"weft/internal/nvme/wire"
)

// loaded is a configuration that was read and found good.
type loaded struct {
	conf   *agent.Target
	sum    string
	keys   map[string]map[string]target.Keys // by subsystem and host
	tls    map[string]tls13.Key              // by identity
	ids    map[string]uuid.UUID              // by their text
	nguids map[string][16]byte               // by the text of the UUID
}

// load reads a configuration and finds what can be found without changing
// anything: unmapped addresses, secrets that are none, and devices or folders
// where files should be.
func load(places agent.Places, path string) (*loaded, error) {
	conf, sum, err := agent.LoadTarget(path)
	if err != nil {
		return nil, err
	}
	l := &loaded{conf: conf, sum: sum, keys: map[string]map[string]target.Keys{}, tls: map[string]tls13.Key{}, ids: map[string]uuid.UUID{}, nguids: map[string][16]byte{}}
	var errs []error
	for _, p := range conf.Portals {
		_, err := places.Address(p.Address)
		errs = append(errs, err)
	}
	for _, s := range conf.Subsystems {
		for _, a := range s.Auth {
			if err := l.key(places, s.NQN, a); err != nil {
				errs = append(errs, fmt.Errorf("subsystem %q: auth of %s: %w", s.NQN, a.Host, err))
			}
		}
		for _, k := range s.TLS {
			if err := l.tlsKey(places, s.NQN, k); err != nil {
				errs = append(errs, fmt.Errorf("subsystem %q: tls of %s: %w", s.NQN, k.Host, err))
			}
		}
		for _, n := range s.Namespaces {
			if err := l.namespace(places, n); err != nil {
				errs = append(errs, fmt.Errorf("subsystem %q namespace %d: %w", s.NQN, n.ID, err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return l, nil
}

func (l *loaded) namespace(places agent.Places, n agent.Namespace) (err error) {
	if l.ids[n.UUID], err = uuid.Parse(n.UUID); err != nil {
		return err
	}
	if l.nguids[n.UUID], err = n.GUID(); err != nil {
		return err
	}
	var errs []error
	if n.Backend == "file" && !agent.IsDevice(n.Path) {
		errs = append(errs, backend.CheckFile(places.Path(n.Path), n.Size))
	}
	for _, p := range n.Mirror {
		if !agent.IsDevice(p) {
			errs = append(errs, backend.CheckFile(places.Path(p), 0)) // a half that does not fit is left out
		}
	}
	return errors.Join(errs...)
}

// devices finds what of the devices that are to be served would be refused. Those
// that are served already stay so, whatever has become of them: a reload does not
// ask.
func (l *loaded) devices(places agent.Places) error {
	var errs []error
	for _, s := range l.conf.Subsystems {
		for _, n := range s.Namespaces {
			if n.Backend != "device" {
				continue
			}
			if err := device(places, n); err != nil {
				errs = append(errs, fmt.Errorf("subsystem %q namespace %d: %w", s.NQN, n.ID, err))
			}
		}
	}
	return errors.Join(errs...)
}

func device(places agent.Places, n agent.Namespace) error {
	path := places.Path(n.Path)
	if places.Root == "" {
		return backend.CheckDevice(path, n.Size, n.BlockSize)
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("device backend, which a file stands for below --root: %w", err)
	}
	return backend.CheckFile(path, n.Size)
}

// key reads the secrets of one host.
func (l *loaded) key(places agent.Places, nqn string, a agent.Auth) (err error) {
	var k target.Keys
	if k.Host, err = secret(places, a.Key, a.KeyFile); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if a.SubsystemKey != "" || a.SubsystemKeyFile != "" {
		if k.Sub, err = secret(places, a.SubsystemKey, a.SubsystemKeyFile); err != nil {
			return fmt.Errorf("subsystem_key: %w", err)
		}
	}
	for _, s := range a.Hashes {
		h, err := dhchap.ParseHash(s)
		if err != nil {
			return err
		}
		k.Hashes = append(k.Hashes, h)
	}
	for _, s := range a.DHGroups {
		g, err := dhchap.ParseGroup(s)
		if err != nil {
			return err
		}
		k.Groups = append(k.Groups, g)
	}
	if l.keys[nqn] == nil {
		l.keys[nqn] = map[string]target.Keys{}
	}
	l.keys[nqn][a.Host] = k
	return nil
}

func secret(places agent.Places, text, file string) (dhchap.Secret, error) {
	text, err := written(places, text, file)
	if err != nil {
		return dhchap.Secret{}, err
	}
	return dhchap.ParseSecret(text)
}

// written is a text that may be in a file.
func written(places agent.Places, text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	b, err := os.ReadFile(places.Path(file))
	return string(b), err // names the path
}

// tlsKey reads the key of one host, and makes of it what the host may go by, with the
// subsystem and with discovery. The identities of version 0 are those of older hosts;
// they do not tell keys apart, so a host with keys for several subsystems has the first
// for discovery.
func (l *loaded) tlsKey(places agent.Places, nqn string, t agent.TLS) error {
	text, err := written(places, t.Key, t.KeyFile)
	if err != nil {
		return err
	}
	key, err := psk.Parse(text)
	if err != nil {
		return err
	}
	for _, sub := range []string{nqn, agent.DiscoveryNQN} {
		for _, v := range []psk.Version{psk.One, psk.Zero} {
			k, err := key.TLS(v, t.Host, sub)
			if err != nil && v == psk.Zero {
				continue // names too long for old hosts
			}
			if err != nil {
				return err
			}
			if _, has := l.tls[k.Identity]; !has {
				l.tls[k.Identity] = k
			}
		}
	}
	return nil
}

// configuration is what the target is to serve, with backends that are open.
func (l *loaded) configuration(open stores) target.Config {
	var c target.Config
	for _, p := range l.conf.Portals {
		c.Portals = append(c.Portals, target.Portal{Transport: p.Transport, Address: p.Address, TLS: p.TLS})
	}
	for _, a := range l.conf.Access {
		c.Access = append(c.Access, target.Access{Portal: a.Portal, Group: a.Group, State: state(a.State)})
	}
	for _, s := range l.conf.Subsystems {
		sub := target.Subsystem{NQN: s.NQN, Serial: s.Serial, AllowHosts: s.AllowHosts, Portals: s.Portals, Keys: l.keys[s.NQN]}
		for _, n := range s.Namespaces {
			sub.Namespaces = append(sub.Namespaces, target.Namespace{
				ID: n.ID, UUID: l.ids[n.UUID], NGUID: l.nguids[n.UUID], Backend: open[sourceOf(n)], Group: n.ANAGroup, ReadOnly: n.ReadOnly,
				Limits: target.Limits{IOPS: n.IOPS, Bandwidth: n.Bandwidth},
			})
		}
		c.Subsystems = append(c.Subsystems, sub)
	}
	return c
}

// state is the state of access that agent.AccessStates names.
func state(name string) wire.ANAState {
	states := []wire.ANAState{wire.ANAOptimized, wire.ANANonOptimized, wire.ANAUnreachable, wire.ANALost, wire.ANAChanging}
	return states[slices.IndexFunc(states, func(s wire.ANAState) bool { return s.String() == name })]
}
