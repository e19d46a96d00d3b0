// Package guest boots Debian guests with real kernels under QEMU and joins
// them by planes: the lab in which Linux itself is the peer of weft.
//
// It needs Linux, root, debootstrap and QEMU; see [Missing]. The disk image is
// built once per recipe and kept in the user's cache directory. Everything else
// lives in a run directory that goes with the run: QEMU dies with the process
// that started it, and what a crashed run left is taken away by the next one.
// Nothing listens anywhere but on 127.0.0.1, at ports the kernel chose.
package guest
