package page

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A Door lets in who knows a token. Each token is good for one browser, which gets a
// cookie for it; the next one is then told. A token is never in an address: these are
// kept in histories, shown over shoulders, and sent on to others.
type Door struct {
	Hosts  func(host string) bool // names that the page answers to
	Secure bool                   // it is reached by TLS alone
	Cookie string                 // name of the cookie; "": weft
	Token  func(token string)     // is told each token that is good from now on

	cross *http.CrossOriginProtection
	now   func() time.Time

	mu       sync.Mutex
	token    [sha256.Size]byte
	sessions map[[sha256.Size]byte]time.Time // until when, by the sum of the cookie
}

// How long a cookie is good, how many there are, and how much a login may say.
const (
	session     = 12 * time.Hour
	sessions    = 64
	mostOfLogin = 4 << 10 // bytes
)

// Open has a first token be good.
func (d *Door) Open() {
	d.cross, d.now, d.sessions = http.NewCrossOriginProtection(), time.Now, map[[sha256.Size]byte]time.Time{}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.mint()
}

// mint makes the next token. Whoever calls has the lock.
func (d *Door) mint() {
	token := rand.Text()
	d.token = sha256.Sum256([]byte(token))
	d.Token(token)
}

// answers reports whether a request was meant for this page. A name that leads here by
// somebody else's will (DNS rebinding) is none of it.
func (d *Door) answers(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return host != "" && d.Hosts(host)
}

// Loopback reports whether a name is one of this machine alone.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// spend exchanges a token for a cookie; nil: it is not good, or not any more.
func (d *Door) spend(token string) *http.Cookie {
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(sum[:], d.token[:]) != 1 {
		return nil
	}
	d.mint()
	now := d.now()
	for len(d.sessions) >= sessions { // the one that would end first makes room
		first, end := [sha256.Size]byte{}, now.Add(2*session)
		for key, until := range d.sessions {
			if until.Before(end) {
				first, end = key, until
			}
		}
		delete(d.sessions, first)
	}
	value := rand.Text() + rand.Text()
	d.sessions[sha256.Sum256([]byte(value))] = now.Add(session)
	return &http.Cookie{Name: d.name(), Value: value, Path: "/", MaxAge: int(session.Seconds()), HttpOnly: true, Secure: d.Secure, SameSite: http.SameSiteStrictMode}
}

// name is that of the cookie. With TLS browsers see to it that no other host, and
// nobody without TLS, has set it.
func (d *Door) name() string {
	name := cmp.Or(d.Cookie, "weft")
	if d.Secure {
		return "__Host-" + name
	}
	return name
}

// knows reports whether a request comes from a browser that was let in.
func (d *Door) knows(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range r.CookiesNamed(d.name()) {
		if until, ok := d.sessions[sha256.Sum256([]byte(c.Value))]; ok && d.now().Before(until) {
			return true
		}
	}
	return false
}

func (p *Pages) login(w http.ResponseWriter, r *http.Request) {
	if p.door.knows(r) {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	p.ask(w, http.StatusOK, asked{To: within(r.URL.Query().Get("to"))})
}

// enter exchanges the token of a form for a cookie.
func (p *Pages) enter(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostOfLogin)
	if err := r.ParseForm(); err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, "That is no token.")
		return
	}
	cookie := p.door.spend(strings.TrimSpace(r.PostForm.Get("token")))
	if cookie == nil {
		p.ask(w, http.StatusForbidden, asked{"This token is not good, or was used already. Each is good once; the next one stands where weft printed the first.", within(r.PostForm.Get("to"))})
		return
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, within(r.PostForm.Get("to")), http.StatusSeeOther)
}

// asked is what a form for a token says.
type asked struct {
	Why string
	To  string // what was wanted
}

// within is a page of this site, whatever somebody wants.
func within(path string) string {
	if !runPath.MatchString(path) {
		return "/"
	}
	return path
}

var runPath = regexp.MustCompile(`^/run/[a-z0-9_-]+/[A-Za-z0-9.-]+$`)

func (p *Pages) ask(w http.ResponseWriter, code int, form asked) {
	text, err := render("login.html", form)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text))
}
