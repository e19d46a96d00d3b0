package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/discover"
	"weft/internal/doctor"
	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/run"
	"weft/internal/selector"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/internal/wait"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/language"
	"weft/modules/linux"
	"weft/plan"
	"weft/switches/systems"
)

// doctorFlags say what is judged, and how it is written.
type doctorFlags struct {
	format   string
	ignore   []string
	watch    time.Duration
	hosts    []string
	switches []string
	users    users
	login    discover.Login // what they say
	assess   bool
	arrays   []string
	fix      bool
	out      string       // of the plan that fix makes
	show     view.Options // of it
	rights   bool
	reader   bool
	become   string // on hosts

	strangers []doctor.Unread // of --hosts, whose systems weft knows by name only
}

// doctorFormats are how a report is written.
var doctorFormats = [...]string{"text", "json", "sarif", "html", "markdown"}

// A doctorCommand is weft doctor.
type doctorCommand struct {
	opts    *options
	out     *printer
	project *project
	repo    *repository
	fabric  *fabric
	planner *planner
}

func (doc *doctorCommand) command() *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use: "doctor [SELECTOR...]", Short: "Check servers, NICs, switches and paths; changes nothing",
		Long: `doctor reads every device once and judges it by a catalogue of numbered checks: PCIe,
firmware, links, MTU, PFC, DSCPs, ECN, RDMA, kernels, NVMe, GPUs and file systems. Each
finding names its place, the value, the limit with its source, and the remedy; weft
explain WD-QOS-01 explains a check. Without a declared value, devices are compared with
their peers. Data that could not be read is listed as unknown, never as a pass.

Without files, use --hosts and --switches, each switch as OS:HOST. Switch passwords then
come from WEFT_SWITCH_PASSWORD. Checks of growing counters need --watch, which reads
twice.

` + selector.Help,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.users.into(&f.login); err != nil {
				return err
			}
			if f.reader {
				_, err := io.WriteString(doc.out.stdout, remote.Reader(linux.Permits()))
				return err
			}
			if f.rights {
				return doc.listPrivileges(f.login.User)
			}
			if err := checkBecome(f.become); err != nil {
				return err
			}
			if doc.opts.json && cmd.Flags().Changed("format") {
				return usage(hint.Wrap(errors.New("--format says what is written, and --json does not go with it"), "--json writes events as JSON lines; for one JSON document: --format json alone"))
			}
			doc.out.begin(cmd)
			return doc.doctor(cmd.Context(), f, args)
		},
	}
	s := cmd.Flags()
	s.StringVar(&f.format, "format", "text", "how to write the report: "+strings.Join(doctorFormats[:], ", ")+"; not with --json, which writes events")
	s.StringArrayVar(&f.ignore, "ignore", nil, "ID=REASON: ignore the findings of a check; may be repeated")
	s.DurationVar(&f.watch, "watch", 0, "read again after this time, and judge growing counters")
	s.Var((*words)(&f.hosts), "hosts", "servers to query in place of the files, comma-separated; prefix esxi: or windows: for these systems")
	s.Var((*words)(&f.switches), "switches", "switches to ask, each as OS:HOST; OS is "+strings.Join(systems.Names(), " or "))
	s.BoolVar(&f.assess, "assess", false, "instead: list the suitability of servers, switches and arrays, the common RDMA protocol, and a pair for a pilot")
	s.BoolVar(&f.fix, "fix", false, "also plan the repairs that the files describe; changes nothing")
	s.StringVar(&f.out, "out", "", "with --fix: save the plan for weft apply")
	output(s, "out")
	s.BoolVar(&f.rights, "privileges", false, "instead: list the privileges that logins need; no network")
	s.BoolVar(&f.reader, "reader", false, "instead: print the root program for logins with become = \"weft-read\"; no network")
	s.StringVar(&f.become, "become", "sudo", "privilege escalation on --hosts: sudo, weft-read, or empty for none")
	s.Var((*words)(&f.arrays), "arrays", "with --assess: storage arrays by their ID in weft catalogue, comma-separated")
	s.Var(&f.users, "user", "login name for --hosts and --switches (default: from ~/.ssh/config), or SYSTEM=NAME: "+strings.Join(userSystems(), ", ")+"; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(doctorFormats[:], cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("ignore", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		ids := slice.Map(doctor.Catalogue(), func(c *doctor.Check) string { return c.ID + "=\t" + c.Title })
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	doc.project.completeArgs(cmd)
	return cmd
}

