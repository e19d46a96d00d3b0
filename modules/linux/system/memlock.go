package system

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// Memlock keeps a file that lets RDMA programs of some users lock the memory
// that they register. Services have a limit of their own, which weft's units
// set; the kernel's NVMe knows none.
type Memlock struct {
	Owner string
	Text  string // of the file; "" is none

	bad error // why it cannot be written
}

// MemlockKind is the kind memlock.
func MemlockKind() *host.Kind[Memlock] {
	return &host.Kind[Memlock]{
		Name:  "memlock",
		Looks: (*Memlock).Looks, Parse: (*Memlock).Parse, Diff: (*Memlock).Diff, Steps: (*Memlock).Steps, Absent: host.Nothing[Memlock],
		Check: (*Memlock).unwritable,
	}
}

// newMemlock lifts the limit for root and for the user that weft logs in as,
// where that is declared.
func NewMemlock(owner, user string) *Memlock {
	users := []string{"root"}
	if user != "root" && put.LimitedUser.MatchString(user) {
		users = append(users, user)
	}
	text, err := put.LockedMemory(users)
	return &Memlock{Owner: owner, Text: text, bad: err}
}

func (m *Memlock) unwritable() error { return m.bad }

// file is read, at a login, after most others: of two lines for a user the
// later one counts.
func (m *Memlock) file() string { return "/etc/security/limits.d/99-weft-" + m.Owner + ".conf" }

func (m *Memlock) looks() (limits, pam remote.Look) {
	return remote.Look{File: m.file()}, remote.Look{Args: []string{"test", "-d", "/etc/security"}}
}

func (m *Memlock) Looks() []remote.Look {
	limits, pam := m.looks()
	return []remote.Look{limits, pam}
}

func (m *Memlock) Parse(s remote.Seen) (*Memlock, error) {
	limits, pam := m.looks()
	if s.Of(pam).Err != nil {
		return nil, hint.Wrap(fmt.Errorf("the server has no /etc/security: its logins take no limits from PAM"),
			"the package that brings it is libpam-modules, or pam where packages are rpm")
	}
	got, err := see.File(s, limits)
	if err != nil || got.Absent {
		return nil, err
	}
	return &Memlock{Owner: m.Owner, Text: string(got.Content)}, nil
}

// users are those whose limit a file lifts, as people see it.
func (m *Memlock) users() string {
	var list []string
	for line := range strings.Lines(m.Text) {
		if f := strings.Fields(line); len(f) == 4 && f[0] != "#" && f[2] == "memlock" {
			list = append(list, f[0]+" "+f[3])
		}
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// Diff: logins that are there keep their limits.
func (m *Memlock) Diff(have *Memlock) []plan.Change {
	out := plan.Changed("memlock", have.users(), m.users(), plan.ImpactNone)
	if len(out) == 0 {
		out = put.FileChanges("file", have.Text, m.Text, nil, plan.ImpactNone)
	}
	return out
}

func (m *Memlock) Steps(have *Memlock) []remote.Step {
	if len(m.Diff(have)) == 0 {
		return nil
	}
	if m.Owner == "" {
		m = &Memlock{Owner: have.Owner}
	}
	return []remote.Step{put.Back(m.file(), 0o644, m.Text)}
}
