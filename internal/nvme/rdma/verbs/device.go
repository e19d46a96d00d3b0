//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"weft/internal/hint"
)

// What the kernel offers to programs, and why it may not be there.
const (
	cmFile      = "/dev/infiniband/rdma_cm"
	devicesPath = "/sys/class/infiniband"
)

// present reports what of the kernel's is missing, or may not be used: devices
// are listed in one place, cm is the connection manager's.
func present(devices, cm string) error {
	if found, err := os.ReadDir(devices); err != nil || len(found) == 0 {
		return hint.Wrap(errors.New("this machine has no RDMA device"), "rdma link show lists them; the driver of the NIC may not be loaded")
	}
	f, err := os.OpenFile(cm, os.O_RDWR, 0)
	if err != nil {
		return unopened(err)
	}
	return f.Close()
}

// unopened says what to do about a file of the kernel's that cannot be opened.
func unopened(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hint.Wrap(err, "load the kernel module: modprobe rdma_ucm")
	case errors.Is(err, fs.ErrPermission):
		return hint.Wrap(err, "this user may not use /dev/infiniband: run as root, or let a rule of udev give its files to a group of the user")
	}
	return err
}

// unpinned says what to do where the kernel does not keep memory in place:
// queues need some, too.
func unpinned(err error) error {
	if errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.EAGAIN) {
		return hint.Wrap(err, "locked memory is limited: see ulimit -l, or LimitMEMLOCK= of the systemd unit")
	}
	return err
}

// Devices lists the devices.
func (l *library) Devices() ([]Device, error) {
	count := stable(4)
	list, err := l.pointer(l.ibv.Ibv_get_device_list, address(count))
	if err != nil {
		return nil, fmt.Errorf("list RDMA devices: %w", err)
	}
	defer call(l.ibv.Ibv_free_device_list, list)
	var all []Device
	var errs []error
	for i := range int(le.Uint32(count)) {
		d, err := l.describe(word(list, i*8))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, d)
	}
	return all, errors.Join(errs...)
}

// describe opens a device for a moment.
func (l *library) describe(dev uintptr) (Device, error) {
	d := Device{Name: text(call(l.ibv.Ibv_get_device_name, dev), deviceNameLen), IWARP: half(dev, deviceTransp) == iwarpTransp}
	ctx, err := l.pointer(l.ibv.Ibv_open_device, dev)
	if err != nil {
		return d, unopened(fmt.Errorf("open RDMA device %s: %w", d.Name, err))
	}
	defer call(l.ibv.Ibv_close_device, ctx)
	if err := checkContext(ctx, dev); err != nil {
		return d, err
	}
	limits := stable(limitSize)
	if err := code(l.ibv.Ibv_query_device, ctx, address(limits)); err != nil {
		return d, fmt.Errorf("ask RDMA device %s what it can do: %w", d.Name, err)
	}
	gids, err := l.gids(ctx)
	if err != nil {
		return d, fmt.Errorf("ask RDMA device %s for its addresses: %w", d.Name, err)
	}
	for n := 1; n <= int(limits[limitPorts]); n++ {
		p := stable(portSize)
		if err := code(l.ibv.Ibv_query_port, ctx, uintptr(n), address(p)); err != nil {
			return d, fmt.Errorf("ask port %d of RDMA device %s: %w", n, d.Name, err)
		}
		d.Ports = append(d.Ports, Port{
			Number: n, State: PortState(le.Uint32(p[portState:])), Ethernet: p[portLayer] == layerEther,
			MTU: mtuBytes(le.Uint32(p[portMTU:])), LID: int(le.Uint16(p[portLID:])), SMLID: int(le.Uint16(p[portSMLID:])),
			GIDs: gids[n],
		})
	}
	return d, nil
}

// mostGIDs is for how many addresses of a device there is room.
const mostGIDs = 1024

// gids are the addresses of a device by port.
func (l *library) gids(ctx uintptr) (map[int][]GID, error) {
	table := stable(mostGIDs * gidSize)
	r, errno := l.try(l.ibv.Ibv_query_gid_table, ctx, address(table), mostGIDs, 0, gidSize)
	n := int(r)
	if n < 0 {
		if errno == 0 {
			errno = syscall.Errno(-n)
		}
		if errno == syscall.EOPNOTSUPP {
			return nil, nil
		}
		return nil, errno
	}
	all := map[int][]GID{}
	for i := range min(n, mostGIDs) {
		e := table[i*gidSize:]
		port := int(le.Uint32(e[gidIndex+4:]))
		all[port] = append(all[port], GID{
			Index: int(le.Uint32(e[gidIndex:])), Type: GIDType(le.Uint32(e[gidType:])), Raw: [16]byte(e[gidRaw : gidRaw+16]),
		})
	}
	return all, nil
}

