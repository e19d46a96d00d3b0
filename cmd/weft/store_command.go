package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/store"
	"weft/internal/store/check"
	"weft/internal/store/nats"
)

// A storeCommand is weft store.
type storeCommand struct {
	opts  *options
	out   *printer
	store *runStore
}

func (c *storeCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Test the store of runs, and show or break leases",
		Long: `store tests the store of runs and shows its leases. The store is selected by --store,
WEFT_STORE or the store block of the files; the default is .weft/store.`,
		Args: known, RunE: helps,
	}
	lease := &cobra.Command{Use: "lease", Short: "List and break leases", Args: known, RunE: helps,
		Long: `lease lists and ends leases in the store. A process holds a lease while it works on a run,
and renews it. For leases on devices, use weft unlock.`}
	lease.AddCommand(c.leaseList(), c.leaseBreak())
	cmd.AddCommand(c.storeCheck(), lease)
	return cmd
}

func (c *storeCommand) storeCheck() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "check", Short: "Test the properties that runs rely on", Args: exactly(),
		Long: `check tests a store with its own keys, which it removes afterwards. If many clients change
one document at once, one succeeds; a lease has one holder and expires on time; every
change is reported; blobs are returned unchanged. It reports whether writes are synced,
and the number of copies. Properties that cannot be tested are reported and give exit
code 9. It takes some seconds and does not affect runs.

The credential of a worker may write below its site only: use --folder site/SITE.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, open, err := c.store.opener()
			if err != nil {
				return err
			}
			list, err := check.Trial{Open: open, Folder: folder}.Run(cmd.Context())
			if err != nil {
				return storeError(err)
			}
			kept, err := keptHow(cmd.Context(), open)
			if err != nil {
				return storeError(err)
			}
			return c.checked(name, append(list, kept...))
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "folder below which the test writes")
	return cmd
}

// keptHow is what is known of where a store keeps what it has.
func keptHow(ctx context.Context, open func(context.Context) (store.Store, error)) ([]check.Finding, error) {
	s, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	shared, ok := s.(*nats.Store)
	if !ok {
		return []check.Finding{{Name: "sync", Verdict: check.Pass, Text: "weft syncs each change; whether the disk does what it says only the disk knows"},
			{Name: "copies", Verdict: check.Pass, Text: "one, on one disk: it is lost with it, and with it no fabric"}}, nil
	}
	state, err := shared.State(ctx)
	if err != nil {
		return nil, err
	}
	sync := check.Finding{Name: "sync", Verdict: check.Pass, Text: "weft hub syncs each change; whether its disks do what they say only the disks know"}
	if !state.Synced {
		sync = check.Finding{Name: "sync", Verdict: check.Unknown,
			Text: "the store was not made by weft hub: a NATS server syncs every two minutes unless it has sync_interval: always, and may lose that much with its power"}
	}
	copies := check.Finding{Name: "copies", Verdict: check.Pass}
	var behind []string
	least := 0
	for _, one := range state.Streams {
		if least == 0 || one.Replicas < least {
			least = one.Replicas
		}
		for _, b := range one.Behind {
			behind = append(behind, fmt.Sprintf("%s lacks %d changes of %s", b.Server, b.Lag, one.Name))
		}
	}
	switch {
	case behind != nil:
		copies.Verdict, copies.Text = check.Fail, strings.Join(behind, "; ")
	case least > 1:
		copies.Text = fmt.Sprintf("%d, and all have everything", least)
	default:
		copies.Text = "one, on one server: it is lost with its disk, and with it no fabric"
	}
	return []check.Finding{sync, copies}, nil
}

func (c *storeCommand) checked(name string, list []check.Finding) error {
	code := exitDone
	for _, f := range list {
		switch f.Verdict {
		case check.Fail:
			code = exitFailed
		case check.Unknown:
			if code == exitDone {
				code = exitInconclusive
			}
		}
	}
	if c.opts.json {
		if err := c.out.encode(map[string]any{"store": name, "findings": list}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.out.stdout, "The store %s\n", name)
		w := tabwriter.NewWriter(c.out.stdout, 0, 8, 2, ' ', 0)
		for _, f := range list {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", f.Name, f.Verdict, f.Text)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if code != exitDone {
		return &quietError{code}
	}
	return nil
}
