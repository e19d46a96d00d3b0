// Package lab runs a SIMULATED twin of a model: one switch or server behind
// real SSH for every device that is described, in one unprivileged process on
// loopback; and a vCenter, where its program is there, in another. It never dials anything but 127.0.0.0/8 and ::1.
//
// A lab belongs to a directory of HCL files. While it is up, .weft/lab there
// holds an ssh_config that leads to its devices, and nowhere else.
package lab

// VCenterProgram simulates vCenter, in a process of its own: weft does without its size. It
// is started where it lies beside weft.
const VCenterProgram = "weft-lab-vcenter"
