// Package lab simulates the devices of a model, in the program weft-lab: one switch or server
// behind real SSH for every device that is described, in one unprivileged process on loopback,
// and each vCenter in another. It never dials anything but 127.0.0.0/8 and ::1.
//
// A lab belongs to a directory of HCL files. While it is up, .weft/lab there has an ssh_config
// that leads to its devices, and nowhere else. internal/labctl is weft's side of it.
package lab
