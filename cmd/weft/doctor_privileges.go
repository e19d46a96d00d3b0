package main

import (
	"cmp"
	"fmt"
	"strings"

	"weft/internal/remote/ssh"
	"weft/switches/systems"
)

// privileges is what logins of weft need, made of the lines that it types.
type privileges struct {
	Servers  serverRights   `json:"servers"`
	Switches []switchRights `json:"switches"`
}

type serverRights struct {
	Runs    []string `json:"runs"` // what every command that needs root begins with
	Sudoers []string `json:"sudoers"`
	Remark  string   `json:"remark"`
}

type switchRights struct {
	OS     string   `json:"os"`
	Reads  []string `json:"reads"` // the lines that read, * is a port or a name
	Role   []string `json:"role"`  // that permits them and no more
	Change string   `json:"change"`
	Source string   `json:"source"`
}

// rights are those of a user by that name.
func rights(user string) privileges {
	runs := ssh.Becomes()
	shell := runs[len(runs)-2]
	var p privileges
	p.Servers = serverRights{Runs: runs,
		Sudoers: []string{fmt.Sprintf("%s ALL=(root) NOPASSWD: /usr/bin/%s, /bin/%s", user, shell, shell), "Defaults:" + user + " !requiretty"},
		Remark: "weft reads and changes with scripts that it hands to " + shell + ": who may run that as root may do everything, and sudo cannot tell one script from another. " +
			"Bind the key instead: from=\"…\" in authorized_keys, a user of its own, and sudo's log (log_output) where it is to be seen.",
	}
	for _, o := range systems.All() {
		r := switchRights{OS: o.Name, Reads: o.Typed(), Role: o.Reading("weft-read")}
		if o.Role != nil {
			r.Change, r.Source = o.Role.Change, o.Role.Source
		}
		p.Switches = append(p.Switches, r)
	}
	return p
}

// text is the page of it.
func (p privileges) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Servers: a user, and sudo without a password for one program\n\n  %s\n\n", strings.Join(p.Servers.Sudoers, "\n  "))
	fmt.Fprintf(&b, "  Every command that needs root begins with: %s\n  %s\n", strings.Join(p.Servers.Runs, " "), p.Servers.Remark)
	for _, s := range p.Switches {
		fmt.Fprintf(&b, "\n%s: a role for weft plan, facts, verify and doctor, which permits the lines that they type\n\n  %s\n\n", s.OS, strings.Join(s.Role, "\n  "))
		fmt.Fprintf(&b, "  weft apply types configuration, saves it and arms a timed revert: that takes %s.\n  Roles as in: %s. Not tried on a switch.\n", cmp.Or(s.Change, "an administrator's role"), cmp.Or(s.Source, "no source"))
	}
	return b.String()
}

func (a *app) listPrivileges(user string) error {
	p := rights(cmp.Or(user, "weft"))
	if a.json {
		return a.encode(p)
	}
	_, err := fmt.Fprint(a.stdout, p.text())
	return err
}
