package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/hub"
	"weft/internal/store"
	"weft/inventory/language"
	"weft/plan"
)

// A hubCommand is weft hub.
type hubCommand struct {
	opts  *options
	out   *printer
	pages *pageServer
}

func (a *hubCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "hub", Short: "Run a server that stores runs for people, pipelines and workers",
		Long: `hub is NATS JetStream inside weft: a store of runs that several machines share. All its
data is in one directory. It syncs every change to disk before it acknowledges it.`,
		Args: known, RunE: helps,
	}
	var dir string
	cmd.PersistentFlags().StringVar(&dir, "dir", "", "directory of the hub's server")
	cmd.AddCommand(a.hubInit(&dir), a.hubServe(&dir), a.hubCredential(&dir), a.hubStatus(&dir), a.hubBackup(&dir), a.hubImport(&dir))
	return cmd
}

// placed finds the hub of --dir.
func placed(dir string) (*hub.Place, error) {
	if dir == "" {
		return nil, usage(hint.Wrap(errors.New("--dir: name the directory of the hub"), "weft hub init makes one"))
	}
	return hub.Open(dir)
}

func (a *hubCommand) hubInit(dir *string) *cobra.Command {
	f := hub.Founding{}
	cmd := &cobra.Command{
		Use: "init", Short: "Create the directory of a hub server", Args: exactly(),
		Long: `init creates a hub: its own authority, a certificate for the server, and the key of its
administrator. All of them stay in the directory, whose files are readable by you only.
--host is the address for clients; it is part of the certificate and of credentials.

For a hub of three servers, create the second and third with --like and the directory of
the first, and copy each directory to its machine.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if *dir == "" {
				return usage(errors.New("--dir: name a directory to make"))
			}
			f.Dir = *dir
			p, err := hub.Found(f)
			if err != nil {
				return err
			}
			return a.hubMade(p, f)
		},
	}
	s := cmd.Flags()
	s.StringArrayVar(&f.Hosts, "host", nil, "name or address of the server for clients, with an optional port (may be repeated)")
	s.StringVar(&f.Name, "name", "hub1", "name of the server within the hub")
	s.StringVar(&f.Like, "like", "", "directory of another server of the same hub")
	s.BoolVar(&f.Plain, "plain", false, "without TLS, for this machine alone")
	return cmd
}

func (a *hubCommand) hubMade(p *hub.Place, f hub.Founding) error {
	made := p.Made()
	if a.opts.json {
		return a.out.encode(made)
	}
	fmt.Fprintf(a.out.stdout, "The hub's server %s is in %s. Others reach it at %s.\n", p.Name(), f.Dir, strings.Join(made.URLs, " and "))
	fmt.Fprintf(a.out.stdout, "  %s  grants full access: do not share it\n", made.Admin)
	if made.Authority != "" {
		fmt.Fprintf(a.out.stdout, "  %s  makes certificates of further servers: keep it apart once you have them\n", made.Authority)
	} else {
		fmt.Fprintln(a.out.stdout, "  It speaks without TLS, on this machine alone.")
	}
	_, err := fmt.Fprintf(a.out.stdout, `Next:
  weft hub credential add NAME --owner FABRIC --out FILE --dir %s
  weft hub serve --dir %s
`, f.Dir, f.Dir)
	return err
}

func (a *hubCommand) hubServe(dir *string) *cobra.Command {
	var how hub.Serving
	var documents, blobs string
	shown := &showing{}
	cmd := &cobra.Command{
		Use: "serve", Short: "Run a server of a hub until it is interrupted", Args: exactly(),
		Long: `serve runs the hub's server for a directory; a second server there is refused (exit 7).
It listens on loopback, or where --listen says. SIGTERM and Ctrl-C end it. Data that it
has acknowledged survives a restart, also after a kill.

The certificate is that of weft hub init. A certificate of your own (--tls-cert,
--tls-key) is reloaded when its file changes; clients must trust its authority.

A hub of three servers works while two of them run. Give each server --cluster, where it
listens for the other servers, and one --peer for each of them.

With --http it also shows the runs of all owners in a browser, read-only: on loopback,
or with TLS and the hub's own certificate or --http-cert. serve prints a
token that lets one browser in.`,
		RunE: a.out.does(func(ctx context.Context, _ []string) error {
			p, err := placed(*dir)
			if err != nil {
				return err
			}
			if how.Documents, err = bytesOf("--max-documents", documents); err == nil {
				how.Blobs, err = bytesOf("--max-blobs", blobs)
			}
			if err != nil {
				return err
			}
			a.announce(&how, p.Name())
			return hubError(a.served(ctx, p, how, shown))
		}),
	}
	f := cmd.Flags()
	shown.flags(f, "", "show the runs of all owners to browsers at this address, like 127.0.0.1:8080")
	f.StringVar(&how.Listen, "listen", "127.0.0.1:"+hub.Port, "address and port for clients; port 0 takes a free one")
	f.StringVar(&how.Cert, "tls-cert", "", "certificate for clients, in place of the hub's own")
	f.StringVar(&how.Key, "tls-key", "", "its key")
	f.StringVar(&how.Cluster, "cluster", "", "address and port for the other servers of the hub")
	f.StringVar(&documents, "max-documents", "", "most documents of each owner, as 512MB or 2GB (default: an eighth of the disk, at most 1 GiB)")
	f.StringVar(&blobs, "max-blobs", "", "most blobs of each owner, as 32GB (default: a quarter of the disk, at most 16 GiB)")
	f.IntVar(&how.Requests, "max-requests", 2000, "most requests a second of each credential; ten times as many may come at once")
	f.StringArrayVar(&how.Peers, "peer", nil, "host and port of another server of the hub (may be repeated)")
	return cmd
}

// announce prints the log of the server called name, and where it is ready.
func (a *hubCommand) announce(how *hub.Serving, name string) {
	how.Note = func(text string) {
		if a.opts.json {
			a.out.emit(plan.Event{Type: plan.EventNote, Message: text})
		} else {
			fmt.Fprintf(a.out.stderr, "%s %s\n", time.Now().UTC().Format(time.RFC3339), text)
		}
	}
	how.Ready = func(at string) {
		text := fmt.Sprintf("The hub's server %s is ready at %s", name, at)
		if strings.HasPrefix(at, "nats:") {
			text += ", without TLS"
		}
		if a.opts.json {
			a.out.emit(plan.Event{Type: plan.EventNote, Message: text, Data: map[string]any{"url": at, "name": name}})
		} else {
			fmt.Fprintln(a.out.stdout, text)
		}
	}
}

// bytesOf reads the size of a flag; "" is 0.
func bytesOf(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := language.ParseSize(text)
	if err != nil {
		return 0, usage(fmt.Errorf("%s: %w", flag, err))
	}
	return n, nil
}

// served serves a hub, and with --http the page of its runs.
func (a *hubCommand) served(ctx context.Context, p *hub.Place, how hub.Serving, shown *showing) error {
	if shown.addr == "" {
		return p.Serve(ctx, how)
	}
	if err := shown.listen(p.Certificate()); err != nil {
		return err
	}
	defer shown.ln.Close()
	ctx, stop := context.WithCancel(ctx)
	var page sync.WaitGroup
	defer page.Wait()
	defer stop()
	ready, failed := how.Ready, make(chan error, 1)
	how.Ready = func(at string) {
		ready(at)
		page.Go(func() {
			site, err := hubSite(p)
			if err == nil {
				err = a.pages.serve(ctx, shown, "/", site)
			}
			if err != nil {
				failed <- fmt.Errorf("--http: %w", err)
				stop() // who asked for a page is not to believe that there is one
			}
		})
	}
	err := p.Serve(ctx, how)
	select {
	case late := <-failed:
		return errors.Join(err, late)
	default:
		return err
	}
}

// hubError gives causes their exit codes.
func hubError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*hub.BusyError)):
		return &codeError{exitHeld, err}
	case errors.As(err, new(*hub.StoppedError)):
		return &codeError{exitUnreachable, hint.Wrap(err, "start it with weft hub serve")}
	case errors.As(err, new(*store.UnavailableError)):
		return &codeError{exitUnreachable, err}
	}
	return err
}

// asAdmin does something with a hub, which is run for it if nobody serves it.
func asAdmin(dir string, do func(*hub.Session) error) error {
	p, err := placed(dir)
	if err != nil {
		return err
	}
	s, err := p.Reach()
	if err != nil {
		return hubError(err)
	}
	return hubError(errors.Join(do(s), s.Close()))
}

func (a *hubCommand) hubStatus(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the state of a hub", Args: exactly(),
		Long: `status queries a hub on this machine: its servers, its owners, whether each server has all
data, and the free space. It exits with 3 if a server lacks data, or if a disk or store
is full.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := placed(*dir)
			if err != nil {
				return err
			}
			s, err := p.Status(cmd.Context())
			if err != nil {
				return hubError(err)
			}
			if a.opts.json {
				err = a.out.encode(s)
			} else {
				err = a.showHub(s)
			}
			if err == nil && !s.Whole() {
				err = &quietError{exitFailed}
			}
			return err
		},
	}
}

