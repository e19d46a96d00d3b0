//go:build linux && (amd64 || arm64)

package verbs

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"

	"weft/internal/hint"
)

// library is what was loaded. The names of the fields are those of the
// functions.
type library struct {
	ibv struct {
		Ibv_get_device_list, Ibv_free_device_list, Ibv_get_device_name      uintptr
		Ibv_open_device, Ibv_close_device, Ibv_query_device, Ibv_query_port uintptr
		Ibv_query_gid_table                                                 uintptr `symbol:"_ibv_query_gid_table"`
		Ibv_alloc_pd, Ibv_dealloc_pd, Ibv_reg_mr, Ibv_dereg_mr              uintptr
		Ibv_create_comp_channel, Ibv_destroy_comp_channel                   uintptr
		Ibv_create_cq, Ibv_destroy_cq, Ibv_get_cq_event, Ibv_ack_cq_events  uintptr
		Ibv_create_qp, Ibv_modify_qp, Ibv_destroy_qp                        uintptr
		Ibv_get_async_event, Ibv_ack_async_event                            uintptr
	}
	cm struct {
		Rdma_create_event_channel, Rdma_destroy_event_channel   uintptr
		Rdma_create_id, Rdma_destroy_id, Rdma_migrate_id        uintptr
		Rdma_bind_addr, Rdma_listen                             uintptr
		Rdma_resolve_addr, Rdma_resolve_route, Rdma_set_option  uintptr
		Rdma_create_qp, Rdma_destroy_qp                         uintptr
		Rdma_connect, Rdma_accept, Rdma_reject, Rdma_disconnect uintptr
		Rdma_get_cm_event, Rdma_ack_cm_event                    uintptr
	}
	errno uintptr // __errno_location

	mu      sync.Mutex
	domains map[uintptr]*domain // by ibv_context
}

// Load opens the libraries. It says what is missing where they, or devices, are
// not there; looking for devices changes nothing.
func Load() (Provider, error) {
	l := &library{domains: map[uintptr]*domain{}}
	if err := open("libibverbs.so.1", "libibverbs1 (Debian, Ubuntu) or libibverbs (Red Hat, SUSE)", &l.ibv); err != nil {
		return nil, err
	}
	if err := open("librdmacm.so.1", "librdmacm1 (Debian, Ubuntu) or librdmacm (Red Hat, SUSE)", &l.cm); err != nil {
		return nil, err
	}
	var err error
	if l.errno, err = purego.Dlsym(purego.RTLD_DEFAULT, "__errno_location"); err != nil {
		return nil, fmt.Errorf("find __errno_location: %w", err)
	}
	if err := present(devicesPath, cmFile); err != nil {
		return nil, err
	}
	return l, nil
}

// open loads a library and finds the functions that the fields of what table
// points to name.
func open(name, pkg string, table any) error {
	runtime.LockOSThread() // which dlerror speaks of
	defer runtime.UnlockOSThread()
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return hint.Wrap(fmt.Errorf("load %s: %w", name, err), "install the package %s", pkg)
	}
	v := reflect.ValueOf(table).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		symbol := f.Tag.Get("symbol")
		if symbol == "" {
			symbol = string(f.Name[0]|0x20) + f.Name[1:]
		}
		fn, err := purego.Dlsym(handle, symbol)
		if err != nil {
			return hint.Wrap(fmt.Errorf("find %s in %s: %w", symbol, name, err), "rdma-core is too old: version 35 or later is needed")
		}
		v.Field(i).SetUint(uint64(fn))
	}
	return nil
}

// call calls a function of C.
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// try calls a function that returns an int, or a pointer, and sets errno.
func (l *library) try(fn uintptr, args ...uintptr) (uintptr, syscall.Errno) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	at := call(l.errno)
	le.PutUint32(view(at, 4), 0)
	r := call(fn, args...)
	return r, syscall.Errno(le.Uint32(view(at, 4)))
}

// pointer is try for functions that return a pointer.
func (l *library) pointer(fn uintptr, args ...uintptr) (uintptr, error) {
	r, errno := l.try(fn, args...)
	if r == 0 {
		return 0, failure(errno)
	}
	return r, nil
}

// zero is try for functions of librdmacm, which return 0 or -1.
func (l *library) zero(fn uintptr, args ...uintptr) error {
	r, errno := l.try(fn, args...)
	if int32(r) != 0 {
		return failure(errno)
	}
	return nil
}

// code calls a function of libibverbs that returns an error number.
func code(fn uintptr, args ...uintptr) error { return numbered(call(fn, args...)) }

// numbered is what such a function has returned.
func numbered(result uintptr) error {
	if r := int32(result); r != 0 {
		return failure(syscall.Errno(max(r, -r)))
	}
	return nil
}

func failure(errno syscall.Errno) error {
	if errno == 0 {
		errno = syscall.EIO // it was not said
	}
	return errno
}

// view is memory of C.
func view(at uintptr, n int) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// word reads a pointer of a structure of C.
func word(at uintptr, offset int) uintptr {
	return uintptr(le.Uint64(view(at+uintptr(offset), 8)))
}

func half(at uintptr, offset int) uint32 { return le.Uint32(view(at+uintptr(offset), 4)) }

// text is a string of C in at most n bytes.
func text(at uintptr, n int) string {
	b := view(at, n)
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// stable is memory that C may be given: on the heap, where nothing moves.
// Whoever passes its address keeps it alive meanwhile.
//
//go:noinline
func stable(n int) []byte { return make([]byte, n) }

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }
