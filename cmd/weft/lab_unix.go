//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/lab"
	"weft/internal/labctl"
	"weft/plan"
)

func (a *labCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "lab", Short: "Run SIMULATED switches and servers for the files of this directory",
		Long: `lab runs simulated devices for everything in the files: switches that parse and print
their own configuration, and servers that run weft's real agents. With --real, the
servers are virtual machines with real kernels. All of them answer SSH on loopback.
Nothing leaves this machine, and only --lab uses them.`,
		Args: known, RunE: helps,
	}
	cmd.AddCommand(a.labUp(), a.labStatus(), a.labSSH(), a.labDown(), a.labEdit(), a.labStop(), a.labGrammar())
	return cmd
}

// labGCPercent lets the memory of a lab grow to four times what it holds before
// it is swept.
const labGCPercent = 300

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
			if real {
				if err := lab.Real(); err != nil {
					return err
				}
			}
			if detach {
				return a.detach(ctx, real)
			}
			// Simulated shells leave a lot behind, and not much stays of it.
			debug.SetGCPercent(labGCPercent)
			m, err := a.project.load()
			if err != nil {
				return err
			}
			l, err := lab.Start(ctx, m, lab.Options{Dir: a.opts.dir, Log: a.out.stderr, Real: real, Lacks: shortOf(m, real).lines(m, a.opts.dir), Agents: a.fabric.agents.Open})
			if err != nil {
				return err
			}
			a.labIsUp(l.State())
			return l.Serve(ctx)
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
	for _, w := range s.Without {
		a.out.say("! " + w)
	}
}

// eventLab is a device of the lab.
const eventLab plan.EventType = "lab_device"

// detach runs the lab in a process of its own and waits until it is up.
func (a *labCommand) detach(ctx context.Context, real bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := labctl.CreateLog(a.opts.dir)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-C", a.opts.dir}
	for _, v := range a.opts.vars {
		args = append(args, "--var", v)
	}
	for _, f := range a.opts.varFiles {
		args = append(args, "--var-file", f)
	}
	args = append(args, "lab", "up")
	if real {
		args = append(args, "--real")
		fmt.Fprintf(a.out.stderr, "Guests are booting, which takes minutes; what happens is written to %s\n", log.Name())
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it outlives this terminal
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the lab did not start:\n%s", strings.TrimSpace(string(text)))
		case <-ctx.Done():
			return errors.Join(ctx.Err(), cmd.Process.Signal(syscall.SIGTERM))
		case <-time.After(50 * time.Millisecond):
		}
		if s, err := labctl.Running(a.opts.dir); err == nil && s != nil && s.PID == cmd.Process.Pid {
			a.labIsUp(s)
			return nil
		}
	}
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
	if errors.As(err, new(*labctl.RefusedError)) {
		return err
	}
	return hint.Wrap(err, "is the lab up? weft -C %s lab up --detach", a.opts.dir)
}
