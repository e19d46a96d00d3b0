//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/labctl"
	"weft/plan"
)

func (a *labCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lab", Short: "Run SIMULATED switches and servers for the files of this directory",
		Long: `lab runs simulated devices for everything in the files: switches that parse and print
their own configuration, and servers that run weft's real agents. With --real, the
servers are virtual machines with real kernels. All of them answer SSH on loopback.
Nothing leaves this machine, and only --lab uses them.

The simulators are a separate program, weft-lab, which must be the same version as weft
and be in its directory or, unless weft runs as root, in PATH.`,
		Args: known, RunE: helps,
	}
	cmd.AddCommand(a.labUp(), a.labStatus(), a.labSSH(), a.labDown(), a.labEdit(), a.labStop(), a.labGrammar())
	return cmd
}

func (a *labCommand) labUp() *cobra.Command {
	var detach, real bool
	cmd := &cobra.Command{
		Use: "up", Short: "Start the lab", Args: exactly(),
		Long: `up starts the lab and runs it until Ctrl-C, or with --detach in the background until weft
lab down.

With --real, every Linux server is a Debian guest under QEMU, with its cards at their PCI
addresses. Each plane is a hub between the guests. Switches stay simulated: they count
the frames between the guests by class and block none, so the lab does not verify the MTU
or the state of their ports. Data centre bridging and pause of the cards are a STAND-IN
that only stores settings. Soft-RoCE or Soft-iWARP replaces hardware RDMA. --real needs
Linux, root, QEMU and debootstrap. The first start builds the image, which takes some
minutes.`,
		RunE: a.out.does(func(ctx context.Context, _ []string) error {
			m, err := a.project.load()
			if err != nil {
				return err
			}
			o := a.fabric.labOrder(m, a.opts.dir, real)
			o.Lacks = shortOf(m, real).lines(m, a.opts.dir)
			if detach {
				return a.detach(ctx, o)
			}
			l, err := a.fabric.startLab(ctx, o, a.out.stderr)
			if err != nil {
				return err
			}
			a.labIsUp(l.State)
			return l.Wait(ctx)
		}),
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "run in the background")
	cmd.Flags().BoolVar(&real, "real", false, "servers are guests with real kernels")
	return cmd
}

func (a *labCommand) labIsUp(s *labctl.State) {
	for _, text := range s.Lacks {
		a.out.say("! " + text)
	}
	a.out.say(fmt.Sprintf("The lab is up: %s on loopback. Use it with --lab; stop it with: weft -C %s lab down", s.Describe(), a.opts.dir))
}

// eventLab is a device of the lab.
const eventLab plan.EventType = "lab_device"

// detach starts a lab that runs on in the background.
func (a *labCommand) detach(ctx context.Context, o labctl.Order) error {
	log, err := labctl.CreateLog(a.opts.dir)
	if err != nil {
		return err
	}
	defer log.Close()
	if o.Real {
		fmt.Fprintf(a.out.stderr, "Guests are booting, which takes minutes; what happens is written to %s\n", log.Name())
	}
	o.Detached = true
	l, err := a.fabric.startLab(ctx, o, log)
	if err != nil {
		return err
	}
	a.labIsUp(l.State)
	return l.Detach()
}

func (a *labCommand) labStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the devices of the lab, and the traffic of guests", Args: exactly(),
		RunE: a.out.does(func(_ context.Context, _ []string) error {
			devices, err := labctl.Status(a.opts.dir)
			if err != nil {
				return a.noLab(err)
			}
			if a.opts.json {
				for _, d := range devices {
					a.out.emit(plan.Event{Type: eventLab, Message: d.Name + " is a device of the lab", Data: map[string]any{"lab": d}})
				}
				return nil
			}
			w := tabwriter.NewWriter(a.out.stdout, 0, 0, 2, ' ', 0)
			for _, d := range devices {
				state := "runs"
				if !d.Running {
					state = "has ended"
				}
				kind := "SIMULATED " + d.Kind
				if d.Kind == "guest" {
					kind = "guest, real kernel"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", d.Name, kind, d.Address, state)
				for _, t := range d.Traffic {
					c := t.Counts
					fmt.Fprintf(w, "  %s\t%d frames out, %d in, %d lost\t\t\n", t.Plane, c.In, c.Out, c.Lost)
				}
			}
			return w.Flush()
		}),
	}
}

func (a *labCommand) labSSH() *cobra.Command {
	return &cobra.Command{
		Use: "ssh HOST [COMMAND…]", Short: "Log in to a server of the lab as root, with the ssh of this machine",
		Annotations: noEvents(), Args: counted(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := labctl.Running(a.opts.dir)
			if err != nil {
				return err
			}
			if s == nil {
				return a.noLab(errors.New("no lab is up for this directory"))
			}
			ssh := exec.CommandContext(cmd.Context(), "ssh",
				append([]string{"-F", filepath.Join(a.opts.dir, ".weft", "lab", "ssh_config"), "-l", "root"}, args...)...)
			ssh.Stdin, ssh.Stdout, ssh.Stderr = a.out.stdin, stream(a.out.stdout), stream(a.out.stderr)
			if err := ssh.Run(); err != nil {
				return fmt.Errorf("ssh %s: %w", args[0], err)
			}
			return nil
		},
	}
}

func (a *labCommand) labDown() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "Stop the lab and everything it started", Args: exactly(),
		RunE: a.out.does(func(ctx context.Context, _ []string) error {
			if err := labctl.Down(ctx, a.opts.dir); err != nil {
				return err
			}
			a.out.say("The lab is down.")
			return nil
		}),
	}
}

func (a *labCommand) labEdit() *cobra.Command {
	return &cobra.Command{
		Use: "edit HOST LINE…", Short: "Type configuration lines on a simulated switch, like an administrator by hand",
		Args: counted(cobra.MinimumNArgs(2)),
		RunE: a.out.does(func(_ context.Context, args []string) error {
			if err := labctl.Edit(a.opts.dir, args[0], args[1:]...); err != nil {
				return a.noLab(err)
			}
			return nil
		}),
	}
}

func (a *labCommand) labStop() *cobra.Command {
	return &cobra.Command{
		Use: "fault HOST FAULT", Short: "Cause or repair a fault of a simulated device",
		Long: "fault causes a fault of a simulated device, or repairs it:\n\n  " + strings.Join(labctl.Faults(), "\n  ") +
			"\n\nOn a guest with a real kernel:\n\n  " + strings.Join(labctl.GuestFaults(), "\n  "),
		Args: exactly("HOST", "FAULT"),
		RunE: a.out.does(func(_ context.Context, args []string) error {
			if err := labctl.Fault(a.opts.dir, args[0], args[1]); err != nil {
				return a.noLab(err)
			}
			return nil
		}),
	}
}

// noLab says what to do where the lab could not be asked. What it answered
// speaks for itself.
func (a *labCommand) noLab(err error) error {
	if errors.As(err, new(*labctl.RefusedError)) || hint.Of(err) != "" {
		return err
	}
	return hint.Wrap(err, "is the lab up? weft -C %s lab up --detach", a.opts.dir)
}
