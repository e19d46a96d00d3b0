package approve

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/require"
	"weft/internal/sshsig"
)

// A person holds a key, and maybe a certificate.
type person struct {
	key  ssh.Signer
	cert *ssh.Certificate
}

func somebody(t *testing.T) person {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return person{key: key}
}

func (p person) line(principals string) string {
	return principals + " " + string(ssh.MarshalAuthorizedKey(p.key.PublicKey()))
}

func (p person) signs(t *testing.T, namespace string, text []byte) Signed {
	t.Helper()
	sig, err := sshsig.Sign(p.key, p.cert, namespace, text)
	if err != nil {
		t.Fatal(err)
	}
	return Signed{Name: "x", Text: text, Signature: sig}
}

func (p person) certified(t *testing.T, by person, principals ...string) person {
	t.Helper()
	p.cert = &ssh.Certificate{Key: p.key.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: principals, ValidBefore: ssh.CertTimeInfinity}
	if err := p.cert.SignCert(rand.Reader, by.key); err != nil {
		t.Fatal(err)
	}
	return p
}

// A person is every name that the list and the certificate have for the key.
func TestOnePerson(t *testing.T) {
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	alice, bob, eve, ca := somebody(t), somebody(t), somebody(t), somebody(t)
	authority := string(ssh.MarshalAuthorizedKey(ca.key.PublicKey()))
	both := func(first, second string) string { return alice.line(first) + alice.line(second) }
	rule := Rule{Not: []string{"author"}}
	two := Rule{Count: 2}
	for name, c := range map[string]struct {
		list string
		rule Rule
		by   []person
		good bool
		why  string
	}{
		"author is the second principal":       {list: "*@x cert-authority " + authority, rule: rule, by: []person{alice.certified(t, ca, "bob@x", "alice@x")}, why: "alice@x wrote it"},
		"author is outside the pattern":        {list: "bob@x cert-authority " + authority, rule: rule, by: []person{alice.certified(t, ca, "bob@x", "alice@x")}, why: "alice@x wrote it"},
		"certified key is the author's":        {list: "*@x cert-authority " + authority + alice.line("alice@x"), rule: rule, by: []person{alice.certified(t, ca, "bob@x")}, why: "alice@x wrote it"},
		"excluded by another principal":        {list: "*@x cert-authority " + authority, rule: Rule{Not: []string{"root@x"}}, by: []person{alice.certified(t, ca, "bob@x", "root@x")}, why: "root@x may not approve it"},
		"two certificates of one key":          {list: "*@x cert-authority " + authority, rule: two, by: []person{alice.certified(t, ca, "bob@x"), alice.certified(t, ca, "carol@x")}, why: "1 of 2"},
		"certificates that share a principal":  {list: "*@x cert-authority " + authority, rule: two, by: []person{alice.certified(t, ca, "a@x", "team@x"), bob.certified(t, ca, "b@x", "team@x")}, why: "1 of 2"},
		"linked through a third":               {list: "*@x cert-authority " + authority, rule: two, by: []person{alice.certified(t, ca, "a@x"), bob.certified(t, ca, "a@x", "b@x"), alice.certified(t, ca, "c@x")}, why: "1 of 2"},
		"certificate and plain key":            {list: "*@x cert-authority " + authority + alice.line("alice@x"), rule: two, by: []person{alice, alice.certified(t, ca, "bob@x")}, why: "1 of 2"},
		"two certified people":                 {list: "*@x cert-authority " + authority, rule: two, by: []person{alice.certified(t, ca, "alice@x"), bob.certified(t, ca, "bob@x")}, good: true},
		"a certificate of another":             {list: "*@x cert-authority " + authority, rule: rule, by: []person{bob.certified(t, ca, "bob@x", "ops@x")}, good: true},
		"same key on two lines":                {list: both("bob@x", "alice@x"), rule: rule, by: []person{alice}, why: "alice@x wrote it"},
		"second line has expired":              {list: both("bob@x", `alice@x valid-before="20260101Z"`), rule: rule, by: []person{alice}, why: "alice@x wrote it"},
		"second line is for another namespace": {list: both("bob@x", `alice@x namespaces="git"`), rule: rule, by: []person{alice}, why: "alice@x wrote it"},
		"two names are one of two":             {list: both("bob@x", "carol@x") + bob.line("carol@x"), rule: two, by: []person{alice, bob}, why: "1 of 2"},
		"pattern may be the author":            {list: both("bob@x", "al*@x"), rule: rule, by: []person{alice}, why: "alice@x wrote it"},
		"pattern of another namespace":         {list: both("bob@x", `* namespaces="git"`), rule: rule, by: []person{alice}, good: true},
		"principal with a wildcard":            {list: "* cert-authority " + authority, rule: rule, by: []person{eve.certified(t, ca, "*@x")}, why: "no one in particular"},
	} {
		t.Run(name, func(t *testing.T) {
			signers, err := NewSigners("list", []byte(c.list), "")
			if err != nil {
				t.Fatal(err)
			}
			s := &Statement{Owner: "demo", Run: "r1", Phase: "one", Plan: "sha256-aa", Signers: signers.Digest, Expires: now.Add(time.Hour)}
			var all []Signed
			for _, p := range c.by {
				all = append(all, p.signs(t, Namespace, s.Text()))
			}
			judged := Case{Owner: "demo", Run: "r1", Phase: "one", Plan: "sha256-aa", Signers: *signers, Authors: []string{"Alice@x"}, Now: now}
			by, refused, err := judged.Judge(c.rule, all)
			why := fmt.Sprint(refused, err)
			if good := err == nil; good != c.good || !strings.Contains(strings.ToLower(why), c.why) {
				t.Errorf("approved by %v: %s", by, why)
			}
		})
	}
}

