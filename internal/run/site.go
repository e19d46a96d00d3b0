package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/bundle"
	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/remote/ssh"
	"weft/inventory"
	"weft/modules"
	"weft/modules/claim"
	"weft/modules/host"
	"weft/modules/vcenter"
	"weft/plan"
	"weft/switches"
)

// An Access is how devices are reached, and in whose name.
type Access struct {
	Dialer      *ssh.Dialer
	Simulated   bool                      // they are those of the lab
	Agents      *bundle.Bundle            // that are installed
	Records     *Records                  // whose runs are one's own; nil: none is
	Version     string                    // of weft, for plans
	Parallelism int                       // devices worked on at once
	Emit        plan.Emit                 // may be nil
	Settle      bool                      // to wait for timed reverts that a dead apply left on switches
	Say         func(device, text string) // while something takes long; may be nil

	// Closed is why no device may be asked; nil: they may.
	Closed error

	// VCenter is where the lab's vCenter of a host name answers, and the SHA-256 of its
	// certificate; an error: the lab has none. nil: no lab is known.
	VCenter func(host string) (at netip.AddrPort, sha256 string, err error)

	// Hollow tells which targets of the lab carry no I/O; nil: nobody knows.
	Hollow func() func(*inventory.Target) string
}

// A Site is a model with its devices within reach.
type Site struct {
	Model  *inventory.Model
	Fleet  *modules.Fleet
	Input  plan.Input
	Adjust func(*ssh.Target) // of servers; may be nil

	access Access
	cables *cableLook // what LLDP told when the plan was made; nil: nobody has asked
}

// Of is a model whose devices are not within reach: only how they would be logged in to
// is known.
func (a Access) Of(m *inventory.Model) *Site { return &Site{Model: m, access: a} }

// Open expands a model and makes its devices dialable. Nothing is dialled. The
// diagnostics are what of the model weft cannot make whatever the devices say.
func (a Access) Open(m *inventory.Model) (*Site, hcl.Diagnostics) {
	s := a.Of(m)
	var mine func(plan.Mark) bool
	var token func() claim.Token
	var stands func(string) string
	if a.Records != nil {
		mine, token, stands = a.Records.Mine, a.Records.token, a.Records.stands
	}
	var diags hcl.Diagnostics
	s.Fleet, diags = modules.Expand(m, modules.Env{Bundle: a.Agents, Holder: Holder(), Mine: mine, Token: token, Stands: stands, Host: s.dial, Terminal: s.terminal, VCenter: s.vcenter,
		Settle: a.Settle, Say: a.Say})
	s.Input = plan.Input{
		Owner: m.Name, Simulated: a.Simulated, Version: a.Version, Items: s.Fleet.Items, Devices: s.Fleet.Engine(),
		Notes: append(s.Fleet.Notes, prove.Notes(m)...), Inputs: m.Inputs, Sources: map[string]string{},
		Roster: s.Fleet.Roster, Moved: s.Fleet.Moved, Removed: s.Fleet.Removed, Recall: s.Fleet.Recall,
		Parallelism: a.Parallelism, Emit: a.Emit, Mine: mine,
	}
	for name, text := range m.Sources {
		s.Input.Sources[name] = string(text)
	}
	return s, diags
}

// Afresh is the site over connections of its own, for looks: what is described and not
// managed yet does not matter to it. Whoever calls closes it.
func (s *Site) Afresh() *Site {
	a := s.access
	if a.Dialer != nil {
		a.Dialer = a.Dialer.Afresh()
	}
	q, _ := a.Open(s.Model)
	q.Adjust, q.Input.Emit = s.Adjust, nil
	return q
}

// Close ends every login.
func (s *Site) Close() error {
	if s.Fleet == nil {
		return nil
	}
	return s.Fleet.Close()
}