// domain is the protection domain of this process on a device.
type domain struct {
	l      *library
	ctx    uintptr // ibv_context, of librdmacm
	pd     uintptr // ibv_pd
	limits Limits

	hubbed atomic.Uint32 // hubs made so far

	mu   sync.Mutex    // of what follows, and held by listen
	hubs map[*hub]bool // that are told what concerns their pairs
}

// domain finds or makes that of a device. The first time, the device is checked.
func (l *library) domain(ctx uintptr) (*domain, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.domains[ctx]; d != nil {
		return d, nil
	}
	d := &domain{l: l, ctx: ctx}
	dev := word(ctx, contextDevice)
	if err := checkContext(ctx, dev); err != nil {
		return nil, err
	}
	d.limits.Device = text(call(l.ibv.Ibv_get_device_name, dev), deviceNameLen)
	d.limits.IWARP = half(dev, deviceTransp) == iwarpTransp
	b := stable(limitSize)
	if err := code(l.ibv.Ibv_query_device, ctx, address(b)); err != nil {
		return nil, fmt.Errorf("ask RDMA device %s what it can do: %w", d.limits.Device, err)
	}
	d.limits.Works = int(le.Uint32(b[limitWorks:]))
	d.limits.Dones = int(le.Uint32(b[limitDones:]))
	d.limits.Reads = int(le.Uint32(b[limitReads:]))
	d.limits.Issues = int(le.Uint32(b[limitIssues:]))
	var err error
	if d.pd, err = l.pointer(l.ibv.Ibv_alloc_pd, ctx); err != nil {
		return nil, fmt.Errorf("protection domain on %s: %w", d.limits.Device, err)
	}
	if err := errors.Join(d.check(), d.hush()); err != nil {
		call(l.ibv.Ibv_dealloc_pd, d.pd)
		return nil, err
	}
	d.dodge()
	l.domains[ctx] = d
	return d, nil
}

// dodge keeps a completion queue for ever that nobody uses. Soft-iWARP's library takes
// one certain place among the memory that it shares with the kernel, page 144, for
// that of a queue which could not be made: with so many queues every other one is
// refused without a reason. This one, as the first, lies there.
func (d *domain) dodge() {
	const page, entry = 4096, 32 // bytes, of which the kernel makes a power of two
	if d.limits.IWARP {
		call(d.l.ibv.Ibv_create_cq, d.ctx, 145*page/entry, 0, 0, 0) // if it cannot be had, few queues do without
	}
}

// forget is for a device that was removed: the next one may have its address.
func (l *library) forget(d *domain) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.domains[d.ctx] == d {
		delete(l.domains, d.ctx)
	}
}

func (d *domain) Limits() Limits { return d.limits }

// Register pins the memory twice: Go leaves it where it is, and so does the
// kernel.
func (d *domain) Register(b []byte, a Access) (*Memory, error) {
	if len(b) == 0 {
		return nil, errors.New("register no memory at all")
	}
	pins := new(runtime.Pinner)
	pins.Pin(&b[0])
	mr, err := d.l.pointer(d.l.ibv.Ibv_reg_mr, d.pd, address(b), uintptr(len(b)), uintptr(a))
	if err != nil {
		pins.Unpin()
		return nil, unpinned(fmt.Errorf("register %d bytes on %s: %w", len(b), d.limits.Device, err))
	}
	if word(mr, mrPD) != d.pd || word(mr, mrAddr) != address(b) || word(mr, mrLength) != uintptr(len(b)) {
		call(d.l.ibv.Ibv_dereg_mr, mr)
		pins.Unpin()
		return nil, mismatch("ibv_mr")
	}
	return NewMemory(uint64(address(b)), half(mr, mrLKey), half(mr, mrRKey), func() error {
		err := code(d.l.ibv.Ibv_dereg_mr, mr)
		pins.Unpin()
		if err != nil {
			return fmt.Errorf("take memory back from %s: %w", d.limits.Device, err)
		}
		return nil
	}), nil
}
