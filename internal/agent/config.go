package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// banner heads every configuration that weft writes.
const banner = "# Written by weft: the next apply replaces what is changed here.\n"

// Marshal returns the configuration as the text that weft writes: equal
// configurations give equal text, so that texts can be compared.
func (t *Target) Marshal() ([]byte, error) {
	text, err := t.Encode()
	return append([]byte(banner), text...), err
}

// Encode is Marshal for configurations that weft does not own.
func (t *Target) Encode() ([]byte, error) {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(t); err != nil {
		return nil, fmt.Errorf("writing the configuration of weft-target: %w", err)
	}
	return b.Bytes(), nil
}

// LoadTarget reads and validates the configuration in a file. It also returns
// the SHA-256 of the text, as TargetStatus.Config shows it.
func LoadTarget(path string) (t *Target, sum string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err // names the path
	}
	if t, err = ParseTarget(text); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	if err := t.Validate(); err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return t, Sum(text), nil
}

// ParseTarget reads a configuration without validating it. Unknown keys are
// errors; syntax errors and unknown keys are named with their lines.
func ParseTarget(text []byte) (*Target, error) {
	t := new(Target)
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(t)
	var unknown *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case err == nil:
		t.markPortals()
		return t, nil
	case errors.As(err, &unknown):
		var all []error
		for _, e := range unknown.Errors {
			line, _ := e.Position()
			all = append(all, fmt.Errorf("line %d: unknown key %q", line, strings.Join(e.Key(), ".")))
		}
		return nil, errors.Join(all...)
	case errors.As(err, &bad):
		line, _ := bad.Position()
		return nil, fmt.Errorf("line %d: %w", line, bad)
	}
	return nil, err
}

// markPortals gives every portal of TCP without a type of service that of the whole
// configuration, which files of before have.
func (t *Target) markPortals() {
	for i := range t.Portals {
		if p := &t.Portals[i]; p.Transport == "tcp" && p.ToS == 0 {
			p.ToS = t.ToS
		}
	}
	t.ToS = 0
}

// Sum is the SHA-256 of b in hexadecimal.
func Sum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
