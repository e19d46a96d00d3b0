package inventory

import (
	"time"

	"github.com/hashicorp/hcl/v2"
)

// A Store is where runs are kept: store "nats" { … }.
type Store struct {
	Kind     string // nats or directory
	URL      string // of nats
	Creds    string // the file with the credential; ~ is the home directory
	Path     string // of a directory
	Replicas int    // 0: as the credential's hub has them
	Lease    time.Duration
	Range    hcl.Range
}
