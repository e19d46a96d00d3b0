package nvme

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/modules/linux/storage"
	"weft/plan"
)

// NVMeTAuth keeps what the kernel's target asks of a host before it lets it in,
// by DH-HMAC-CHAP. Absent, it asks nothing.
type NVMeTAuth struct {
	NQN     string
	Key     []byte // that the host proves
	CtrlKey []byte `json:",omitempty"` // that the target proves to it; empty: nothing
	Hash    string `json:",omitempty"` // sha256, sha384, sha512; "" as the kernel has it
	DHGroup string `json:",omitempty"` // null, ffdhe2048 and so on; "" as the kernel has it

	// What weft set before, and what is declared no more.
	GoneHash  string `json:",omitempty"`
	GoneGroup string `json:",omitempty"`

	Keys KeyPair    `json:"-"`
	past *NVMeTAuth // before weft; nil: the kernel's own
}

// NVMeTAuthKind is the kind nvmet_auth.
func NVMeTAuthKind() *host.Kind[NVMeTAuth] {
	return &host.Kind[NVMeTAuth]{
		Name:  "nvmet_auth",
		Looks: (*NVMeTAuth).Looks, Parse: (*NVMeTAuth).Parse, Diff: (*NVMeTAuth).Diff, Steps: (*NVMeTAuth).Steps,
		Reveal: (*NVMeTAuth).reveal, Boot: (*NVMeTAuth).Boot, Advice: (*NVMeTAuth).Advice, Secrets: (*NVMeTAuth).hides,
		Partial: host.Partial[NVMeTAuth]{Follow: (*NVMeTAuth).follow, Settle: (*NVMeTAuth).settle},
	}
}

// What the kernel has of a host that nobody told otherwise: nvmet_hosts_make_group
// in drivers/nvme/target/configfs.c of Linux 6.12.
const (
	kernelHash  = "sha256"
	kernelGroup = "null"
)

func (n *NVMeTAuth) follow(p host.Past[NVMeTAuth]) {
	n.past = p.Former
	if n.Hash == "" {
		n.GoneHash = cmp.Or(p.Applied.Hash, p.Applied.GoneHash)
	}
	if n.DHGroup == "" {
		n.GoneGroup = cmp.Or(p.Applied.DHGroup, p.Applied.GoneGroup)
	}
}

func (n *NVMeTAuth) settle(*NVMeTAuth) { n.GoneHash, n.GoneGroup = "", "" }

// towards is the state with what becomes of what is declared no more, where have
// is what is there: it goes back unless an operator changed it since.
func (n *NVMeTAuth) towards(have *NVMeTAuth) *NVMeTAuth {
	out := *n
	if n.GoneHash != "" && have.Hash == n.GoneHash {
		out.Hash = cmp.Or(host.Some(n.past).Hash, kernelHash)
	}
	if n.GoneGroup != "" && have.DHGroup == n.GoneGroup {
		out.DHGroup = cmp.Or(host.Some(n.past).DHGroup, kernelGroup)
	}
	return &out
}

func (n *NVMeTAuth) reveal() error { return n.Keys.reveal(&n.Key, &n.CtrlKey) }

func (n *NVMeTAuth) dir() string { return (&NVMeTHost{NQN: n.NQN}).dir() }

type authLooks struct{ key, ctrlKey, hash, group remote.Look }

func (n *NVMeTAuth) looks() authLooks {
	in := func(name string) remote.Look { return remote.Look{File: n.dir() + "/" + name, Root: true} }
	return authLooks{in("dhchap_key"), in("dhchap_ctrl_key"), in("dhchap_hash"), in("dhchap_dhgroup")}
}

func (n *NVMeTAuth) Looks() []remote.Look {
	l := n.looks()
	return []remote.Look{nvmetLook(), l.key, l.ctrlKey, l.hash, l.group}
}

func (n *NVMeTAuth) Parse(s remote.Seen) (*NVMeTAuth, error) {
	t, err := parseNVMeT(s)
	if err != nil || t["hosts/"+n.NQN] == "" {
		return nil, err
	}
	have := &NVMeTAuth{NQN: n.NQN}
	l := n.looks()
	for _, a := range []struct {
		look remote.Look
		set  func(text []byte)
	}{
		{l.key, func(text []byte) { have.Key = text }},
		{l.ctrlKey, func(text []byte) { have.CtrlKey = text }},
		{l.hash, func(text []byte) { have.Hash = strings.TrimSuffix(strings.TrimPrefix(string(text), "hmac("), ")") }},
		{l.group, func(text []byte) { have.DHGroup = string(text) }},
	} {
		got, err := see.File(s, a.look)
		if err != nil {
			return nil, err
		}
		if got.Absent {
			return nil, hint.Wrap(fmt.Errorf("the kernel's target of this server does not authenticate hosts: there is no %s", a.look.File),
				"it wants a kernel with CONFIG_NVME_TARGET_AUTH; engine = \"weft\" does without")
		}
		if text := bytes.TrimSpace(got.Content); string(text) != "(null)" {
			a.set(text)
		}
	}
	if len(have.Key)+len(have.CtrlKey) == 0 {
		return nil, nil
	}
	return have, nil
}

