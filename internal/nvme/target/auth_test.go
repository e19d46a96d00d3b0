package target

import (
	"crypto/rand"
	"errors"
	"testing"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// keys are fresh secrets for both ends.
func keys(t *testing.T) Keys {
	t.Helper()
	var k Keys
	for _, s := range []*dhchap.Secret{&k.Host, &k.Sub} {
		var err error
		if *s, err = dhchap.NewSecret(dhchap.SHA256, rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// prove authenticates a queue as its host would. The end of the connection is an
// error, too.
func (r *rig) prove(q fabric.Queue, p dhchap.Peer) error {
	r.Helper()
	p.HostNQN, p.SubNQN, p.Random = hostNQN, subNQN, rand.Reader
	return dhchap.NewHost(p, 1).Run(func(cmd wire.Command, data []byte) error {
		done, err := fabric.Do(q, &cmd, data)
		if err != nil {
			return err
		}
		return done.Status.Err()
	})
}

// guarded is a configuration that wants hostNQN to authenticate.
func (r *rig) guarded(k Keys) {
	r.Helper()
	c := r.another()
	c.Subsystems[0].Keys = map[string]Keys{hostNQN: k}
	r.reload(c)
}

func TestAuthentication(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		k := keys(t)
		r.guarded(k)
		for _, p := range []dhchap.Peer{{Host: k.Host}, {Host: k.Host, Sub: k.Sub}} {
			admin := r.dial(0)
			result := r.want(wire.Success, admin, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
			if result&^0xffff != wire.ConnectAuthRequired {
				t.Fatalf("result %#x does not ask for authentication", result)
			}
			id := uint16(result)
			required := wire.AuthRequired.WithDNR()
			enable := setCC(wire.CCEnable | wire.CCIOSQES | wire.CCIOCQES)
			r.want(required, admin, enable, nil)
			r.want(required, admin, wire.PropertyCommand{Offset: wire.PropVS}.Command(), nil)
			r.want(required, admin, wire.IdentifyCommand{CNS: wire.CNSController}.Command(), make([]byte, 4096))
			if err := r.prove(admin, p); err != nil {
				t.Fatal(err)
			}
			r.want(wire.Success, admin, enable, nil)

			io := r.dial(1)
			r.want(wire.Success, io, connectCommand(1, 0), connectData(subNQN, hostNQN, id))
			r.want(required, io, blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))
			if err := r.prove(io, p); err != nil {
				t.Fatal(err)
			}
			r.want(wire.Success, io, blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))
			if s := r.target.Controllers(); len(s) == 0 || s[len(s)-1].ID != id || !s[len(s)-1].Authenticated || s[len(s)-1].IOQueues != 1 || s[len(s)-1].Host != hostNQN {
				t.Errorf("%+v", s)
			}
			// Once more on the same queue, and I/O goes on.
			if err := r.prove(io, p); err != nil {
				t.Fatal(err)
			}
			r.want(wire.Success, io, blocks(wire.OpRead, 1, 0, 1), make([]byte, 512))
		}
	})
}

// Without Diffie and Hellman hosts authenticate only where that is asked for.
func TestNullIsNoDefault(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		k := keys(t)
		login := func() error {
			r.guarded(k)
			q := r.dial(0)
			r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
			return r.prove(q, dhchap.Peer{Host: k.Host, Groups: []dhchap.Group{dhchap.Null}})
		}
		if login() == nil {
			t.Error("authenticated without an exchange")
		}
		k.Groups = []dhchap.Group{dhchap.FFDHE2048, dhchap.Null}
		if err := login(); err != nil {
			t.Error(err)
		}
	})
}

// New keys are for new associations, and for those whose hosts authenticate their
// admin queue anew; until then I/O queues go by the keys of their controller.
func TestReloadedKeys(t *testing.T) {
	t.Parallel()
	fabrics(t, func(t *testing.T, r *rig) {
		old, fresh := keys(t), keys(t)
		_, open := r.admin(subNQN, hostNQN, 0)
		r.guarded(old)
		read := blocks(wire.OpRead, 1, 0, 1)
		r.want(wire.Success, r.io(subNQN, hostNQN, open, 1), read, make([]byte, 512))

		admin := r.dial(0)
		id := uint16(r.want(wire.Success, admin, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff)))
		if err := r.prove(admin, dhchap.Peer{Host: old.Host}); err != nil {
			t.Fatal(err)
		}
		r.want(wire.Success, admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
		io := func(qid uint16, k Keys) fabric.Queue {
			t.Helper()
			q := r.io(subNQN, hostNQN, id, qid)
			if err := r.prove(q, dhchap.Peer{Host: k.Host}); err != nil {
				t.Fatal(err)
			}
			r.want(wire.Success, q, read, make([]byte, 512))
			return q
		}
		first := io(1, old)
		r.guarded(fresh)
		io(2, old)
		for _, q := range []fabric.Queue{admin, first} {
			if err := r.prove(q, dhchap.Peer{Host: fresh.Host}); err != nil {
				t.Fatal(err)
			}
		}
		r.want(wire.Success, first, read, make([]byte, 512))
		io(3, fresh)

		// Who fails to do it again may begin anew.
		if err := r.prove(first, dhchap.Peer{Host: old.Host}); err == nil {
			t.Error("authenticated with the old key")
		}
		r.dead(first)
		r.want(wire.Success, admin, wire.Command{Opcode: wire.OpKeepAlive}, nil)

		// Keys that are taken away still hold for the controller.
		c := r.another()
		c.Subsystems[0].Keys = nil
		r.reload(c)
		io(4, fresh)
		if err := r.prove(admin, dhchap.Peer{Host: fresh.Host}); err != nil {
			t.Error(err)
		}
	})
}

