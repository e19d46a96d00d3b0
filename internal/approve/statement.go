// Package approve is what people sign to let a phase of a rollout begin: a small text
// that names the run, the phase and the plan, so that it covers nothing else, with a
// signature that ssh-keygen -Y verify also checks.
package approve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/slice"
	"weft/internal/sshsig"
)

// Namespace is that of the signatures.
const Namespace = "weft-approval"

// AnyPhase stands for all phases of a run.
const AnyPhase = "*"

const (
	heading = "weft-approval/1"
	nothing = "-" // stands for what does not apply
	maxText = 4 << 10
)

// A Statement is what an operator approves.
type Statement struct {
	Owner   string    // of the inventory
	Run     string    // "": any run of the plan
	Phase   string    // or AnyPhase
	Plan    string    // the digest of the plan file
	Base    string    // the commit that the list of signers was taken from; "": it was a file
	Signers string    // the digest of that list
	Accept  string    // the validation or metric that may stay without a verdict; "": the phase may begin
	Expires time.Time // it is good until then
	Ticket  string    // "": none
}

// fields are those of the text, in their order.
func (s *Statement) fields() [][2]string {
	return [][2]string{
		{"owner", s.Owner}, {"run", s.Run}, {"phase", s.Phase}, {"plan", s.Plan}, {"base", s.Base}, {"signers", s.Signers},
		{"accept", s.Accept}, {"expires", s.Expires.UTC().Format(time.RFC3339)}, {"ticket", s.Ticket},
	}
}

// Text is what is signed.
func (s *Statement) Text() []byte {
	var b bytes.Buffer
	b.WriteString(heading + "\n")
	for _, f := range s.fields() {
		value := cmp.Or(f[1], nothing)
		fmt.Fprintf(&b, "%s: %s\n", f[0], value)
	}
	return b.Bytes()
}

// Check refuses a statement that could be read in two ways, or covers nothing.
func (s *Statement) Check() error {
	plain := regexp.MustCompile(`^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{0,200}$`)
	for _, f := range s.fields() {
		if !plain.MatchString(f[1]) || strings.TrimSpace(f[1]) != f[1] || f[1] == nothing {
			return fmt.Errorf("%s: %q is not a text in one line of at most 200 characters", f[0], f[1])
		}
	}
	switch {
	case s.Owner == "" || s.Phase == "" || s.Plan == "" || s.Signers == "":
		return errors.New("an approval names owner, phase, plan and signers")
	case s.Expires.IsZero():
		return errors.New("an approval expires")
	}
	return nil
}

// Parse reads what Text wrote, and nothing else: no line more, fewer, or in another
// order or form.
func Parse(text []byte) (*Statement, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("it has more than %d bytes", maxText)
	}
	lines := strings.Split(string(text), "\n")
	if lines[0] != heading {
		return nil, fmt.Errorf("it does not begin with %q", heading)
	}
	s := &Statement{}
	values := map[string]string{}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		if value == nothing {
			value = ""
		}
		values[name] = value
	}
	s.Owner, s.Run, s.Phase, s.Plan, s.Base = values["owner"], values["run"], values["phase"], values["plan"], values["base"]
	s.Signers, s.Accept, s.Ticket = values["signers"], values["accept"], values["ticket"]
	expires, err := time.Parse(time.RFC3339, values["expires"])
	if err != nil {
		return nil, fmt.Errorf("it does not say when it expires: %w", err)
	}
	s.Expires = expires
	if err := s.Check(); err != nil {
		return nil, err
	}
	if !bytes.Equal(s.Text(), text) {
		return nil, errors.New("it is not written as weft writes approvals")
	}
	return s, nil
}

// A Signed is a statement with its signature, as they lie in two files.
type Signed struct {
	Name      string // by which messages call it
	Text      []byte
	Signature []byte
}

// FileName is how the file of an approval is called; its signature ends in .sig.
func FileName(s *Statement, key ssh.PublicKey) string {
	word := func(text string) string {
		return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(text, "-"), "-")
	}
	phase := word(s.Phase)
	if s.Phase == AnyPhase {
		phase = "all"
	}
	if s.Accept != "" {
		phase += "-accept-" + word(s.Accept)
	}
	of := s.Run
	if of == "" {
		of = strings.TrimPrefix(s.Plan, "sha256-")[:min(12, len(strings.TrimPrefix(s.Plan, "sha256-")))]
	}
	print := strings.TrimPrefix(ssh.FingerprintSHA256(key), "SHA256:")
	return word(of) + "." + phase + "." + word(print + "00000000")[:8] + ".approval"
}

