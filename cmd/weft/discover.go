package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/discover"
	"weft/internal/hint"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/language"
	"weft/plan"
)

// discoverFlags say what is read, and how it is written.
type discoverFlags struct {
	seeds     []string
	hosts     []string
	hostsFrom []string
	named     []discover.Named // servers, beside those
	vcenters  []string
	out       string
	owner     string
	want      bool
	depth     int
	stayIn    []string
	only      []string
	login     discover.Login
	users     users
}

// A discoverCommand is weft discover.
type discoverCommand struct {
	out        *printer
	discoverer *discoverer
}

func (c *discoverCommand) command() *cobra.Command {
	var f discoverFlags
	cmd := &cobra.Command{
		Use: "discover", Short: "Write the files of an existing rack, and check that a plan with them is empty", Args: exactly(),
		Long: `discover queries switches (--seed) and servers (--hosts, --hosts-from), matches the ends
of their cables, and writes main, fabric, hosts and storage.weft.hcl into --out. It
changes nothing on devices. It contacts only named devices and lists other neighbours.
With --stay-in it follows LLDP to switches whose management address is in that network,
up to --depth cables. It never follows LLDP to servers.

discover checks the result before it writes: the files validate, and a plan with them
changes nothing. It omits settings that would cause a change and reports them as
findings. --want keeps them, so that weft plan shows the repair. If changes remain,
nothing is written. On servers that weft never managed, the first apply creates a
ledger, which the plan lists.

If --out contains weft files, discover writes missing blocks to discovered.weft.hcl and
changes no existing file. For settings inside existing blocks it prints the lines to
add, with file and line number.

Logins come from connection "default" and the credentials of the files in --chdir. If
there are no files, they come from --user and the passwords in WEFT_SWITCH_PASSWORD and
WEFT_VCENTER_PASSWORD. The written files refer to these variables and contain no secret.
--user esxi=root --user switch=netops sets the login per system. A column user, or
ansible_user, sets it for one server.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.out.begin(cmd)
			if cmd.Flags().Changed("depth") && len(f.stayIn) == 0 {
				return usage(errors.New("--depth needs --stay-in: switches are followed only within networks that are named"))
			}
			return c.discoverer.discover(cmd.Context(), f)
		},
	}
	s := cmd.Flags()
	s.Var((*words)(&f.seeds), "seed", "switch to query, by name or address; may be repeated")
	s.Var((*words)(&f.hosts), "hosts", "servers to query, comma-separated; may be repeated")
	s.StringArrayVar(&f.hostsFrom, "hosts-from", nil, "servers from csv:FILE, ansible:FILE or netbox:URL; may be repeated")
	s.StringVar(&f.out, "out", "", "output directory, created if missing")
	s.StringVar(&f.owner, "owner", "", "name of the owner (default: the owner found on devices, else site)")
	s.BoolVar(&f.want, "want", false, "keep settings that the fabric requires even if a device differs")
	s.Var((*words)(&f.stayIn), "stay-in", "follow LLDP to switches with a management address in this network: 192.0.2.0/24; may be repeated")
	s.IntVar(&f.depth, "depth", 3, "number of cables to follow from a seed; needs --stay-in")
	s.Var((*words)(&f.only), "only", "query and write only these: switch, server, nvme (default: all)")
	s.Var((*words)(&f.vcenters), "vcenter", "vCenter to query, as HOST[:PORT]; append =SHA256 of its certificate if no trusted authority signed it; may be repeated")
	s.Var(&f.users, "user", "login name for servers (default: from ~/.ssh/config), or SYSTEM=NAME: "+strings.Join(userSystems(), ", ")+"; may be repeated")
	s.StringVar(&f.login.Become, "become", "sudo", "privilege escalation on servers: sudo, weft-read, or empty for none")
	s.StringVar(&f.login.SwitchUser, "switch-user", "", "login for switches, same as --user switch=NAME (default: --user)")
	return cmd
}

// machines are the servers that the flags name, and the cables that their sources have.
func (f *discoverFlags) machines(ctx context.Context) (*discover.Listing, error) {
	all := &discover.Listing{}
	list, err := discover.ParseHosts(strings.Join(f.hosts, ","))
	if err != nil {
		return nil, usage(err)
	}
	all.Machines = append(list, f.named...)
	for _, from := range f.hostsFrom {
		more, err := listed(ctx, from)
		if err != nil {
			return nil, hint.Wrap(fmt.Errorf("--hosts-from %s: %w", from, err), "%s", hint.Of(err))
		}
		for _, m := range more.Machines {
			if m.User != "" && language.CheckUser(m.User) != nil {
				return nil, usage(hint.Wrap(fmt.Errorf("--hosts-from %s: %s is logged in to by %q, which is no name of a user", from, m.Host, m.User), "weft evaluates no templates: write the name, or leave it out and say --user"))
			}
			if !slices.ContainsFunc(all.Machines, func(x discover.Named) bool { return x.Host == m.Host }) {
				all.Machines = append(all.Machines, m)
			}
		}
		all.Cables, all.Unread = append(all.Cables, more.Cables...), errors.Join(all.Unread, more.Unread)
	}
	if len(all.Machines) > mostWords {
		return nil, usage(fmt.Errorf("--hosts, --hosts-from: more than %d servers", mostWords))
	}
	return all, nil
}

// listed reads one --hosts-from.
func listed(ctx context.Context, from string) (*discover.Listing, error) {
	form, what, _ := strings.Cut(from, ":")
	if form == "netbox" {
		n := discover.NetBox{URL: what, Token: os.Getenv(discover.NetBoxToken), Client: &http.Client{Timeout: time.Minute}}
		return n.Read(ctx)
	}
	read := map[string]func([]byte) ([]discover.Named, error){"csv": discover.ParseCSV, "ansible": discover.ParseAnsible}[form]
	if read == nil {
		return nil, usage(hint.Wrap(fmt.Errorf("there is no source %q", form), "there are csv:FILE, ansible:FILE and netbox:URL"))
	}
	text, err := readListing(what)
	if err != nil {
		return nil, err
	}
	list, err := read(text)
	return &discover.Listing{Machines: list}, err
}

// longestListing is the most bytes of a file of hosts.
const longestListing = 16 << 20

// readListing reads a file of hosts, which may also be a device or FIFO without an end.
func readListing(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, longestListing+1))
	if err == nil && len(text) > longestListing {
		err = fmt.Errorf("%s has more than %d bytes", name, longestListing)
	}
	return text, err
}

// networks are those in which switches are followed.
func (f *discoverFlags) networks() (list []netip.Prefix, err error) {
	for _, text := range f.stayIn {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usage(hint.Wrap(fmt.Errorf("--stay-in %s is no network", text), "a network is written as 192.0.2.0/24"))
		}
		list = append(list, p.Masked())
	}
	if f.depth < 0 {
		return nil, usage(fmt.Errorf("--depth %d: it counts cables", f.depth))
	}
	return list, nil
}

// checked refuses names that files would refuse.
func (f *discoverFlags) checked() error {
	err := checkNames("seed", language.CheckHost, f.seeds...)
	if err == nil && f.owner != "" {
		err = checkNames("owner", language.CheckOwner, f.owner)
	}
	if err == nil {
		err = f.users.into(&f.login)
	}
	if err == nil {
		err = checkBecome(f.login.Become)
	}
	if err == nil {
		err = checkUsers("switch-user", f.login.SwitchUser)
	}
	if info, no := os.Stat(f.out); err == nil && (onStdout(f.out) || no == nil && !info.IsDir()) {
		err = usage(fmt.Errorf("--out %s: discover writes several files, so name a directory", f.out))
	}
	return err
}

// parts are what --only lets in.
func (f *discoverFlags) parts() (p discover.Parts, err error) {
	for _, word := range f.only {
		switch word {
		case "switch":
			p.Switches = true
		case "server":
			p.Servers = true
		case "nvme":
			p.Servers, p.NVMe = true, true
		default:
			return p, usage(hint.Wrap(fmt.Errorf("--only %s: there is no such part", word), "there are switch, server and nvme"))
		}
	}
	if f.only == nil {
		p = discover.Parts{Switches: true, Servers: true, NVMe: true}
	}
	return p, nil
}

// A discoverer reads devices and writes the files that describe them.
type discoverer struct {
	opts    *options
	out     *printer
	project *project
	fabric  *fabric
}

func (di *discoverer) discover(ctx context.Context, f discoverFlags) error {
	parts, err := f.parts()
	if err == nil {
		err = f.checked()
	}
	if err != nil {
		return err
	}
	within, err := f.networks()
	if err != nil {
		return err
	}
	centers, err := f.centers()
	if err != nil {
		return err
	}
	listing, err := f.machines(ctx)
	switch {
	case err != nil:
		return err
	case len(f.seeds)+len(listing.Machines)+len(f.vcenters) == 0:
		return usage(errors.New("discover needs --seed (switches), --hosts or --hosts-from (servers), or --vcenter"))
	case f.out == "":
		return usage(errors.New("--out: name the directory to write into"))
	}
	if !parts.Switches {
		f.seeds = nil
	}
	if !parts.Servers {
		listing.Machines, centers = nil, nil
	}
	base, err := di.standing(f)
	if err != nil {
		return err
	}
	access, err := di.fabric.access()
	if err != nil {
		return err
	}
	logins, err := di.logins(&f, base)
	if err != nil {
		return err
	}
	if len(f.seeds) > 0 && f.login.SwitchUser == "" {
		return usage(hint.Wrap(errors.New("no login for switches is configured"), "--switch-user netops, or --user where it is the same"))
	}
	if len(centers) > 0 && f.login.VCenterUser == "" {
		return usage(hint.Wrap(errors.New("no login for vCenters is configured"), "--user vcenter=weft@vsphere.local, with the password in %s", discover.VCenterPassword))
	}
	logins.name(listing.Machines)
	reach := di.undeclared(access, f.login, logins)
	if len(within) > 0 {
		reach.Depth, reach.Within = f.depth, within
	}
	site := reach.Read(ctx, f.seeds, listing.Machines, centers...)
	site.Inventory(listing)
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	silent := map[string]error{}
	for _, l := range site.Lost {
		silent[l.Host] = l.Err
	}
	di.out.lostAll(slice.Map(site.Lost, func(l discover.Lost) string { return l.Host }), silent)
	if len(site.Switches)+len(site.Servers)+len(site.VCenters) == 0 {
		return &codeError{exitUnreachable, errors.New("no device could be read, and nothing is written")}
	}
	judge := func(ctx context.Context, files map[string][]byte) ([]discover.Problem, *inventory.Model, *plan.Plan, error) {
		if base != nil {
			return di.judgeMore(ctx, access, f.out, files)
		}
		return di.judge(ctx, access, logins, files)
	}
	r, err := site.Discover(ctx, discover.Options{Owner: f.owner, Base: base, Login: f.login, Want: f.want, NoNVMe: !parts.NVMe, When: time.Now(), Judge: judge,
		Say: func(text string) { di.out.emit(plan.Event{Type: plan.EventNote, Message: text}) }})
	var owners *discover.OwnersError
	switch {
	case errors.As(err, &owners):
		return usage(hint.Wrap(err, "say whose files are to be written: --owner %s", strings.Join(owners.Owners, ", or --owner ")))
	case err != nil:
		return err
	}
	return di.discovered(ctx, site, r, f.out)
}

// standing is what the files in --out declare already, to which is added; nil: there are
// none.
func (di *discoverer) standing(f discoverFlags) (*inventory.Model, error) {
	have, err := filepath.Glob(filepath.Join(f.out, "*.weft.hcl"))
	if err != nil || len(have) == 0 {
		return nil, err
	}
	m, err := di.project.loadFrom(os.DirFS(f.out), nil)
	if err == nil && f.owner != "" && f.owner != m.Name {
		err = usage(fmt.Errorf("--owner %s: the files in %s are of %s", f.owner, f.out, m.Name))
	}
	return m, err
}