func TestAuthenticationRefused(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		k, other := keys(t), keys(t)
		k.Groups = []dhchap.Group{dhchap.FFDHE2048}
		r.guarded(k)
		for name, p := range map[string]dhchap.Peer{
			"wrong secret":     {Host: other.Host},
			"wrong subsystem":  {Host: k.Host, Sub: other.Sub},
			"without exchange": {Host: k.Host, Groups: []dhchap.Group{dhchap.Null}},
		} {
			q := r.dial(0)
			r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
			if err := r.prove(q, p); err == nil {
				t.Errorf("%s: authenticated", name)
			}
			// Who had authenticated and then failed is sent away after a moment, which
			// may be over on a slow machine.
			enable := setCC(wire.CCEnable | wire.CCIOSQES | wire.CCIOCQES)
			if done, err := fabric.Do(q, &enable, nil); err == nil && done.Status != wire.AuthRequired.WithDNR() {
				t.Errorf("%s: enabled: %v", name, done.Status)
			}
			if err := r.prove(q, dhchap.Peer{Host: k.Host}); err == nil {
				t.Errorf("%s: authenticated afterwards", name)
			}
		}
		if n := r.target.Refused(); n.Authentications < 3 {
			t.Errorf("%+v", n)
		}
		for _, s := range r.target.Controllers() {
			if s.Authenticated {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestAuthCommands(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		r.guarded(keys(t))
		q := r.dial(0)
		r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
		auth := func(receive bool, n uint32) wire.AuthCommand {
			return wire.AuthCommand{Receive: receive, SPSP: wire.AuthSpecific, Protocol: wire.AuthProtocol, Length: n}
		}
		for _, receive := range []bool{false, true} {
			invalid := wire.InvalidField.WithDNR()
			r.want(invalid, q, auth(receive, 0).Command(), nil)
			r.want(invalid, q, auth(receive, wire.MaxAuthMessage+1).Command(), make([]byte, wire.MaxAuthMessage+1))
			r.want(wire.SGLInvalidLength.WithDNR(), q, auth(receive, 64).Command(), make([]byte, 32))
			bad := auth(receive, 64)
			bad.Protocol = 1
			r.want(invalid, q, bad.Command(), make([]byte, 64))
			bad = auth(receive, 64)
			bad.SPSP = 2
			r.want(invalid, q, bad.Command(), make([]byte, 64))
		}
		// The failure is fetched once what was sent makes no sense.
		r.want(wire.Success, q, auth(false, 64).Command(), make([]byte, 64))
		b := make([]byte, 64)
		r.want(wire.Success, q, auth(true, 64).Command(), b)
		var f wire.AuthFailure
		if err := f.UnmarshalBinary(b); err != nil || f.ID != wire.AuthFailure1ID || !errors.Is(f.Why, wire.AuthBadPayload) {
			t.Errorf("%+v %v", f, err)
		}
	})
}

// Who does not authenticate takes no more places than there are for that: whoever
// has waited longest leaves for who comes. They give them back.
func TestUnprovenHosts(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		r.guarded(keys(t))
		var all []fabric.Queue
		for range maxUnproven/strangersShare + 5 {
			q := r.dial(0)
			r.want(wire.Success, q, connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
			all = append(all, q)
		}
		for _, q := range all[:5] {
			r.dead(q)
		}
		for _, q := range all[5:] {
			r.want(wire.AuthRequired.WithDNR(), q, wire.PropertyCommand{Offset: wire.PropVS}.Command(), nil)
		}
		for _, q := range all[6:] {
			if err := q.Close(); err != nil {
				t.Error(err)
			}
		}
		until(t, "only one has yet to authenticate", func() bool { return r.target.unproven.Len() == 1 })
	})
}
