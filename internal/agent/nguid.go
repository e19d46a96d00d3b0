package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// LocalNGUID stands for an NGUID that is made from the UUID. It lies in the space
// of identifiers that are administered locally: weft has no OUI of its own to make
// others from.
const LocalNGUID = "local"

// GUID is NGUID as hosts see it; zero: there is none.
func (n Namespace) GUID() (id [16]byte, err error) {
	switch n.NGUID {
	case "":
		return id, nil
	case LocalNGUID:
		u, err := uuid.Parse(n.UUID)
		if err != nil {
			return id, err
		}
		sum := sha256.Sum256(append([]byte("weft nguid "), u[:]...))
		id = [16]byte(sum[:16])
		id[oui] = id[oui]&^1 | 2 // of no group, and local
		return id, nil
	}
	raw, err := hex.DecodeString(strings.ReplaceAll(n.NGUID, "-", ""))
	if err != nil || len(raw) != len(id) || id == [16]byte(raw) {
		return id, fmt.Errorf("nguid %q is neither %q nor 32 hexadecimal digits that are not all zero", n.NGUID, LocalNGUID)
	}
	return [16]byte(raw), nil
}

// oui is where in an NGUID the number of the organisation stands that gives it
// out, behind 8 bytes of extension: it is the EUI-64 based designator of 16 bytes of
// SPC-4.
const oui = 8
