package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/psk"
	"weft/internal/nvme/tls13"
)

// secrets adds the files with the keys for authentication. The keys themselves are
// never on the command line, where everybody on this machine could read them.
func (h *host) secrets(f *pflag.FlagSet) {
	f.StringVar(&h.way.KeyFile, "dhchap-secret-file", "", "file with this host's key, where the target asks for it (weft-target key makes one)")
	f.StringVar(&h.way.SubKeyFile, "dhchap-ctrl-secret-file", "", "file with the key that the target has to prove")
}

// tlsFlag adds the file with the key for TLS.
func (h *host) tlsFlag(f *pflag.FlagSet) {
	f.StringVar(&h.way.TLSKeyFile, "tls-key-file", "", "file with the TLS key (create one with weft-target key --tls); all data is then encrypted")
}

// tlsKeys are what the key is for a subsystem: by an identity of version 1, and for
// targets that are older by one of version 0, where the names leave room for that. None
// where nothing is encrypted.
func (h *host) tlsKeys(places agent.Places, subsystem string) ([]tls13.Key, error) {
	if h.way.TLSKeyFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(places.Path(h.way.TLSKeyFile))
	if err != nil {
		return nil, fmt.Errorf("--tls-key-file: %w", err) // names the path
	}
	key, err := psk.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("--tls-key-file: %s: %w", h.way.TLSKeyFile, err)
	}
	one, err := key.TLS(psk.One, h.way.HostNQN, subsystem)
	if err != nil {
		return nil, err
	}
	if zero, err := key.TLS(psk.Zero, h.way.HostNQN, subsystem); err == nil {
		return []tls13.Key{one, zero}, nil
	}
	return []tls13.Key{one}, nil
}

// keys reads them.
func (h *host) keys(places agent.Places, o *initiator.Options) (err error) {
	if o.Secret, err = readSecret(places, h.way.KeyFile); err != nil {
		return fmt.Errorf("--dhchap-secret-file: %w", err)
	}
	if o.SubSecret, err = readSecret(places, h.way.SubKeyFile); err != nil {
		return fmt.Errorf("--dhchap-ctrl-secret-file: %w", err)
	}
	return nil
}

func readSecret(places agent.Places, path string) (dhchap.Secret, error) {
	if path == "" {
		return dhchap.Secret{}, nil
	}
	text, err := os.ReadFile(places.Path(path))
	if err != nil {
		return dhchap.Secret{}, err // names the path
	}
	s, err := dhchap.ParseSecret(string(text))
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// unproven says what helps where the target does not let this host in.
func unproven(err error) error {
	if errors.Is(err, initiator.ErrNoSecret) {
		return hint.Wrap(err, "write the key that the target has for this host to a file, and name it: --dhchap-secret-file FILE")
	}
	return err
}
