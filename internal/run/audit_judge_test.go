package run

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/approve"
	"weft/plan/rollout"
)

// chain writes entries as whoever may write to the store can.
func chain(t *testing.T, list []AuditEntry) []AuditEntry {
	t.Helper()
	var lines [][]byte
	for i, x := range list {
		x.N, x.Time, x.Run = i+1, time.Date(2027, 1, 2, 3, i, 0, 0, time.UTC), "r1"
		if i > 0 {
			x.Prev = auditSum(lines[i-1])
		}
		line, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	whole, _, err := VerifyAudit(lines)
	if err != nil {
		t.Fatalf("a forged trail is whole: %v", err)
	}
	return whole
}

// A trail proves what was signed by those of the list, and nothing else.
func TestJudgeAudit(t *testing.T) {
	t.Parallel()
	keys := map[string]ssh.Signer{}
	text := ""
	for _, name := range []string{"alice", "bob", "mallory"} {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if keys[name], err = ssh.NewSignerFromKey(private); err != nil {
			t.Fatal(err)
		}
		if name != "mallory" {
			text += name + "@x " + string(ssh.MarshalAuthorizedKey(keys[name].PublicKey()))
		}
	}
	known, err := approve.NewSigners("list", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	sign := func(who, accept string) string {
		s := &approve.Statement{Owner: "test", Run: "r1", Phase: "two", Plan: "sha256-aa", Signers: known.Digest, Accept: accept, Expires: time.Date(2027, 1, 2, 3, 0, 30, 0, time.UTC)}
		x, err := s.Sign(keys[who], nil)
		if err != nil {
			t.Fatal(err)
		}
		return string(x.Joined())
	}
	approved := func(by ...string) AuditEntry {
		x := AuditEntry{What: auditApproved, Phase: "two", By: "alice@x and bob@x, signed"}
		for _, who := range by {
			x.Signed = append(x.Signed, sign(who, ""))
		}
		return x
	}
	begun, passed := AuditEntry{What: auditBegun, Plan: "sha256-aa"}, AuditEntry{What: string(rollout.Passed)}
	for name, c := range map[string]struct {
		trail   []AuditEntry
		authors []string
		by, why string
	}{
		"two signed":             {trail: []AuditEntry{begun, approved("alice", "bob"), passed}, by: "alice@x bob@x"},
		"said to be signed":      {trail: []AuditEntry{begun, approved(), passed}, why: "0 of 2 approvals"},
		"one signed":             {trail: []AuditEntry{begun, approved("alice"), passed}, why: "1 of 2 approvals"},
		"one signed twice":       {trail: []AuditEntry{begun, approved("alice", "alice"), passed}, why: "1 of 2 approvals"},
		"a key of nobody":        {trail: []AuditEntry{begun, approved("alice", "mallory"), passed}, why: "is not among the allowed signers"},
		"an author signed":       {trail: []AuditEntry{begun, approved("alice", "bob"), passed}, authors: []string{"bob@x"}, why: "bob@x wrote it"},
		"no approval":            {trail: []AuditEntry{begun, passed}, why: `phase "two" has passed`},
		"a phase that is not":    {trail: []AuditEntry{begun, {What: auditApproved, Phase: "three"}, passed}, why: "the plan has no such phase"},
		"an acceptance unsigned": {trail: []AuditEntry{begun, approved("alice", "bob"), {What: auditAccepted, Phase: "two", Text: "fast"}, passed}, why: "0 of 2 approvals"},
		"an acceptance by one":   {trail: []AuditEntry{begun, approved("alice", "bob"), {What: auditAccepted, Phase: "two", Text: "fast", Signed: []string{sign("alice", "fast")}}, passed}, why: "1 of 2 approvals"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &rollout.Spec{Phases: []rollout.Phase{{Name: "one"}, {Name: "two", Approve: true, Approvals: 2, NotBy: []string{"author"}}}}
			k := AuditCase{Owner: "test", Signers: *known, Authors: c.authors, Spec: spec, Passed: true}
			by, err := k.Judge(chain(t, c.trail))
			if c.why != "" {
				if err == nil || !strings.Contains(err.Error(), c.why) {
					t.Errorf("%v: %v, wanted %s", by, err, c.why)
				}
				return
			}
			if err != nil || strings.Join(by[1], " ") != c.by {
				t.Errorf("%v: %v", by, err)
			}
		})
	}
}
