package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/selector"
	"weft/internal/text"
	"weft/inventory"
	"weft/switches"
)

// A recordCommand is weft record.
type recordCommand struct {
	opts    *options
	out     *printer
	project *project
	fabric  *fabric
}

func (rec *recordCommand) command() *cobra.Command {
	var file string
	var anonymous bool
	cmd := &cobra.Command{
		Use: "record SWITCH", Short: "Save the output of a switch as a test case, without secrets",
		Long: `record reads everything from a switch that weft uses, removes secrets, and writes a test
case of weft (txtar). It contains the output of the switch, the desired state from the
files, and the lines that weft would send. record changes nothing on the switch.

It removes passwords, communities, keys and hashes in the formats of switches, and weft's
own login password. Names, addresses, serial numbers and descriptions remain unless
--anonymous is given. With --anonymous, a word remains only if it belongs to the language
of switches or has a harmless form (a number, a port, a version, a model). Every other
word is replaced, equal words by equal replacements. weft parses the result like the
original. Review the file before you share it: it still shows the number of ports, VLANs
and policies.

` + selector.Help,
		Args: exactly("SWITCH"),
		RunE: rec.out.does(func(ctx context.Context, args []string) error { return rec.recordSwitch(ctx, args[0], file, anonymous) }),
	}
	cmd.Flags().StringVarP(&file, "out", "o", "", "write to this new file in place of standard output")
	output(cmd.Flags(), "out")
	cmd.Flags().BoolVar(&anonymous, "anonymous", false, "replace all names and other identifying words, and report their number")
	rec.project.completeArgs(cmd)
	return cmd
}

func (rec *recordCommand) recordSwitch(ctx context.Context, selector, file string, anonymous bool) error {
	if rec.opts.json && file == "" {
		return usage(errors.New("record writes the text itself: with --json, name a file with -o"))
	}
	p, err := rec.fabric.visit()
	if err != nil {
		return err
	}
	defer p.Close()
	devices, err := choose(p, []string{selector})
	if err != nil {
		return err
	}
	var sw *inventory.Switch
	for _, s := range p.Model.Switches {
		if len(devices) == 1 && s.Addr == devices[0] {
			sw = s
		}
	}
	if sw == nil {
		return usage(fmt.Errorf("record takes one switch, and %s stands for %s", selector, text.Few(devices, ", ")))
	}
	var secrets []string
	if c := sw.Credential; c != nil && c.Password != nil && !rec.opts.lab {
		secret, err := c.Password.Read()
		if err != nil {
			return fmt.Errorf("read the password of %s, which is to be taken out: %w", sw.Addr, err)
		}
		secrets = append(secrets, secret)
	}
	content, err := p.Fleet.Device(sw.Addr).Record(ctx, switches.Discretion{Secrets: secrets, Anonymous: anonymous})
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while asking %s, nothing is written: %w", sw.Addr, context.Cause(ctx))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", sw.Addr, err)
	}
	if file == "" {
		_, err = fmt.Fprint(rec.out.stdout, content)
		return err
	}
	if err := rec.out.write(ctx, file, []byte(content), outfile.Options{New: true}); err != nil {
		return hint.Wrap(fmt.Errorf("record: %w", err), "%s", cmp.Or(hint.Of(err), "name a new file with -o"))
	}
	return nil
}
