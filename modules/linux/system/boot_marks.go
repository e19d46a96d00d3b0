package system

import (
	"encoding/json"
	"fmt"
	"strings"

	"weft/plan"
)

// Connects is a connection that a script makes again, and the options that it does so
// with.
type Connects struct{ NQN, HostNQN, Address, Options string }

// inherit has connections be made again with the type of service that a ledger says they
// have.
func (b *Boot) inherit(entries []plan.Entry) {
	if len(b.Connects) == 0 {
		return
	}
	if b.plain == "" {
		b.plain = b.Script
	}
	b.Script = b.plain
	for _, e := range entries {
		var made struct {
			NQN, HostNQN, Address string
			ToS                   *int
		}
		if e.Kind != "nvme_connection" || json.Unmarshal(e.Applied, &made) != nil || made.ToS == nil || *made.ToS < 0 {
			continue
		}
		for _, c := range b.Connects {
			if c.NQN == made.NQN && c.HostNQN == made.HostNQN && c.Address == made.Address {
				b.Script = strings.ReplaceAll(b.Script, c.Options, fmt.Sprintf("%s,tos=%d", c.Options, *made.ToS))
			}
		}
	}
}