// host says how to log in to a server.
func (s *Site) dial(server *inventory.Server) host.DialHost {
	return func(ctx context.Context, fresh bool) (remote.Host, func() error, error) {
		if s.access.Closed != nil {
			return nil, nil, s.access.Closed
		}
		dial := s.access.Dialer.Dial
		if fresh {
			dial = s.access.Dialer.DialNew
		}
		t := s.OfServer(server)
		if s.Adjust != nil {
			s.Adjust(&t)
		}
		c, err := dial(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
}

// OfServer says how a server of the files is logged in to: with its credential, and
// without sudo where its system has none.
func (s *Site) OfServer(server *inventory.Server) ssh.Target {
	t := logIn(s.Target(server.Host, server.Connection), server.Credential)
	if os := modules.HostOS(server.OS); os != nil && !os.Sudo {
		t.Become = ""
	}
	return t
}

// vcenter says how to log in to a vCenter.
func (s *Site) vcenter(v *inventory.VCenter) vcenter.Login {
	l := vcenter.Login{Host: v.Host, Port: v.Port, SHA256: v.SHA256, Refused: s.access.Closed}
	if s.access.Simulated && l.Refused == nil {
		s.simulated(&l, v)
	}
	if c := v.Credential; c != nil {
		l.User, l.From = c.User, madeFrom(c)
		if l.Password = func() (string, error) { return "", fmt.Errorf("%s has no password, and vCenter takes no keys", c.Addr) }; c.Password != nil {
			l.Password = c.Password.Read
		}
	}
	return l
}

// madeFrom says where a login is declared, and how its secret is read.
func madeFrom(c *inventory.Credential) string {
	if c.Range.Filename == "" {
		return c.Addr
	}
	at := fmt.Sprintf("%s:%d", c.Range.Filename, c.At("user").Start.Line)
	if c.Password != nil {
		at = fmt.Sprintf("%s:%d, %s", c.Range.Filename, c.At("password").Start.Line, c.Password.From)
	}
	return fmt.Sprintf("%s (%s)", c.Addr, at)
}

// simulated has a login lead to the vCenter of the lab, and nowhere else.
func (s *Site) simulated(l *vcenter.Login, v *inventory.VCenter) {
	if s.access.VCenter == nil {
		l.Refused = errors.New("no lab is known that has a vCenter")
		return
	}
	at, sum, err := s.access.VCenter(v.Host)
	if err != nil {
		l.Refused = hint.Wrap(err, "leave %s out with --exclude, or plan without --lab", v.Addr)
		return
	}
	l.Host, l.Port, l.SHA256, l.Settle = at.Addr().String(), int(at.Port()), sum, simulatedSettle
}

// simulatedSettle is enough for hosts that change at once.
const simulatedSettle = 5 * time.Second

// logIn is a target that is logged in to with a credential; nil: with a key.
func logIn(t ssh.Target, c *inventory.Credential) ssh.Target {
	if c == nil {
		return t
	}
	t.User = c.User
	if c.Password != nil {
		t.Password = c.Password.Read
	}
	return t
}

// terminal says how to log in to a switch, afresh each time.
func (s *Site) terminal(sw *inventory.Switch) switches.Dial {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		if s.access.Closed != nil {
			return nil, s.access.Closed
		}
		t := logIn(s.Target(sw.Host, sw.Connection), sw.Credential)
		t.Become = ""
		c, err := s.access.Dialer.DialNew(ctx, t)
		if err != nil {
			return nil, err
		}
		term, err := c.Terminal(ctx, 511, 1000)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return login{term, c}, nil
	}
}

// A login is a terminal that ends its connection with itself.
type login struct {
	io.ReadWriteCloser
	client io.Closer
}

func (l login) Close() error { return errors.Join(l.ReadWriteCloser.Close(), l.client.Close()) }

// Host says how to log in to a server that need not be one of the model's.
func (s *Site) Host(server *inventory.Server) host.DialHost { return s.dial(server) }

// Terminal says how to log in to a switch that need not be one of the model's.
func (s *Site) Terminal(sw *inventory.Switch) switches.Dial { return s.terminal(sw) }

// VCenter says how to log in to a vCenter that need not be one of the model's.
func (s *Site) VCenter(v *inventory.VCenter) vcenter.Login { return s.vcenter(v) }

// Target says how a host of the files is logged in to; a nil connection is the
// default.
func (s *Site) Target(host string, c *inventory.Connection) ssh.Target {
	if c == nil {
		c = s.Model.DefaultConnection()
	}
	t := ssh.Target{
		Name: host, User: c.User, Port: c.Port, Become: c.Become,
		ConnectTimeout: c.ConnectTimeout, CommandTimeout: c.CommandTimeout,
	}
	if s.access.Simulated {
		t.Port = 0 // the lab's ports are its own
	}
	return t
}
