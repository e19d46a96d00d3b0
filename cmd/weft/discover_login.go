package main

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"weft/internal/discover"
	"weft/internal/hint"
	"weft/internal/run"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/language"
	"weft/modules"
	"weft/modules/host"
	"weft/modules/vcenter"
	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// What --user may name beside the systems of servers.
const (
	allSwitches = "switch"
	allVCenters = "vcenter"
)

// users are the values of --user: NAME for all servers, or SYSTEM=NAME.
type users []string

var _ pflag.Value = (*users)(nil)

// Set adds one.
func (u *users) Set(text string) error {
	*u = append(*u, text)
	return nil
}

func (u *users) String() string { return strings.Join(*u, ",") }

// Type is what the help calls a value.
func (u *users) Type() string { return "[SYSTEM=]NAME" }

// userSystems are what --user may name.
func userSystems() []string {
	list := []string{modules.HostOS("").Name}
	for _, os := range otherHosts() {
		list = append(list, os.Name)
	}
	return append(list, allSwitches, allVCenters)
}

// into says in a login who is who.
func (u users) into(l *discover.Login) error {
	for _, one := range u {
		system, name, of := strings.Cut(one, "=")
		if !of {
			system, name = "", one
		}
		if err := checkNames("user", language.CheckUser, name); err != nil {
			return err
		}
		switch {
		case !of:
			l.User = name
		case system == allSwitches:
			l.SwitchUser = name
		case system == allVCenters:
			l.VCenterUser = name
		case slices.Contains(userSystems(), system):
			if l.Users == nil {
				l.Users = map[string]string{}
			}
			l.Users[system] = name
		default:
			return usage(hint.Wrap(fmt.Errorf("--user %s: there is no system %q", one, system), "there are %s", strings.Join(userSystems(), ", ")))
		}
	}
	return nil
}

var digest = regexp.MustCompile(`^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$`)

// centers are the vCenters that are named.
func (f *discoverFlags) centers() (list []discover.Center, err error) {
	for _, text := range f.vcenters {
		at, sum, summed := strings.Cut(text, "=")
		c := discover.Center{Host: at, Port: discover.VCenterPort, SHA256: strings.ToLower(strings.ReplaceAll(sum, ":", ""))}
		if host, port, err := net.SplitHostPort(at); err == nil {
			c.Host = host
			if c.Port, err = strconv.Atoi(port); err != nil || c.Port < 1 || c.Port > 65535 {
				return nil, usage(fmt.Errorf("--vcenter %s: %q is no port", text, port))
			}
		}
		if err := checkNames("vcenter", language.CheckHost, c.Host); err != nil {
			return nil, err
		}
		if summed && !digest.MatchString(sum) {
			return nil, usage(hint.Wrap(fmt.Errorf("--vcenter %s: %q is no SHA-256 of a certificate", at, sum), "it has 64 hexadecimal digits"))
		}
		if !slices.ContainsFunc(list, func(o discover.Center) bool { return o.String() == c.String() }) {
			list = append(list, c)
		}
	}
	return list, nil
}

// logins are how devices are reached that no file names.
type logins struct {
	model   *inventory.Model // with no devices: the connection, and the credential of switches
	vcenter *inventory.Credential
	servers map[string]*inventory.Credential // of servers that the files in --chdir have, by host
}

// name says of machines whom the files in --chdir log in as, where nothing else says it.
func (l *logins) name(machines []discover.Named) {
	for i := range machines {
		if m := &machines[i]; m.User == "" && l.servers[m.Host] != nil {
			m.User, m.Password = l.servers[m.Host].User, l.servers[m.Host].Password != nil
		}
	}
}

// of is the credential of a server for a user; nil: it has none, and everybody's connection does.
func (l *logins) of(host, user string) *inventory.Credential {
	switch c := l.servers[host]; {
	case c != nil && c.User == user:
		return c
	case user != "":
		return &inventory.Credential{User: user}
	}
	return nil
}