// Whatever is not exactly what was asked for does not count, and says why.
func TestJudge(t *testing.T) {
	now := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	alice, alice2, bob, carol, mallory, ca, dave, old := somebody(t), somebody(t), somebody(t), somebody(t), somebody(t), somebody(t), somebody(t), somebody(t)
	dave = dave.certified(t, ca, "dave@example.net")
	list := alice.line("alice@example.net") + alice2.line("alice@example.net,root@example.net") + bob.line("bob@example.net") +
		carol.line("*@example.net") + "dave@example.net cert-authority " + string(ssh.MarshalAuthorizedKey(ca.key.PublicKey())) +
		`old@example.net valid-before="20270101Z" ` + string(ssh.MarshalAuthorizedKey(old.key.PublicKey()))
	signers, err := NewSigners("list", []byte(list), "")
	if err != nil {
		t.Fatal(err)
	}
	good := func(change ...func(*Statement)) []byte {
		s := &Statement{Owner: "demo", Run: "r1", Phase: "one", Plan: "sha256-aa", Signers: signers.Digest, Expires: now.Add(time.Hour), Ticket: "CHG-1"}
		for _, c := range change {
			c(s)
		}
		return s.Text()
	}
	sign := func(p person, change ...func(*Statement)) Signed { return p.signs(t, Namespace, good(change...)) }
	two := Rule{Count: 2}
	notAuthor := Rule{Not: []string{"author"}}
	bent := sign(alice)
	bent.Text = bytes.Replace(bent.Text, []byte("phase: one"), []byte("phase: two"), 1)
	for name, c := range map[string]struct {
		rule    Rule
		all     []Signed
		authors []string
		accept  string
		by      string // who has approved; "": not enough
		why     string
	}{
		"one":                       {all: []Signed{sign(alice)}, by: "alice@example.net"},
		"all phases":                {all: []Signed{sign(alice, func(s *Statement) { s.Phase = AnyPhase })}, by: "alice@example.net"},
		"any run of the plan":       {all: []Signed{sign(alice, func(s *Statement) { s.Run = "" })}, by: "alice@example.net"},
		"a certificate":             {all: []Signed{sign(dave)}, by: "dave@example.net"},
		"two":                       {rule: two, all: []Signed{sign(alice), sign(bob)}, by: "alice@example.net bob@example.net"},
		"none":                      {why: "0 of 1 approvals"},
		"one of two":                {rule: two, all: []Signed{sign(alice)}, why: "1 of 2 approvals"},
		"twice the same":            {rule: two, all: []Signed{sign(alice), sign(alice)}, why: "1 of 2 approvals"},
		"two keys of one":           {rule: two, all: []Signed{sign(alice), sign(alice2)}, why: "1 of 2 approvals"},
		"no one in particular":      {all: []Signed{sign(carol)}, why: "no one in particular"},
		"nobody":                    {all: []Signed{sign(mallory)}, why: "is not among the allowed signers"},
		"a certificate of nobody":   {all: []Signed{somebody(t).certified(t, mallory, "dave@example.net").signs(t, Namespace, good())}, why: "is not among the allowed signers"},
		"certified as another":      {all: []Signed{somebody(t).certified(t, ca, "alice@example.net").signs(t, Namespace, good())}, why: "the certificate is for alice@example.net"},
		"the key has ended":         {all: []Signed{sign(old)}, why: "it is not valid after 2027-01-01"},
		"forged":                    {all: []Signed{bent}, why: "is not what SHA256:"},
		"another namespace":         {all: []Signed{alice.signs(t, "weft-plan", good())}, why: `is for the namespace "weft-plan"`},
		"no signature":              {all: []Signed{{Name: "x", Text: good()}}, why: "this is not an SSH signature"},
		"expired":                   {all: []Signed{sign(alice, func(s *Statement) { s.Expires = now })}, why: "it expired at"},
		"another plan":              {all: []Signed{sign(alice, func(s *Statement) { s.Plan = "sha256-bb" })}, why: "it is for another plan"},
		"another run":               {all: []Signed{sign(alice, func(s *Statement) { s.Run = "r2" })}, why: "it is for another run: r2"},
		"another phase":             {all: []Signed{sign(alice, func(s *Statement) { s.Phase = "two" })}, why: `it is for phase "two"`},
		"another fabric":            {all: []Signed{sign(alice, func(s *Statement) { s.Owner = "prod" })}, why: `it is for the fabric "prod"`},
		"another list":              {all: []Signed{sign(alice, func(s *Statement) { s.Signers = "sha256-cc" })}, why: "another list of signers"},
		"another base":              {all: []Signed{sign(alice, func(s *Statement) { s.Base = "abc" })}, why: "the signers of the commit"},
		"the author":                {rule: notAuthor, all: []Signed{sign(alice)}, authors: []string{"Alice@Example.net"}, why: "wrote it, and may not approve it"},
		"not the author":            {rule: notAuthor, all: []Signed{sign(bob)}, authors: []string{"alice@example.net"}, by: "bob@example.net"},
		"the author's other key":    {rule: notAuthor, all: []Signed{sign(alice2)}, authors: []string{"alice@example.net"}, why: "wrote it, and may not approve it"},
		"an unknown author":         {rule: notAuthor, all: []Signed{sign(bob)}, why: "the author is unknown"},
		"excluded":                  {rule: Rule{Not: []string{"bob@example.net"}}, all: []Signed{sign(bob)}, why: "bob@example.net may not approve it"},
		"a phase is no acceptance":  {all: []Signed{sign(alice)}, accept: "v.p99", why: "accepts nothing"},
		"an acceptance":             {all: []Signed{sign(alice, func(s *Statement) { s.Accept = "v.p99" })}, accept: "v.p99", by: "alice@example.net"},
		"another acceptance":        {all: []Signed{sign(alice, func(s *Statement) { s.Accept = "v.p50" })}, accept: "v.p99", why: "it accepts v.p50, and nothing else"},
		"an acceptance is no phase": {all: []Signed{sign(alice, func(s *Statement) { s.Accept = "v.p99" })}, why: "it accepts v.p99, and nothing else"},
		"one line more":             {all: []Signed{alice.signs(t, Namespace, append(good(), "phase: two\n"...))}, why: "not written as weft writes"},
		"a line twice":              {all: []Signed{alice.signs(t, Namespace, bytes.Replace(good(), []byte("phase: one"), []byte("phase: two\nphase: one"), 1))}, why: "not written as weft writes"},
		"another format":            {all: []Signed{alice.signs(t, Namespace, []byte("weft-approval/2\n"))}, why: "does not begin with"},
		"good ones count":           {all: []Signed{sign(mallory), bent, sign(bob)}, by: "bob@example.net"},
	} {
		t.Run(name, func(t *testing.T) {
			k := Case{Owner: "demo", Run: "r1", Phase: "one", Plan: "sha256-aa", Accept: c.accept, Signers: *signers, Authors: c.authors, Now: now}
			by, refused, err := k.Judge(c.rule, c.all)
			if c.by != "" {
				if err != nil || strings.Join(by, " ") != c.by {
					t.Errorf("%v %v %v, wanted %s", by, refused, err, c.by)
				}
				return
			}
			if err == nil {
				t.Fatalf("it is enough: %v", by)
			}
			text := err.Error()
			for _, r := range refused {
				text += "; " + r.String()
			}
			if !strings.Contains(text, c.why) {
				t.Errorf("%s\nwanted %s", text, c.why)
			}
		})
	}
}