// Signers are those who may approve.
type Signers struct {
	List   sshsig.Signers
	Digest string // of the file
	Base   string // the commit that it was taken from; "": it is a file outside of the repository
}

// A Rule is how many must approve, and who does not count.
type Rule struct {
	Count int      // principals; 0 is 1
	Not   []string // principals, or "author": who wrote what is rolled out
}

// A Case is what approvals are held against.
type Case struct {
	Owner, Run, Phase, Plan, Accept string

	Signers Signers
	Authors []string // who wrote what is rolled out; nil: nobody knows
	Now     time.Time

	Begun bool // the phase has begun with them: an approval, signer or certificate that has expired since still counts
}

// A Refusal is an approval that does not count, and why.
type Refusal struct {
	Name string
	Why  error
}

func (r Refusal) String() string { return filepath.Base(r.Name) + ": " + r.Why.Error() }

// Judge returns the principals who have approved, one for each person however many
// keys they have, and what did not count. enough is nil where the rule is met.
func (c *Case) Judge(rule Rule, all []Signed) (by []string, refused []Refusal, enough error) {
	if slices.Contains(rule.Not, "author") && c.Authors == nil {
		return nil, nil, errors.New("its author may not approve it, and the author is unknown")
	}
	var people []approver
	for _, one := range all {
		who, err := c.one(rule, one)
		if err != nil {
			refused = append(refused, Refusal{one.Name, err})
			continue
		}
		people = join(people, who)
	}
	by = slice.Map(people, approver.String)
	slices.Sort(by)
	if need := max(rule.Count, 1); len(people) < need {
		return by, refused, fmt.Errorf("%d of %d approvals", len(people), need)
	}
	return by, refused, nil
}

// An approver is the signers who share a key or a principal, directly or through others of them.
type approver []sshsig.Person

func (p approver) String() string {
	var names []string
	for _, who := range p {
		names = append(names, who.Names...)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ",")
}

// join adds a signer to the people who have signed.
func join(people []approver, who sshsig.Person) (out []approver) {
	one := approver{who}
	for _, p := range people {
		if slices.ContainsFunc(p, who.Same) {
			one = append(one, p...)
		} else {
			out = append(out, p)
		}
	}
	return append(out, one)
}

// one checks one approval and returns its signer.
func (c *Case) one(rule Rule, x Signed) (who sshsig.Person, err error) {
	s, err := Parse(x.Text)
	if err != nil {
		return who, err
	}
	key, err := sshsig.Verify(x.Signature, x.Text, Namespace)
	if err != nil {
		return who, err
	}
	if err := c.covers(s); err != nil {
		return who, err
	}
	at := c.Now
	if c.Begun && s.Expires.Before(at) {
		at = s.Expires
	}
	if who, err = c.Signers.List.Allow(key, Namespace, at); err != nil {
		return who, err
	}
	if !who.Named() {
		return who, fmt.Errorf("the line of the allowed signers, or the certificate, is for %s, which is no one in particular", who)
	}
	for _, not := range rule.Not {
		if not != "author" && who.Is(not) {
			return who, fmt.Errorf("%s may not approve it", not)
		}
	}
	if slices.Contains(rule.Not, "author") {
		for _, author := range c.Authors {
			if who.Is(author) {
				return who, fmt.Errorf("%s wrote it, and may not approve it", author)
			}
		}
	}
	return who, nil
}

// covers says why a statement is not about the case.
func (c *Case) covers(s *Statement) error {
	switch {
	case s.Owner != c.Owner:
		return fmt.Errorf("it is for the fabric %q", s.Owner)
	case s.Plan != c.Plan:
		return fmt.Errorf("it is for another plan: %s", s.Plan)
	case s.Run != "" && s.Run != c.Run:
		return fmt.Errorf("it is for another run: %s", s.Run)
	case s.Phase != AnyPhase && s.Phase != c.Phase:
		return fmt.Errorf("it is for phase %q", s.Phase)
	case s.Accept != c.Accept && s.Accept == "":
		return fmt.Errorf("it lets the phase begin, and accepts nothing")
	case s.Accept != c.Accept:
		return fmt.Errorf("it accepts %s, and nothing else", s.Accept)
	case s.Signers != c.Signers.Digest:
		return errors.New("it was signed for another list of signers")
	case s.Base != c.Signers.Base:
		return fmt.Errorf("it was signed for the signers of the commit %q", s.Base)
	case !c.Begun && !s.Expires.After(c.Now):
		return fmt.Errorf("it expired at %s", s.Expires.Format(time.RFC3339))
	}
	return nil
}
