//go:build unix

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"weft/internal/require"
)

// A vault stands in for a forge that says who a job is and for a Vault that signs keys of
// jobs of one environment. It refuses whatever it does not know.
type vault struct {
	*httptest.Server
	ca  ssh.Signer
	key []byte // of the forge's tokens

	mu      sync.Mutex
	token   string // that is good; "": none
	revoked bool
	refused []string
}

const (
	vaultJob   = "repo:o/r:environment:fabric" // which the role is bound to
	vaultAsked = "the-token-of-the-job"
)

func newVault(t *testing.T) *vault {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{key: []byte(rand.Text())}
	if v.ca, err = ssh.NewSignerFromKey(private); err != nil {
		t.Fatal(err)
	}
	v.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v.mu.Lock()
		defer v.mu.Unlock()
		answer, err := v.answer(r)
		if err != nil {
			v.refused = append(v.refused, err.Error())
			http.Error(w, `{"errors":["permission denied"]}`, http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(v.Close)
	return v
}

// says is a token of the forge.
func (v *vault) says(sub, aud string) string {
	text, _ := json.Marshal(map[string]string{"sub": sub, "aud": aud})
	mac := hmac.New(sha256.New, v.key)
	mac.Write(text)
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (v *vault) answer(r *http.Request) (any, error) {
	var body struct {
		Role, JWT, TTL  string
		PublicKey       string `json:"public_key"`
		ValidPrincipals string `json:"valid_principals"`
	}
	if r.ContentLength > 0 {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil {
			return nil, err
		}
	}
	held := v.token != "" && r.Header.Get("X-Vault-Token") == v.token
	switch at := r.Method + " " + r.URL.Path; {
	case at == "GET /oidc" && r.Header.Get("Authorization") == "bearer "+vaultAsked && r.URL.Query().Get("api") == "2":
		return map[string]string{"value": v.says(vaultJob, r.URL.Query().Get("audience"))}, nil
	case at == "POST /v1/auth/jwt/login" && body.Role == "fabric" && body.JWT == v.says(vaultJob, v.URL):
		v.token = rand.Text()
		return map[string]any{"auth": map[string]string{"client_token": v.token}}, nil
	case at == "POST /v1/ssh/sign/fabric" && held && body.ValidPrincipals == "weft" && body.TTL == "30m":
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(body.PublicKey))
		if err != nil {
			return nil, err
		}
		cert := &ssh.Certificate{Key: key, CertType: ssh.UserCert, ValidPrincipals: []string{"weft"}, ValidBefore: uint64(time.Now().Add(30 * time.Minute).Unix())}
		if err := cert.SignCert(rand.Reader, v.ca); err != nil {
			return nil, err
		}
		return map[string]any{"data": map[string]string{"signed_key": string(ssh.MarshalAuthorizedKey(cert))}}, nil
	case at == "POST /v1/auth/token/revoke-self" && held:
		v.token, v.revoked = "", true
		return struct{}{}, nil
	}
	return nil, fmt.Errorf("%s %s: %+v", r.Method, r.URL, body)
}

func vaultTools() []string { return []string{"curl", "jq", "ssh-agent", "ssh-add", "ssh-keygen"} }

// login runs the recipe as it stands.
func (v *vault) login(t *testing.T, env ...string) (said string, err error) {
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: v.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-x", "../../examples/ci/vault/weft-vault.sh", "fabric")
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), "CURL_CA_BUNDLE=" + ca, "VAULT_ADDR=" + v.URL}, env...)
	var out, trace bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trace
	err = cmd.Run()
	for _, line := range strings.Split(trace.String(), "\n") { // what the shell ran, with its arguments
		if fields := strings.Fields(line); len(fields) > 1 && slices.Contains(vaultTools(), fields[1]) && (strings.Contains(line, vaultAsked) || strings.Contains(line, "eyJ")) {
			t.Errorf("a secret is an argument: %s", line)
		}
	}
	left, globbed := filepath.Glob(filepath.Join(strings.TrimPrefix(cmd.Env[1], "TMPDIR="), "tmp.*"))
	if globbed != nil || len(left) > 0 {
		t.Errorf("it leaves %v: %v", left, globbed)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, trace.String())
	}
	return out.String(), err
}

// The recipe of OIDC and Vault gives a job a login that a server accepts which knows
// Vault's authority, for half an hour, and leaves nothing. A job of another environment
// gets none.
func TestVaultRecipe(t *testing.T) {
	for _, tool := range vaultTools() {
		require.Tool(t, require.OpenSSH, tool) // with curl and jq, which make deps installs beside it
	}
	for forge, env := range map[string]func(v *vault) []string{
		"github": func(v *vault) []string {
			return []string{"ACTIONS_ID_TOKEN_REQUEST_TOKEN=" + vaultAsked, "ACTIONS_ID_TOKEN_REQUEST_URL=" + v.URL + "/oidc?api=2"}
		},
		"gitlab": func(v *vault) []string { return []string{"VAULT_ID_TOKEN=" + v.says(vaultJob, v.URL)} },
	} {
		t.Run(forge, func(t *testing.T) {
			v := newVault(t)
			said, err := v.login(t, env(v)...)
			if err != nil {
				t.Fatalf("%v\nthe stand-in refused %q", err, v.refused)
			}
			var socket string
			var pid int
			if n, err := fmt.Sscanf(strings.ReplaceAll(said, "=", " "), "SSH_AUTH_SOCK %s\nSSH_AGENT_PID %d\n", &socket, &pid); n != 2 {
				t.Fatalf("it prints %q: %v", said, err)
			}
			t.Cleanup(func() {
				if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
					t.Errorf("the agent %s: %v", strconv.Itoa(pid), err)
				}
			})
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			signers, err := agent.NewClient(conn).Signers()
			if err != nil {
				t.Fatal(err)
			}
			good, checks := 0, ssh.CertChecker{}
			for _, s := range signers {
				key, err := ssh.ParsePublicKey(s.PublicKey().Marshal())
				if err != nil {
					t.Fatal(err)
				}
				if cert, ok := key.(*ssh.Certificate); ok && bytes.Equal(cert.SignatureKey.Marshal(), v.ca.PublicKey().Marshal()) &&
					checks.CheckCert("weft", cert) == nil && checks.CheckCert("root", cert) != nil {
					good++
				}
			}
			if good != 1 || !v.revoked || len(v.refused) != 0 {
				t.Errorf("%d logins; revoked: %v; refused: %q", good, v.revoked, v.refused)
			}
		})
	}
	t.Run("another environment", func(t *testing.T) {
		v := newVault(t)
		if said, err := v.login(t, "VAULT_ID_TOKEN="+v.says("repo:o/r:environment:other", v.URL)); err == nil || said != "" {
			t.Errorf("it gets %q", said)
		}
	})
}