// The two files of an approval are what ssh-keygen verifies, and what it signs weft takes.
func TestKeygen(t *testing.T) {
	tool := require.Tool(t, require.OpenSSH, "ssh-keygen")
	dir := t.TempDir()
	keygen := func(stdin []byte, args ...string) error {
		cmd := exec.Command(tool, args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		return cmd.Run()
	}
	alice := somebody(t)
	list := []byte(alice.line(`alice@example.net namespaces="weft-approval"`))
	signers, err := NewSigners("list", list, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &Statement{Owner: "demo", Phase: AnyPhase, Plan: "sha256-aa", Signers: signers.Digest, Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Second)}
	x := alice.signs(t, Namespace, s.Text())
	path := filepath.Join(dir, FileName(s, alice.key.PublicKey()))
	if err := Write(t.Context(), path, x); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "list"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(namespace string, text []byte) error {
		return keygen(text, "-Y", "verify", "-n", namespace, "-I", "alice@example.net", "-f", "list", "-s", path+".sig")
	}
	if err := check(Namespace, x.Text); err != nil {
		t.Errorf("ssh-keygen refuses it: %v", err)
	}
	if check("weft-plan", x.Text) == nil || check(Namespace, append(x.Text, 'x')) == nil {
		t.Error("ssh-keygen takes another namespace or text")
	}
	found, err := Read(dir)
	if err != nil || len(found) != 1 || !bytes.Equal(found[0].Text, x.Text) {
		t.Fatalf("%v %v", found, err)
	}
	k := Case{Owner: "demo", Run: "r1", Phase: "one", Plan: "sha256-aa", Signers: *signers, Now: time.Now()}
	if by, refused, err := k.Judge(Rule{}, found); err != nil {
		t.Errorf("%v %v %v", by, refused, err)
	}

	// The other way round.
	if err := keygen(nil, "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", "bob"); err != nil {
		t.Fatal(err)
	}
	pub, err := bounded(filepath.Join(dir, "bob.pub"))
	if err != nil {
		t.Fatal(err)
	}
	if signers, err = NewSigners("list", append([]byte("bob@example.net "), pub...), ""); err != nil {
		t.Fatal(err)
	}
	s.Signers = signers.Digest
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, s.Text(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keygen(nil, "-Y", "sign", "-q", "-n", Namespace, "-f", "bob", text); err != nil {
		t.Fatal(err)
	}
	if found, err = Read(filepath.Dir(text)); err != nil {
		t.Fatal(err)
	}
	k.Signers = *signers
	if by, refused, err := k.Judge(Rule{}, found); err != nil || by[0] != "bob@example.net" {
		t.Errorf("%v %v %v", by, refused, err)
	}
}

// What is signed can be read in one way only.
func FuzzParse(f *testing.F) {
	f.Add((&Statement{Owner: "demo", Run: "r1", Phase: "one", Plan: "sha256-aa", Signers: "sha256-bb", Expires: time.Unix(1, 0)}).Text())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if !bytes.Equal(s.Text(), text) || s.Phase == "" || s.Plan == "" || s.Owner == "" {
			t.Errorf("%q is read as %+v", text, s)
		}
	})
}

// Beside a plan file lie approvals of it, the plan's own signature, and those of other plans.
func TestReadBeside(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"p.weftplan", "p.weftplan.sig", "p.weftplan.all-bob", "p.weftplan.all-bob.sig", "q.weftplan.all-bob", "q.weftplan.all-bob.sig"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := ReadBeside(filepath.Join(dir, "p.weftplan"))
	if err != nil || len(list) != 1 || string(list[0].Text) != "p.weftplan.all-bob" || string(list[0].Signature) != "p.weftplan.all-bob.sig" {
		t.Errorf("%+v %v", list, err)
	}
}
