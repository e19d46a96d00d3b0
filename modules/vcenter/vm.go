package vcenter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"weft/internal/slice"
)

// A vm is a virtual machine.
type vm struct {
	ref      types.ManagedObjectReference
	path     string
	hardware int    // version
	guest    string // ubuntu64Guest
	on       bool   // or suspended
	locked   bool   // all of its memory is reserved
	host     types.ManagedObjectReference
	adapters []adapter
	note     vmNote
}

// An adapter is one for PVRDMA.
type adapter struct {
	key      int32
	card     *types.VirtualVmxnet3Vrdma
	group    string // key of its port group
	protocol string
}

func (v *vm) adapter(key int32) *adapter {
	i := slices.IndexFunc(v.adapters, func(a adapter) bool { return a.key == key })
	if key == 0 || i < 0 {
		return nil
	}
	return &v.adapters[i]
}

// A vmNote is what the custom attribute of a virtual machine says: whose adapters are
// which devices, and whether weft has reserved its memory.
type vmNote struct {
	owner  string
	keys   map[string]int32   // devices, by the name of the adapter
	begun  map[string][]int32 // of adapters that are just being made: the devices that were there before
	locked bool
}

const lockedWord = "reserved"

func readVMNote(text string) vmNote {
	n := vmNote{keys: map[string]int32{}, begun: map[string][]int32{}}
	for i, word := range strings.Fields(text) {
		name, key, named := strings.Cut(word, "=")
		beginning, before, begun := strings.Cut(word, ">")
		k, err := strconv.ParseInt(key, 10, 32)
		switch {
		case i == 0:
			n.owner = word
		case word == lockedWord:
			n.locked = true
		case named && err == nil:
			n.keys[name] = int32(k)
		case begun:
			n.begun[beginning] = []int32{}
			for _, text := range strings.Split(before, ",") {
				if k, err := strconv.ParseInt(text, 10, 32); err == nil {
					n.begun[beginning] = append(n.begun[beginning], int32(k))
				}
			}
		}
	}
	return n
}

// String is "" where nothing is kept of it any more.
func (n vmNote) String() string {
	if len(n.keys)+len(n.begun) == 0 {
		return ""
	}
	words := []string{n.owner}
	for _, name := range sorted(n.keys) {
		words = append(words, name+"="+strconv.Itoa(int(n.keys[name])))
	}
	for _, name := range sorted(n.begun) {
		before := slice.Map(n.begun[name], func(k int32) string { return strconv.Itoa(int(k)) })
		words = append(words, name+">"+strings.Join(before, ","))
	}
	if n.locked {
		words = append(words, lockedWord)
	}
	return strings.Join(words, " ")
}

// settle finds the devices of adapters that were begun: the only one that was not there
// before and is nobody else's.
func (v *vm) settle() {
	for name, before := range v.note.begun {
		var fresh []int32
		for _, a := range v.adapters {
			named := slices.Contains(slices.Collect(maps.Values(v.note.keys)), a.key)
			if !named && !slices.Contains(before, a.key) {
				fresh = append(fresh, a.key)
			}
		}
		if len(fresh) == 1 {
			v.note.keys[name] = fresh[0]
			delete(v.note.begun, name)
		}
	}
}

// readVMs reads the machines at some paths, and those with a mark.
func (c *client) readVMs(ctx context.Context, all []mo.VirtualMachine, folders []mo.ManagedEntity, key int32, paths []string) (map[string]*vm, error) {
	out := map[string]*vm{}
	for _, m := range all {
		path, text := pathOf(m.ManagedEntity, folders), noteIn(m.CustomValue, key)
		if text == "" && !slices.Contains(paths, path) {
			continue
		}
		v, err := c.readVM(ctx, m.Self)
		if err != nil {
			return nil, err
		}
		v.path, v.note = path, readVMNote(text)
		v.settle()
		out[path] = v
	}
	return out, nil
}

// readVM reads one machine, but for its path and its mark.
func (c *client) readVM(ctx context.Context, ref types.ManagedObjectReference) (*vm, error) {
	var m mo.VirtualMachine
	props := []string{"config.version", "config.guestId", "config.memoryReservationLockedToMax", "config.hardware.device", "runtime.powerState", "runtime.host"}
	if err := property.DefaultCollector(c.vim).RetrieveOne(ctx, ref, props, &m); err != nil {
		return nil, err
	}
	v := &vm{ref: ref, on: m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff}
	if m.Runtime.Host != nil {
		v.host = *m.Runtime.Host
	}
	if m.Config == nil { // it cannot be reached, or is just being made
		return v, nil
	}
	v.hardware, _ = strconv.Atoi(strings.TrimPrefix(m.Config.Version, "vmx-")) // 0: not told
	v.guest, v.locked = m.Config.GuestId, m.Config.MemoryReservationLockedToMax != nil && *m.Config.MemoryReservationLockedToMax
	for _, d := range m.Config.Hardware.Device {
		card, ok := d.(*types.VirtualVmxnet3Vrdma)
		if !ok {
			continue
		}
		a := adapter{key: card.Key, card: card, protocol: cmp.Or(card.DeviceProtocol, "rocev1")}
		if b, ok := card.Backing.(*types.VirtualEthernetCardDistributedVirtualPortBackingInfo); ok {
			a.group = b.Port.PortgroupKey
		}
		v.adapters = append(v.adapters, a)
	}
	return v, nil
}

// linuxGuests are how guest identifiers of Linux begin; those of 64 bits end in 64Guest.
var linuxGuests = []string{"almalinux", "amazonlinux", "asianux", "centos", "coreos", "crxPod", "crxSys", "debian", "fedora", "mandriva", "oesGuest", "oracleLinux", "other", "opensuse",
	"redhat", "rhel", "rockylinux", "sles", "suse", "turboLinux", "ubuntu", "vmwarePhoton"}

// linux reports whether a guest is Linux of 64 bits, by its identifier. Those of other
// systems that begin with other have no Linux in them.
func linux(guest string) bool {
	if !strings.HasSuffix(guest, "64Guest") || strings.HasPrefix(guest, "other") && !strings.Contains(guest, "Linux") {
		return false
	}
	return slices.ContainsFunc(linuxGuests, func(p string) bool { return strings.HasPrefix(guest, p) })
}
