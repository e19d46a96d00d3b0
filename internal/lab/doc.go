// Package lab runs a SIMULATED twin of a model: one switch or server behind
// real SSH for every device that is described, in one unprivileged process on
// loopback. It never dials anything but 127.0.0.0/8 and ::1.
//
// A lab belongs to a directory of HCL files. While it is up, .weft/lab there
// holds an ssh_config that leads to its devices, and nowhere else.
package lab