func (a *hubCommand) showHub(s *hub.Status) error {
	fmt.Fprintf(a.out.stdout, "%s at %s, process %d, for %s\n", s.Name, s.URL, s.PID, time.Since(s.Since).Round(time.Second))
	if s.Certificate != nil {
		fmt.Fprintf(a.out.stdout, "its own certificate is good until %s\n", s.Certificate.Format(time.DateOnly))
	} else {
		fmt.Fprintln(a.out.stdout, "without TLS")
	}
	for _, one := range s.Servers {
		fmt.Fprintf(a.out.stdout, "server %s: %s\n", one.Name, strings.Join(one.URLs, " "))
	}
	fmt.Fprintf(a.out.stdout, "%d credentials\n\n", s.Members)
	w := tabwriter.NewWriter(a.out.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "OWNER\tDOCUMENTS\tLEASES HELD\tMB\tREPLICAS\tBEHIND")
	for _, o := range s.Owners {
		replicas, behind := 0, []string{}
		for _, stream := range o.Streams {
			replicas = max(replicas, stream.Replicas)
			for _, b := range stream.Behind {
				behind = append(behind, fmt.Sprintf("%s of %s by %d", b.Server, stream.Name, b.Lag))
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%d\t%s\n", o.Name, o.Documents, len(o.Held), float64(o.Bytes)/1e6, replicas, strings.Join(behind, ", "))
	}
	if err := w.Flush(); err != nil || len(s.Issues) == 0 {
		return err
	}
	_, err := fmt.Fprintf(a.out.stdout, "\n%s\n", strings.Join(s.Issues, "\n"))
	return err
}

func (a *hubCommand) hubBackup(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "backup DIR", Short: "Copy the data of a hub to a new directory", Args: exactly("DIR"),
		Long: `backup copies documents, blobs and the public keys of credentials while the hub runs. Each
document has the state of some moment during the backup. Leases and secrets are not
copied: store admin.creds and tls of the hub's directory with your keys.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return asAdmin(*dir, func(s *hub.Session) error { return a.copied(s.Backup(cmd.Context(), args[0])) })
		},
	}
}

func (a *hubCommand) hubImport(dir *string) *cobra.Command {
	return &cobra.Command{
		Use: "import DIR", Short: "Restore a backup into a hub", Args: exactly("DIR"),
		Long: `import restores the output of weft hub backup into a hub that has none of its data, or the
same data. If a document differs, nothing of its owner is written. Fencing tokens then
continue above all previous ones. Restoring a backup re-enables credentials that were
revoked after it was taken. Revoke them again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return asAdmin(*dir, func(s *hub.Session) error { return a.copied(s.Import(cmd.Context(), args[0])) })
		},
	}
}

