//go:build unix

package main

import (
	"context"
	"io"
	"runtime"
	"slices"

	"weft/internal/labctl"
	"weft/inventory"
	"weft/modules/windows"
)

// labOrder is the lab of a model in the folder .weft/lab of dir.
func (f *fabric) labOrder(m *inventory.Model, dir string, real bool) labctl.Order {
	o := labctl.Order{Dir: dir, Real: real, Devices: labctl.Describe(m)}
	windows := windows.OS().Name // which Go uses as well
	if !slices.ContainsFunc(m.Servers, func(s *inventory.Server) bool { return s.OS == windows }) {
		return o
	}
	const agent = "weft-initiator"
	o.StandIn = &labctl.StandIn{}
	sum, err := f.agents.Sum(windows, "amd64", agent)
	if err == nil {
		o.StandIn.For = sum
		o.StandIn.Exe, _, err = f.agents.Open(runtime.GOOS, runtime.GOARCH, agent)
	}
	if err != nil {
		o.StandIn.Missing = err.Error()
	}
	return o
}

// startLab starts a lab and waits until it is up.
func (f *fabric) startLab(ctx context.Context, o labctl.Order, log io.Writer) (*labctl.Process, error) {
	program, err := labctl.Program(f.opts.dir)
	if err != nil {
		return nil, err
	}
	return labctl.Start(ctx, program, o, log)
}
