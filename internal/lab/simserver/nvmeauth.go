//go:build unix

package simserver

import (
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"
)

// How the kernel says that a host or a target did not authenticate. Errno has
// them on Linux only.
const (
	errNoKey       = keyError("required key not available")
	errKeyRejected = keyError("key was rejected by service")
)

type keyError string

func (e keyError) Error() string { return string(e) }

// A proof is what a target asks of a host: DH-HMAC-CHAP is not simulated, the
// keys of both ends are compared.
type proof struct{ key, ctrlKey string }

// met says how it ends where a host with these options comes: as Linux 6.12
// does it, a host without a key asks for no proof either.
func (p proof) met(o map[string]string) error {
	switch {
	case p.key == "":
		return nil
	case o["dhchap_secret"] == "":
		return errNoKey
	case o["dhchap_secret"] != p.key, o["dhchap_ctrl_secret"] != "" && o["dhchap_ctrl_secret"] != p.ctrlKey:
		return errKeyRejected
	}
	return nil
}

// proof is what this server asks of whoever connects with the options.
func (s *Server) proof(o map[string]string) proof {
	if s.agentAdmits(o) {
		return s.agentProof(o["nqn"], o["hostnqn"])
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if h := s.nvmet.hosts[o["hostnqn"]]; h != nil {
		return proof{h.key, h.ctrlKey}
	}
	return proof{}
}

// agentProof is what the configuration of weft-target asks of a host, with the
// keys of the files that it names: as they are now, whether the process that
// runs has read them or not.
func (s *Server) agentProof(nqn, host string) proof {
	text, err := s.rootView().ReadFile("/etc/weft/target.toml")
	if err != nil {
		return proof{}
	}
	var p proof
	sub, who := "", ""
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		value = strings.Trim(value, `'"`)
		switch {
		case strings.HasPrefix(name, "[["):
			who = ""
		case name == "nqn":
			sub = value
		case name == "host":
			who = value
		}
		if sub != nqn || who != host {
			continue
		}
		switch name {
		case "key_file":
			p.key = s.keyIn(value)
		case "subsystem_key_file":
			p.ctrlKey = s.keyIn(value)
		}
	}
	return p
}

func (s *Server) keyIn(file string) string {
	text, _ := s.rootView().ReadFile(file)
	return strings.TrimSpace(string(text))
}

// start tells one start of a server from the next.
func (s *Server) start() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bootID
}

// live reports whether a connection is: one that was made stays so, whatever
// becomes of keys, until its target starts anew.
func (s *Server) live(c *controller) bool {
	to, err := s.served(c)
	if err != nil {
		return false
	}
	s.mu.RLock()
	o, met := maps.Clone(c.options), c.met
	s.mu.RUnlock()
	return met == to.start() || to.proof(o).met(o) == nil
}

// renderSecrets shows the keys of a connection, as the kernel does. Only what
// it was made with can be changed; the host authenticates anew then, and stays
// connected if that fails. The caller holds s.mu.
func (s *Server) renderSecrets(r rendered, dir string, c *controller) {
	for _, name := range []string{"dhchap_secret", "dhchap_ctrl_secret"} {
		shown := c.options[name]
		if shown == "" {
			shown = "none"
		}
		s.nvmetValue(r, path.Join(dir, name), shown, func(v string) error {
			if c.options[name] == "" || !isSecret(v) {
				return syscall.EINVAL
			}
			c.options[name] = v
			return nil
		})
	}
}

func isSecret(v string) bool {
	parts := strings.Split(v, ":")
	return len(parts) == 4 && parts[0] == "DHHC-1" && slices.Contains([]string{"00", "01", "02", "03"}, parts[1]) && parts[2] != "" && parts[3] == ""
}
