package initiator

import (
	"crypto/rand"
	"errors"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// ErrNoSecret is wrapped by the errors of Connect where the target asks for
// authentication and Options have no secret for it.
var ErrNoSecret = errors.New("the target asks this host to authenticate (DH-HMAC-CHAP), and there is no secret for it")

// connectTLS is the bit of the result of Connect that asks for a secure channel.
// Base section 6.3.
const connectTLS = 1 << 18

// prove authenticates a queue where the result of its Connect asks for it. A host
// that wants to know who the target is does not talk to one that does not say.
func (o Options) prove(q fabric.Queue, qid uint16, result uint64) error {
	switch {
	case result&connectTLS != 0:
		return errors.New("the target asks for a secure channel (TLS): described, not yet managed")
	case result&wire.ConnectAuthRequired == 0 && o.SubSecret.Empty():
		return nil
	case result&wire.ConnectAuthRequired == 0:
		return errors.New("the target was to prove its secret, and offers no authentication")
	case o.Secret.Empty():
		return ErrNoSecret
	}
	peer := dhchap.Peer{HostNQN: o.HostNQN, SubNQN: o.SubNQN, Host: o.Secret, Sub: o.SubSecret, Random: rand.Reader}
	return dhchap.NewHost(peer, qid+1).Run(func(cmd wire.Command, data []byte) error {
		c, err := fabric.Do(q, &cmd, data)
		if err != nil {
			return err
		}
		return c.Status.Err()
	})
}
