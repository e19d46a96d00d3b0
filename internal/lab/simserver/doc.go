// Package simserver simulates a Linux server as an SSH session sees one.
//
// A command line is interpreted, never handed to a real shell: files come from
// the server's own directory or are rendered from the model, and commands come
// from a table of simulated tools. What the table does not hold is refused, as
// is any argument that a tool does not know, so that nothing works in the lab
// by chance. Only files below /usr/local/lib/weft, weft's own agents, are
// really executed: the very file that was uploaded, as a child of the lab,
// with --root and --map so that it stays inside.
//
// Restart= in a unit is not honoured: an agent that was killed stays dead, so
// that a fault lasts until it is mended. A reboot starts enabled units.
package simserver