func (doc *doctorCommand) doctor(ctx context.Context, f doctorFlags, selectors []string) error {
	ignore, err := f.ignored()
	if err != nil {
		return err
	}
	if !slices.Contains(doctorFormats[:], f.format) {
		return usage(fmt.Errorf("--format: there is no %q; there are %s", f.format, strings.Join(doctorFormats[:], ", ")))
	}
	if err := f.fits(); err != nil {
		return err
	}
	known, err := catalogue.Load()
	if err != nil {
		return err
	}
	p, err := doc.patients(&f, known)
	if err != nil {
		return err
	}
	defer p.Close()
	devices, err := chooseOf(p, selectors, !f.assess)
	if err != nil {
		return err
	}
	declared := p.Model
	if f.bare() {
		declared = nil
	}
	read := func() (*doctor.Site, map[string]error) { return doc.examine(ctx, p, declared, known, devices) }
	site, lost := read()
	if f.watch > 0 && ctx.Err() == nil {
		wait.For(ctx, f.watch)
		before := site
		site, lost = read()
		site.Before = before
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while reading devices: %w", context.Cause(ctx))
	}
	if f.assess {
		return doc.assess(p, f, site, devices, lost)
	}
	sheet := &doctor.Sheet{Owner: cmp.Or(p.Model.Name, "no files"), Simulated: doc.opts.lab, Verbose: doc.opts.verbose, Report: doctor.Examine(site, ignore)}
	doc.out.lostAll(devices, lost)
	for _, d := range devices {
		if err := lost[d]; err != nil {
			sheet.Lost = append(sheet.Lost, d+": "+err.Error())
		}
	}
	for _, h := range site.Hosts {
		if h.Bare {
			why := "asked what it is, and little of how it is"
			if list := sheet.Untold[h.Name]; len(list) > 0 {
				why += fmt.Sprintf("; not judged by %d checks: %s", len(list), strings.Join(list, ", "))
			}
			f.strangers = append(f.strangers, doctor.Unread{Device: h.Name, System: h.System, Why: why})
		}
	}
	for _, u := range f.strangers {
		sheet.Lost = append(sheet.Lost, u.Device+": "+u.System+" is "+u.Why)
		doc.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Device: u.Device, Message: u.Device + " is not judged as a whole: " + u.System + " is " + u.Why})
	}
	if err := doc.prescribe(sheet, f.format); err != nil {
		return err
	}
	if f.fix {
		list := remedies(sheet.Findings, p.Input.Items)
		_ = p.Close() // the plan logs in itself
		if err := doc.cure(ctx, f, list); err != nil {
			return err
		}
	}
	switch {
	case sheet.Failed():
		return &quietError{exitFailed}
	case len(lost) > 0:
		return &quietError{exitUnreachable}
	case len(sheet.Unknown)+len(f.strangers) > 0:
		return &quietError{exitInconclusive}
	}
	return nil
}

// prescribe writes the report.
func (doc *doctorCommand) prescribe(sheet *doctor.Sheet, format string) error {
	if doc.opts.json {
		for _, f := range sheet.Findings {
			doc.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Device: f.Place.Device, Message: f.Check.ID + " " + f.Place.String() + ": " + f.Text,
				Data: map[string]any{"finding": f.Say()}})
		}
		for _, f := range sheet.Unknown {
			doc.out.emit(plan.Event{Type: plan.EventNote, Device: f.Place.Device, Message: f.Check.ID + " " + f.Place.String() + " is not known: " + f.Text,
				Data: map[string]any{"unknown": f.Say()}})
		}
		doc.out.emit(plan.Event{Type: plan.EventNote, Message: sheet.Summary(), Data: map[string]any{"fine": sheet.Fine, "lost": sheet.Lost}})
		return nil
	}
	switch format {
	case "json":
		return sheet.JSON(doc.out.stdout)
	case "html":
		return sheet.HTML(doc.out.stdout)
	case "markdown":
		sheet.Markdown(doc.out.stdout)
	case "sarif":
		l := doc.repo.sarif(nil)
		sheet.SARIF(l)
		return l.Write(doc.out.stdout)
	default:
		view.Heading(doc.out.stdout, doc.out.style(doc.out.stdout), "doctor", sheet.Owner, doc.opts.lab)
		sheet.Text(doc.out.stdout)
	}
	return nil
}

// ignored are the checks whose findings are set apart, with the reasons.
func (f *doctorFlags) ignored() (map[string]string, error) {
	out := map[string]string{}
	for _, one := range f.ignore {
		id, reason, ok := strings.Cut(one, "=")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, usage(hint.Wrap(fmt.Errorf("--ignore %s: a reason is missing", one), "write --ignore %s=REASON", id))
		}
		if _, _, known := doctor.Explain(id); !known {
			return nil, usage(hint.Wrap(fmt.Errorf("--ignore: there is no check %q", id), "weft explain lists all of them"))
		}
		out[id] = reason
	}
	return out, nil
}

