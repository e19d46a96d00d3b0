package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/text"
	"weft/inventory"
	"weft/switches"
)

// A recordCommand is weft record.
type recordCommand struct {
	opts   *options
	out    *printer
	fabric *fabric
}

func (rec *recordCommand) command() *cobra.Command {
	var file string
	var anonymous bool
	cmd := &cobra.Command{
		Use: "record SWITCH", Short: "Write what a switch says as a test case, without secrets",
		Long: `record asks a switch everything that weft reads of it, takes the secrets out, and
writes a test case of weft (txtar): what the switch printed, what the
files wish, and the lines that weft would send. It changes nothing.

Passwords, communities, keys and hashes are taken out in the forms that switches
print, and the password that weft logs in with. Names, addresses, serial numbers
and descriptions stay unless --anonymous is given. It keeps a word only if it
belongs to the language of switches or has a harmless form (a number, a port, a
version, a model); every other word is replaced, the same word by the same replacement everywhere.
weft reads the replaced text as it read the original. Read the case before you
give it away: it still shows how many ports, VLANs and policies there are.

` + selectorHelp,
		Args: exactly("SWITCH"),
		RunE: rec.out.does(func(ctx context.Context, args []string) error { return rec.recordSwitch(ctx, args[0], file, anonymous) }),
	}
	cmd.Flags().StringVarP(&file, "out", "o", "", "write to this file, which must not exist, instead of to stdout")
	output(cmd.Flags(), "out")
	cmd.Flags().BoolVar(&anonymous, "anonymous", false, "replace every word that is neither language nor a harmless value, and say how many")
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
