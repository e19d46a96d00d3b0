// Package labctl is weft's side of a simulated lab, and what weft and the program weft-lab
// exchange: the lab's folder .weft/lab with its state, the requests to its control socket, and
// the devices that it is to simulate. It holds no simulator, so that weft does not link one.
package labctl
