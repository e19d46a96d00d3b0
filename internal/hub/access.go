package hub

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"weft/internal/store"
	"weft/internal/store/nats"
)

// Streams are in the server's global account, which only the administrator and this
// process log in to. Each credential has an account of its own, without streams. Its
// service imports lead what the credential may publish to the broker, and requests that
// only read to JetStream. A reply subject, a trace destination or a subscription of its connections resolves in
// its own account only, where nothing is kept.
const (
	// ask begins the subjects at which the broker listens in the global account.
	ask = "HUB"

	// tap begins the subjects at which the broker sees what clients publish in their
	// accounts: with the reply subject that they gave, which no import has.
	tap = "HUBTAP"
)

const nextAPI = "$JS.API.CONSUMER.MSG.NEXT."

// direct are requests that change nothing. Their answers may be long, or many, so that
// the server delivers them to the tenant's account without the broker.
var direct = map[string]server.ServiceRespType{
	"$JS.API.STREAM.INFO.":    server.Singleton,
	"$JS.API.STREAM.MSG.GET.": server.Singleton,
	nextAPI:                   server.Streamed,
}

// access decides who is let in to the server, and to which account.
type access struct {
	admin string // public key
	note  func(string)
	s     *server.Server
	front *front   // nil: no other process reaches the server
	names sync.Map // of members by public key
	each  int      // requests a second of a credential; 0: as this release says

	mu      sync.RWMutex
	tenants map[string]*tenant // by public key
	broker  *broker
	made    int // accounts
}

// A tenant is a member as the server knows it.
type tenant struct {
	Member
	account *server.Account
	perms   *server.Permissions
	subs    []*client.Subscription // of the broker
	held    consumers
	rate    *rate
}

// most is how many connections to one server a credential may have, and how many
// consumers (lists and watches in progress).
const most = 256

func newAccess(admin string, note func(string)) *access {
	return &access{admin: admin, note: note, tenants: map[string]*tenant{}}
}

// attach makes the global account's exports, before the server starts.
func (a *access) attach(s *server.Server) error {
	a.s = s
	for subject, answers := range direct {
		if err := s.GlobalAccount().AddServiceExportWithResponse(subject+">", answers, nil); err != nil {
			return err
		}
	}
	// A pull is answered at least every 15 seconds while it waits: what the server keeps of
	// it is dropped soon after.
	if err := s.GlobalAccount().SetServiceExportResponseThreshold(nextAPI+">", 45*time.Second); err != nil {
		return err
	}
	return s.GlobalAccount().AddServiceExport(ask+".>", nil)
}

// name is that of whom a public key belongs to. It takes no lock that admit has: the
// server logs while credentials are taken up.
func (a *access) name(key string) string {
	if key == a.admin {
		return "the administrator"
	}
	if who, ok := a.names.Load(key); ok {
		return who.(string)
	}
	return "unknown key " + key
}

func (m *Member) who() string { return fmt.Sprintf("%s, %s of %s", m.Name, m.Kind, m.Owner) }

// Check lets in a client that signed the nonce with a key that the hub knows.
func (a *access) Check(c server.ClientAuthentication) bool {
	o := c.GetOpts()
	as, ok := c.(interface {
		RegisterNkeyUser(*server.NkeyUser) error
	})
	if !ok || !signed(o.Nkey, o.Sig, c.GetNonce()) {
		return false
	}
	// The lock is kept until the client is in its account, where drop finds it.
	a.mu.RLock()
	defer a.mu.RUnlock()
	user := &server.NkeyUser{Nkey: o.Nkey, Account: a.s.GlobalAccount()}
	if o.Nkey != a.admin {
		t := a.tenants[o.Nkey]
		if t == nil {
			return false
		}
		if t.account.NumLocalConnections() >= most {
			a.note(fmt.Sprintf(refused+"%s: a connection: there are %d already", t.who(), most))
			return false
		}
		user.Account, user.Permissions = t.account, t.perms
	}
	if as.RegisterNkeyUser(user) != nil {
		return false
	}
	return c.RemoteAddress() == nil || c.RemoteAddress().Network() == "pipe" || a.front != nil && a.front.loggedIn(c.RemoteAddress())
}