func (f *doctorFlags) bare() bool { return len(f.hosts)+len(f.switches) > 0 }

// patients are the devices of the files, or those that the flags name. Those of systems
// that weft only knows by name become strangers of f.
func (doc *doctorCommand) patients(f *doctorFlags, known *catalogue.Catalogue) (*run.Site, error) {
	if !f.bare() {
		return doc.fabric.visit()
	}
	at := &inventory.Connection{User: f.login.User, Become: f.become, ConnectTimeout: inventory.DefaultConnectTimeout, CommandTimeout: inventory.DefaultCommandTimeout}
	login := byVariable(cmp.Or(f.login.SwitchUser, f.login.User), discover.SwitchPassword)
	m := &inventory.Model{}
	for _, h := range f.hosts {
		os := catalogue.UsualHostSystem()
		if system, host, ok := strings.Cut(h, ":"); ok && known.HostOS(system) != nil {
			if !known.HostOS(system).MachineID.Known {
				f.strangers = append(f.strangers, doctor.Unread{Device: host, Kind: "server", System: known.HostOS(system).Title.Value, Why: "described, not yet managed on " + system})
				continue
			}
			h, os = host, system
		}
		if err := checkNames("hosts", language.CheckHost, h); err != nil {
			return nil, err
		}
		as := *at
		as.User = cmp.Or(f.login.Users[os], as.User)
		if os != catalogue.UsualHostSystem() || as.User == "root" {
			as.Become = "" // sudo is of Linux, and who is root needs none
		}
		m.Servers = append(m.Servers, &inventory.Server{Block: inventory.Block{Addr: h}, Name: h, Host: h, OS: os, Connection: &as})
	}
	for _, one := range f.switches {
		os, h, ok := strings.Cut(one, ":")
		if !ok || systems.Named(os) == nil {
			return nil, usage(hint.Wrap(fmt.Errorf("--switches %s: its system is missing", one), "write OS:HOST, with one of %s", strings.Join(systems.Names(), ", ")))
		}
		if err := checkNames("switches", language.CheckHost, h); err != nil {
			return nil, err
		}
		m.Switches = append(m.Switches, &inventory.Switch{Block: inventory.Block{Addr: h}, Name: h, Host: h, OS: os, Connection: at, Credential: login})
	}
	return doc.fabric.reach(m)
}

// examine asks every device once.
func (doc *doctorCommand) examine(ctx context.Context, p *run.Site, declared *inventory.Model, known *catalogue.Catalogue, devices []string) (*doctor.Site, map[string]error) {
	hosts := make([]*doctor.Host, len(devices))
	leafs := make([]*doctor.Switch, len(devices))
	centers := make([]*doctor.VCenter, len(devices))
	lost := map[string]error{}
	var mu sync.Mutex
	p.Each(ctx, devices, "reading", func(ctx context.Context, i int, device string) {
		d := p.Fleet.Device(device)
		h, err := d.Health(ctx)
		os, notServer := d.HostOS()
		switch {
		case err != nil && notServer == nil:
			if other := stranger(known, err.Error(), os); other != nil {
				err = other
			}
		case err != nil:
		case h.Server != nil:
			if err = stranger(known, h.Server.System, os); err == nil {
				hosts[i] = &doctor.Host{Name: device, Health: h.Server}
			}
		case h.Switch != nil:
			leafs[i] = &doctor.Switch{Name: device, Health: h.Switch}
		default:
			centers[i] = vcenterHealth(h.VCenter, device, p.Model)
		}
		if err != nil {
			mu.Lock()
			lost[device] = err
			mu.Unlock()
			return
		}
		doc.out.emit(plan.Event{Type: plan.EventRead, Device: device, Message: device + " was asked how it is"})
	})
	site := &doctor.Site{Model: declared, Hardware: known}
	site.VCenters = slice.Filter(centers, func(v *doctor.VCenter) bool { return v != nil })
	gather(site, devices, hosts, leafs)
	return site, lost
}

// gather puts the servers and switches that answered into a site, each with its block.
func gather(site *doctor.Site, devices []string, hosts []*doctor.Host, leafs []*doctor.Switch) {
	declared := site.Model
	servers, leaves := map[string]*inventory.Server{}, map[string]*inventory.Switch{}
	if declared != nil {
		for _, s := range declared.Servers {
			servers[s.Addr] = s
		}
		for _, s := range declared.Switches {
			leaves[s.Addr] = s
		}
	}
	for i, device := range devices {
		if h := hosts[i]; h != nil {
			h.Server = servers[device]
			site.Hosts = append(site.Hosts, h)
		}
		if s := leafs[i]; s != nil {
			s.Switch = leaves[device]
			site.Switches = append(site.Switches, s)
		}
	}
}