func (n *NVMeTAuth) Diff(have *NVMeTAuth) []plan.Change {
	is := host.Some(have)
	want := host.Some(n).towards(is)
	out := changeKey("dhchap_key", is.Key, want.Key, plan.ImpactNone)
	out = append(out, changeKey("dhchap_ctrl_key", is.CtrlKey, want.CtrlKey, plan.ImpactNone)...)
	if want.Hash != "" {
		out = append(out, plan.Changed("dhchap_hash", is.Hash, want.Hash, plan.ImpactNone)...)
	}
	if want.DHGroup != "" {
		out = append(out, plan.Changed("dhchap_dhgroup", is.DHGroup, want.DHGroup, plan.ImpactNone)...)
	}
	return out
}

// forgetScript makes the directory of the host $2 in $1 anew, since the kernel
// cannot be told to forget a key; who allows the host does so again, once it has
// the key that it is to keep, which stands in the input. Hosts that are connected
// stay so.
const forgetScript = `cd "$1" || exit 1; l=; for a in subsystems/*/allowed_hosts/"$2"; do if [ -L "$a" ]; then l="$l $a"; rm "$a" || exit 1; fi; done; ` +
	`rmdir "hosts/$2" && mkdir "hosts/$2" || exit 1; if [ "$3" = keep ]; then tee "hosts/$2/dhchap_key" >/dev/null || exit 1; fi; ` +
	`for a in $l; do ln -s "$1/hosts/$2" "$a" || exit 1; done`

// forget leaves the host with a key, or with none.
func (n *NVMeTAuth) forget(key []byte) remote.Step {
	if len(key) == 0 {
		return host.Run("sh", "-c", forgetScript, "sh", storage.NVMeT, n.NQN)
	}
	return remote.Step{Args: []string{"sh", "-c", forgetScript, "sh", storage.NVMeT, n.NQN, "keep"}, Secret: key}
}

// Steps: the host's own key comes last: from then on the rest
// is asked for.
func (n *NVMeTAuth) Steps(have *NVMeTAuth) []remote.Step {
	is := host.Some(have)
	want := host.Some(n).towards(is)
	var steps []remote.Step
	if len(is.Key) > 0 && len(want.Key) == 0 || len(is.CtrlKey) > 0 && len(want.CtrlKey) == 0 {
		steps = append(steps, is.forget(want.Key))
		is = &NVMeTAuth{Key: want.Key}
	}
	if n == nil {
		return steps
	}
	if want.Hash != "" && want.Hash != is.Hash {
		steps = append(steps, write(n.dir(), attr{"dhchap_hash", "hmac(" + want.Hash + ")"}))
	}
	if want.DHGroup != "" && want.DHGroup != is.DHGroup {
		steps = append(steps, write(n.dir(), attr{"dhchap_dhgroup", want.DHGroup}))
	}
	if len(want.CtrlKey) > 0 && !bytes.Equal(is.CtrlKey, want.CtrlKey) {
		steps = append(steps, tell(n.dir()+"/dhchap_ctrl_key", want.CtrlKey))
	}
	if len(want.Key) > 0 && !bytes.Equal(is.Key, want.Key) {
		steps = append(steps, tell(n.dir()+"/dhchap_key", want.Key))
	}
	return steps
}

// bootKey is the line of a boot script that gives an attribute the key in a
// file.
func bootKey(file, attribute string) string { return "key_ " + remote.Quote(file, attribute) }

func (n *NVMeTAuth) Boot() []string {
	var values []attr
	if n.Hash != "" {
		values = append(values, attr{"dhchap_hash", "hmac(" + n.Hash + ")"})
	}
	if n.DHGroup != "" {
		values = append(values, attr{"dhchap_dhgroup", n.DHGroup})
	}
	var lines []string
	if len(values) > 0 {
		lines = append(lines, bootSet(n.dir(), values...))
	}
	if n.Keys.TargetFile != "" {
		lines = append(lines, bootKey(n.Keys.TargetFile, n.dir()+"/dhchap_ctrl_key"))
	}
	return append(lines, bootKey(n.Keys.HostFile, n.dir()+"/dhchap_key"))
}

func (n *NVMeTAuth) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "Permission denied"), strings.Contains(reply, "No such file or directory"):
		return "the kernel's target has no authentication: it wants CONFIG_NVME_TARGET_AUTH"
	case strings.Contains(reply, "not supported"), strings.Contains(reply, "524"):
		return "the kernel lacks the hash or the group: modprobe dh_generic; dmesg"
	case strings.Contains(reply, "busy"):
		return "something else than weft's subsystems holds the host: ls " + storage.NVMeT + "/subsystems/*/allowed_hosts"
	}
	return ""
}

func (n *NVMeTAuth) hides() []*[]byte { return []*[]byte{&n.Key, &n.CtrlKey} }
