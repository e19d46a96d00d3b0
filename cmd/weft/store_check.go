package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/store/check"
	"weft/internal/store/dir"
	"weft/internal/store/nats"
	"weft/inventory"
)

func (a *app) storeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Where runs are kept: try it out, see and break leases",
		Long: `store is about where runs are kept: what --store, WEFT_STORE or the store block of the
files name, or .weft/store.`,
		Args: known, RunE: helps,
	}
	lease := &cobra.Command{Use: "lease", Short: "Who has what: list, break", Args: known, RunE: helps,
		Long: `lease is about leases in the store: whoever works on something has it for some minutes,
and renews it. Those on devices themselves show weft unlock.`}
	lease.AddCommand(a.leaseList(), a.leaseBreak())
	cmd.AddCommand(a.storeCheck(), lease)
	return cmd
}

// opener is how the store is opened, and what it is called. None is made.
func (a *app) opener() (name string, open func(context.Context) (store.Store, error), err error) {
	s, owner, err := a.whereRuns()
	if err != nil {
		return "", nil, err
	}
	if s == nil {
		s = &inventory.Store{Kind: "directory", Path: filepath.Join(a.place(), ".weft", "store")}
	}
	if s.Kind == "nats" {
		return cmp.Or(s.URL, s.Creds), func(ctx context.Context) (store.Store, error) { return a.openHub(ctx, s, owner) }, nil
	}
	if _, err := os.Stat(filepath.Join(s.Path, "store.json")); err != nil {
		return "", nil, usage(hint.Wrap(fmt.Errorf("there is no store in %s", s.Path), "name where runs are kept with --store: the file of a hub's credential, its URL, or a directory"))
	}
	return s.Path, func(ctx context.Context) (store.Store, error) { return dir.Open(ctx, s.Path, dir.Options{}) }, nil
}

// readCredential reads a credential that nobody else can read.
func readCredential(file string) (*nats.Credential, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("credential: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, hint.Wrap(fmt.Errorf("credential: %s may be read by others: its mode is %s", file, mode), "chmod 600 it, and if others could read it have it revoked")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("credential: %w", err)
	}
	c, err := nats.ParseCredential(text)
	if err != nil {
		return nil, fmt.Errorf("credential: %s: %w", file, err)
	}
	return c, nil
}

// storeError gives causes their exit codes.
func storeError(err error) error {
	if errors.As(err, new(*store.UnavailableError)) {
		return &codeError{exitUnreachable, err}
	}
	if errors.As(err, new(*store.LostError)) {
		return &codeError{exitHeld, err}
	}
	return err
}

func (a *app) storeCheck() *cobra.Command {
	var folder string
	cmd := &cobra.Command{
		Use: "check", Short: "Find out whether a store keeps what runs rely on", Args: exactly(),
		Long: `check races itself on keys of its own, which it takes away again: of many who change the
same one does, a lease has one holder and ends when it should, every change is told, and
blobs come back as they were. It says whether changes are synced, and how many copies
there are. What nobody can know is said to be so, and makes the exit code 9. It takes
some seconds, and does no harm to runs.

A worker's credential may write below its site only: --folder site/SITE.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, open, err := a.opener()
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
			return a.checked(name, append(list, kept...))
		},
	}
	cmd.Flags().StringVar(&folder, "folder", "", "below which it may write")
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

func (a *app) checked(name string, list []check.Finding) error {
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
	if a.json {
		if err := a.encode(map[string]any{"store": name, "findings": list}); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "The store %s\n", name)
		w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
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