func (a *hubCommand) copied(list []hub.Copied, err error) error {
	if err != nil {
		return err
	}
	if a.opts.json {
		return a.out.encode(list)
	}
	for _, c := range list {
		text := fmt.Sprintf("%s: %d documents, %d blobs", c.Owner, c.Documents, c.Blobs)
		if c.Hub() {
			text = fmt.Sprintf("the hub itself: %d credentials", c.Documents)
		}
		if c.There > 0 {
			text += fmt.Sprintf("; %d were there already", c.There)
		}
		fmt.Fprintln(a.out.stdout, text)
	}
	return nil
}

// inEffect tells that a credential was changed, and where that is in effect.
func (a *hubCommand) inEffect(name, text string, list []hub.Effect) error {
	var late []string
	for _, e := range list {
		if !e.Done {
			late = append(late, e.Server)
		}
	}
	if a.opts.json {
		if err := a.out.encode(map[string]any{"name": name, "effects": list}); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(a.out.stdout, text)
		if list == nil {
			fmt.Fprintln(a.out.stdout, "The hub does not run: it is in effect when it is started.")
		}
	}
	if late == nil {
		return nil
	}
	return &codeError{exitUnreachable, hint.Wrap(fmt.Errorf("it is written, and %s does not say yet that it acts by it", strings.Join(late, " and ")),
		"a server that runs and reaches the others does so within seconds, one that does not run when it is started: weft hub status")}
}

func (a *hubCommand) members(ctx context.Context, s *hub.Session) error {
	list, err := s.Members(ctx)
	if err != nil {
		return err
	}
	if a.opts.json {
		return a.out.encode(append([]hub.Member{}, list...))
	}
	w := tabwriter.NewWriter(a.out.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tOWNER\tSITE\tSINCE\tKEY")
	for _, m := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Kind, m.Owner, m.Site, m.Made.Format(time.DateOnly), m.Key)
	}
	return w.Flush()
}