func signed(key, sig string, nonce []byte) bool {
	text, err := base64.RawURLEncoding.DecodeString(sig)
	if err != nil {
		text, err = base64.StdEncoding.DecodeString(sig)
	}
	if err != nil || len(nonce) == 0 {
		return false
	}
	pub, err := nkeys.FromPublicKey(key)
	return err == nil && pub.Verify(nonce, text) == nil
}

// admit lets in the members that it is given, and ends connections of all others.
func (a *access) admit(members []Member) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := map[string]*tenant{}
	for _, m := range members {
		t := a.tenants[m.Key]
		if t == nil || t.Member != m {
			var err error
			if t, err = a.enter(m); err != nil {
				return fmt.Errorf("the server does not take the credential of %s: %w", m.Name, err)
			}
		}
		now[m.Key] = t
	}
	for key, t := range a.tenants {
		if now[key] != t {
			a.drop(t)
		}
	}
	a.tenants = now
	return nil
}

// enter makes a member's account, whose imports are the subjects that it may publish.
func (a *access) enter(m Member) (*tenant, error) {
	a.made++
	a.names.Store(m.Key, m.who())
	account, err := a.s.RegisterAccount(fmt.Sprintf("CREDENTIAL-%s-%d", m.Key, a.made))
	if err != nil {
		return nil, err
	}
	t := &tenant{Member: m, account: account, perms: m.permissions(), rate: newRate(a.each)}
	for _, subject := range t.perms.Publish.Allow {
		to := a.begin(ask, m.Key) + numbered(subject)
		for begin := range direct {
			if strings.HasPrefix(subject, begin) {
				to = subject
			}
		}
		if err := account.AddServiceImport(a.s.GlobalAccount(), subject, to); err != nil {
			return nil, err
		}
	}
	for _, subject := range []string{"$KV.>", "$JS.>", "WEFT.>"} {
		if err := account.AddStreamExport(subject, nil); err != nil {
			return nil, err
		}
		if err := a.s.GlobalAccount().AddStreamImport(account, subject, strings.TrimSuffix(a.begin(tap, m.Key), ".")); err != nil {
			return nil, err
		}
	}
	return t, a.broker.serve(t)
}

// begin begins the subjects of a tenant's requests to the broker of this server. Those of
// other servers do not get them: a queue would give them to any.
func (a *access) begin(what, key string) string { return what + "." + a.s.Name() + "." + key + "." }

// numbered replaces the wildcards of a subject by their numbers, as transforms have them.
func numbered(subject string) string {
	parts, n := strings.Split(subject, "."), 0
	for i, p := range parts {
		if p == "*" {
			n++
			parts[i] = fmt.Sprintf("$%d", n)
		}
	}
	return strings.Join(parts, ".")
}

// drop ends what a tenant has. Its account stays, empty, until the server stops.
func (a *access) drop(t *tenant) {
	for _, sub := range t.subs {
		_ = sub.Unsubscribe() // or its connection is closed
	}
	a.disconnect(t)
}

// disconnect closes a tenant's connections.
func (a *access) disconnect(t *tenant) {
	for range 2 * most {
		list, err := a.s.Connz(&server.ConnzOptions{Account: t.account.GetName(), Limit: 2 * most})
		if err != nil || len(list.Conns) == 0 {
			return
		}
		for _, c := range list.Conns {
			_ = a.s.DisconnectClientByID(c.Cid) // or it has gone
		}
	}
}

// open lets in the members that the server knew last, and whom the broker serves. The
// server has started: with accounts before, it would look for streams in each of them, and
// in the global account no more.
func (a *access) open(b *broker, known []Member) error {
	a.broker = b
	return a.admit(known)
}

// permissions are what the server lets a member publish and subscribe to.
func (m *Member) permissions() *server.Permissions {
	var folders []string
	if m.Kind == Worker {
		folders = []string{"site/" + store.Segment(m.Site), "record/*/site/" + store.Segment(m.Site)}
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: nats.Subjects(store.Segment(m.Owner), folders)},
		Subscribe: &server.SubjectPermission{Allow: []string{nats.Inbox(m.Key) + ".>"}},
	}
}
