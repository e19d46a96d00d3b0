package ssh

import (
	"context"
	"os"
	"os/exec"
	"slices"
)

// A Way is how a connection to a target would be made, and with what of this
// machine.
type Way struct {
	Host  string // that is dialled
	Port  int
	User  string
	Jumps []string // [user@]host[:port], first hop first
	Files []string // keys, certificates and known_hosts that are there
	Agent string   // its socket; "" if there is none
	Asks  string   // the program that reads ssh_config; "": weft does
}

// Way finds out how Dial would connect. It dials nothing.
func (d *Dialer) Way(ctx context.Context, t Target) (Way, error) {
	r, err := d.resolve(ctx, t)
	if err != nil {
		return Way{}, err
	}
	w := Way{Host: r.host, Port: r.port, User: r.user, Jumps: r.jumps, Agent: r.agent}
	if d.config.ConfigFile == "" {
		w.Asks, _ = exec.LookPath("ssh")
	}
	files := slices.Concat(r.identities, r.certificates, r.knownHosts)
	for _, f := range r.identities {
		files = append(files, f+".pub", f+"-cert.pub")
	}
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			w.Files = append(w.Files, f)
		}
	}
	return w, nil
}
