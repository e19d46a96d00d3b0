package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"weft/internal/doctor"
	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory/catalogue"
	"weft/modules/host"
	"weft/plan"
)

// fits refuses flags that do not go together.
func (f *doctorFlags) fits() error {
	switch {
	case !f.assess && len(f.arrays) > 0:
		return usage(errors.New("--arrays goes with --assess: weft does not log in to arrays"))
	case f.fix && (f.bare() || f.assess):
		return usage(hint.Wrap(errors.New("--fix plans what files declare: it goes neither with --hosts and --switches nor with --assess"), "weft discover writes the files of an existing rack"))
	case f.fix && f.format != "text":
		return usage(errors.New("--fix shows a plan after the report, which is written as text (or with --json)"))
	case f.out != "" && !f.fix:
		return usage(errors.New("--out saves the plan of --fix, which is missing"))
	case f.assess && (f.watch > 0 || len(f.ignore) > 0):
		return usage(errors.New("--assess judges no checks: --watch and --ignore do not go with it"))
	}
	return nil
}

// A strangerError is a machine of another system than weft was told.
type strangerError struct{ system *catalogue.HostOS }

func (e *strangerError) Error() string {
	return fmt.Sprintf("it runs %s, and nothing of it was judged: name it %s:HOST in --hosts, or os = %q in the files", cmp.Or(e.system.Title.Value, e.system.ID), e.system.ID, e.system.ID)
}

// stranger recognises another system than a machine was taken for; nil: it is none.
func stranger(known *catalogue.Catalogue, said string, taken *host.OS) error {
	if os := known.Recognise(said); os != nil && taken.Name != os.ID {
		return &strangerError{os}
	}
	return nil
}

// assess writes what devices are fit for.
func (doc *doctorCommand) assess(p *run.Site, f doctorFlags, site *doctor.Site, devices []string, lost map[string]error) error {
	unread := f.strangers
	silent := map[string]error{}
	for _, d := range devices {
		err := lost[d]
		if err == nil {
			continue
		}
		u := doctor.Unread{Device: d, Kind: "server", Why: err.Error()}
		if slices.ContainsFunc(p.Fleet.Roster, func(m plan.Member) bool { return m.Device == d && m.Kind == "switch" }) {
			u.Kind = "switch"
		}
		if s := (*strangerError)(nil); errors.As(err, &s) {
			u.System = s.system.Title.Value
		} else {
			silent[d] = err
		}
		unread = append(unread, u)
	}
	doc.out.lostAll(devices, silent)
	out := doctor.Assess(site, unread, f.arrays)
	out.Owner, out.Simulated = cmp.Or(p.Model.Name, "no files"), doc.opts.lab
	switch {
	case doc.opts.json:
		for _, x := range out.Subjects {
			doc.out.emit(plan.Event{Type: plan.EventNote, Device: x.Device, Message: x.Device + " is " + string(x.State), Data: map[string]any{"subject": x}})
		}
		doc.out.emit(plan.Event{Type: plan.EventNote, Message: "RDMA for all: " + cmp.Or(out.Choice, "none") + " (" + out.Why + ")",
			Data: map[string]any{"flavours": out.Flavours, "choice": out.Choice, "pair": out.Pair, "no_pair": out.NoPair}})
	case f.format == "json":
		if err := out.JSON(doc.out.stdout); err != nil {
			return err
		}
	case f.format == "markdown":
		out.Markdown(doc.out.stdout)
	case f.format == "html":
		if err := out.HTML(doc.out.stdout); err != nil {
			return err
		}
	case f.format == "sarif":
		l := doc.repo.sarif(nil)
		out.SARIF(l)
		if err := l.Write(doc.out.stdout); err != nil {
			return err
		}
	default:
		view.Heading(doc.out.stdout, doc.out.style(doc.out.stdout), "assessment", out.Owner, doc.opts.lab)
		out.Text(doc.out.stdout)
	}
	switch {
	case out.Fit() == doctor.Needs:
		return &quietError{exitFailed}
	case len(lost) > 0:
		return &quietError{exitUnreachable}
	case out.Incomplete():
		return &quietError{exitInconclusive}
	}
	return nil
}
