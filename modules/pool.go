package modules

import (
	"context"
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// Pool is the drives that volumes are cut from. weft does not manage drives
// yet: it makes sure that they are there, and refuses real ones. Only the
// lab's simulated drives, which are plain files, pass.
type Pool struct {
	Drives []string // names below /dev/disk/by-id
}

func drivePath(id string) string { return "/dev/disk/by-id/" + id }

func (p *Pool) look(id, test string) remote.Look {
	return remote.Look{Args: []string{"test", test, drivePath(id)}}
}

// productLook tells the lab's servers from others.
func productLook() remote.Look { return remote.Look{File: "/sys/class/dmi/id/product_name"} }

// Looks implements kind.
func (p *Pool) Looks() []remote.Look {
	var looks []remote.Look
	for _, id := range p.Drives {
		looks = append(looks, p.look(id, "-e"), p.look(id, "-f"))
	}
	return append(looks, productLook())
}

// Parse implements kind.
func (p *Pool) Parse(s remote.Seen) (*Pool, error) {
	simulated := strings.Contains(s.Of(productLook()).Text(), "(SIMULATED)")
	for _, id := range p.Drives {
		if s.Of(p.look(id, "-e")).Code != 0 {
			return nil, hint.Wrap(fmt.Errorf("there is no %s", drivePath(id)),
				"list the drives with: ls -l /dev/disk/by-id")
		}
		if s.Of(p.look(id, "-f")).Code != 0 && !simulated {
			return nil, hint.Wrap(fmt.Errorf("%s is a real drive: volumes on drives are described, not yet managed", drivePath(id)),
				"use the lab (--lab), whose drives are simulated, or leave pools and targets out")
		}
	}
	return p, nil
}

// Diff implements kind: a pool is there or refused.
func (p *Pool) Diff(*Pool) []plan.Change { return nil }

// Steps implements kind.
func (p *Pool) Steps(*Pool) []remote.Step { return nil }

// Verify implements kind.
func (p *Pool) Verify(context.Context, remote.Host) error { return nil }
