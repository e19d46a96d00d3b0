package language

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"weft/internal/nvme/names"
	"weft/internal/slice"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
)

// derivedHostNQN names a host by its owner and its server:
// nqn.2014-08.org.nvmexpress:uuid: and the version 5 UUID of OWNER/SERVER,
// for example nvmeof-pilot/server.node["cn1"], in the URL namespace of
// RFC 9562. uuidgen --sha1 --namespace @url computes the same. A server that was
// moved keeps the name that follows from its first address.
func derivedHostNQN(e *evaluator, o *object) cty.Value {
	server := e.refOf(o, "server")
	owner := e.owner()
	if server == nil || !owner.IsKnown() {
		return cty.DynamicVal
	}
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(owner.AsString()+"/"+e.origin(server)))
	return cty.StringVal(names.UUID + id.String())
}

// derivedProbeNQN is the name of weft's own initiator on a server. It differs
// from the host's, which the kernel uses.
func derivedProbeNQN(e *evaluator, o *object) cty.Value {
	host := e.attr(o, "hostnqn")
	if !host.IsKnown() {
		return host
	}
	return cty.StringVal(host.AsString() + ":probe")
}

// derivedSizes are those of NVMe's common block, and of messages small and large:
// what is lost may be only the large ones.
func derivedSizes(e *evaluator, o *object) cty.Value {
	sizes := []string{"4KiB"}
	if p := e.attr(o, "probe"); p.IsKnown() && !p.IsNull() && !strings.HasPrefix(p.AsString(), "nvme-") {
		sizes = []string{"64B", "512B", "4KiB", "64KiB"}
	}
	list := slice.Map(sizes, cty.StringVal)
	return cty.ListVal(list)
}

// derivedSerial is 20 characters that follow from the NQN.
func derivedSerial(e *evaluator, o *object) cty.Value {
	nqn := e.attr(o, "nqn")
	if !nqn.IsKnown() {
		return nqn
	}
	sum := sha256.Sum256([]byte(nqn.AsString()))
	return cty.StringVal("WEFT" + strings.ToUpper(hex.EncodeToString(sum[:8])))
}

// derivedUUID is the version 5 UUID of NQN/NSID in the URL namespace.
func derivedUUID(e *evaluator, o *object) cty.Value {
	nqn := e.attr(o.parent, "nqn")
	if !nqn.IsKnown() {
		return nqn
	}
	return cty.StringVal(uuid.NewSHA1(uuid.NameSpaceURL, []byte(nqn.AsString()+"/"+o.label)).String())
}

// derivedAllowHosts are the initiators that connect, each with weft's probe
// beside it.
func derivedAllowHosts(e *evaluator, o *object) cty.Value {
	if !e.get(e.connecting).IsKnown() {
		return cty.DynamicVal
	}
	var list []cty.Value
	seen := map[string]bool{}
	for _, initiator := range e.connections[o.parent] {
		for _, name := range []string{"hostnqn", "probe_nqn"} {
			nqn := e.attr(initiator, name)
			if !nqn.IsKnown() {
				return cty.DynamicVal
			}
			if !seen[nqn.AsString()] {
				seen[nqn.AsString()] = true
				list = append(list, nqn)
			}
		}
	}
	if list == nil {
		return cty.ListValEmpty(cty.String)
	}
	return cty.ListVal(list)
}

// connect finds the initiators of every target.
func (e *evaluator) connect() cty.Value {
	connections := map[*object][]*object{}
	all := e.contents()
	if !all.complete {
		return cty.DynamicVal
	}
	for _, d := range all.decls {
		if d.kind != "initiator" {
			continue
		}
		if !e.get(&d.instances).IsKnown() {
			return cty.DynamicVal
		}
		for _, o := range d.objects {
			if !e.enabled(o) {
				continue
			}
			for _, c := range o.all("connect") {
				to := e.attr(c, "to")
				if !to.IsKnown() {
					return cty.DynamicVal
				}
				targets, _ := flatten(to)
				for _, t := range targets {
					connections[t] = append(connections[t], o)
				}
			}
		}
	}
	e.connections = connections
	return cty.True
}

// owner is weft.name.
func (e *evaluator) owner() cty.Value {
	if e.root.weft == nil {
		return cty.DynamicVal
	}
	return e.attr(e.root.weft.object, "name")
}