// logins takes what the files in --chdir say, and what the flags say before that.
func (di *discoverer) logins(f *discoverFlags, base *inventory.Model) (*logins, error) {
	have, err := filepath.Glob(filepath.Join(di.opts.dir, "*.weft.hcl"))
	if err != nil {
		return nil, err
	}
	m := &inventory.Model{}
	if base != nil {
		m = base
	} else if len(have) > 0 {
		if m, err = di.project.load(); err != nil {
			return nil, hint.Wrap(err, "discover reads logins from the files in --chdir: correct them, or use an empty directory")
		}
	}
	c := *m.DefaultConnection()
	if c.Addr == "" { // the files have none
		c.Addr, c.Become = "connection.default", f.login.Become
	}
	c.User = cmp.Or(f.login.User, c.User)
	f.login.User, f.login.Become, f.login.Port = c.User, c.Become, c.Port
	f.login.ConnectWait, f.login.CommandMax = c.ConnectTimeout, c.CommandTimeout
	l := &logins{model: &inventory.Model{Connections: []*inventory.Connection{&c}}, servers: map[string]*inventory.Credential{}}
	for _, s := range m.Servers {
		if s.Credential != nil {
			l.servers[s.Host] = s.Credential
		}
	}
	onSwitches := byVariable(cmp.Or(f.login.SwitchUser, f.login.User), discover.SwitchPassword)
	if was := credentialOf(m); was != nil {
		onSwitches.User, onSwitches.Password = cmp.Or(f.login.SwitchUser, was.User), was.Password
	}
	f.login.SwitchUser = onSwitches.User
	l.model.Credentials = []*inventory.Credential{onSwitches}
	l.vcenter = byVariable(f.login.VCenterUser, discover.VCenterPassword)
	for _, v := range m.VCenters {
		if v.Credential != nil {
			l.vcenter = &inventory.Credential{User: cmp.Or(f.login.VCenterUser, v.Credential.User), Password: v.Credential.Password}
			break
		}
	}
	f.login.VCenterUser = l.vcenter.User
	if di.opts.lab && l.vcenter.Password == nil {
		l.vcenter.Password = inventory.NewSecret("the lab", func() (string, error) { return labPassword, nil })
	}
	return l, nil
}

// credentialOf is the one of switches that files have; nil: they have none.
func credentialOf(m *inventory.Model) *inventory.Credential {
	for _, s := range m.Switches {
		if s.Credential != nil {
			return s.Credential
		}
	}
	if len(m.Credentials) > 0 {
		return m.Credentials[0]
	}
	return nil
}

// byVariable is a login with the password in a variable of the environment, where it is set.
func byVariable(user, variable string) *inventory.Credential {
	c := &inventory.Credential{User: user}
	if os.Getenv(variable) != "" {
		c.Password = inventory.NewSecret(variable, func() (string, error) { return os.Getenv(variable), nil })
	}
	return c
}

// give has the devices of a model logged in to as this run has done it.
func (l *logins) give(m *inventory.Model) {
	for _, s := range m.Switches {
		if s.Credential != nil {
			s.Credential.User, s.Credential.Password = l.model.Credentials[0].User, l.model.Credentials[0].Password
		}
	}
	for _, s := range m.Servers {
		if was := l.servers[s.Host]; s.Credential != nil && was != nil && was.User == s.Credential.User {
			s.Credential.Password = was.Password
		}
	}
	for _, v := range m.VCenters {
		if v.Credential != nil {
			v.Credential.User, v.Credential.Password = l.vcenter.User, l.vcenter.Password
		}
	}
	for _, c := range m.Connections {
		mine := c.Block
		*c = *l.model.Connections[0]
		c.Block = mine
	}
	if len(m.Connections) == 0 {
		m.Connections = l.model.Connections
	}
}

// undeclared is how devices are read that no file names.
func (di *discoverer) undeclared(access run.Access, login discover.Login, l *logins) *discover.Reach {
	at := access.Of(l.model)
	most := l.model.DefaultConnection().CommandTimeout
	return &discover.Reach{
		Terminal: func(host string) switches.Dial {
			return at.Terminal(&inventory.Switch{Host: host, Credential: l.model.Credentials[0]})
		},
		Server: func(m discover.Named, os *host.OS, user string) host.DialHost {
			return at.Host(&inventory.Server{Host: m.Host, OS: os.Name, Credential: l.of(m.Host, user)})
		},
		VCenter: func(c discover.Center) vcenter.Login {
			in := at.VCenter(&inventory.VCenter{Block: inventory.Block{Addr: c.Host}, Host: c.Host, Port: c.Port, SHA256: c.SHA256, Credential: l.vcenter})
			if l.vcenter.Password == nil {
				in.Password = func() (string, error) {
					return "", hint.Wrap(fmt.Errorf("there is no password for %s", l.vcenter.User), "set %s", discover.VCenterPassword)
				}
			}
			return in
		},
		OtherOS: otherHosts(), Login: login,
		Systems: systems.All(), HostOS: modules.HostOS(""), Parallelism: di.opts.parallelism,
		Timeout: most, Patience: most,
		Say: func(host, text string) {
			di.out.emit(plan.Event{Type: plan.EventRead, Device: host, Message: host + " " + text})
		},
	}
}

// otherHosts are the host systems that weft manages beside the usual one.
func otherHosts() (list []*host.OS) {
	managed, _ := catalogue.HostSystems()
	for _, o := range managed {
		if os := modules.HostOS(o.ID); os != nil && os.Name != modules.HostOS("").Name {
			list = append(list, os)
		}
	}
	return list
}
