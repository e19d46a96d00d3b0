package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"

	"weft/internal/remote"
	"weft/internal/remote/ssh"
	"weft/modules/linux"
	"weft/switches/systems"
)

// privileges is what logins of weft need, made of the lines that it types.
type privileges struct {
	Servers  serverRights   `json:"servers"`
	Switches []switchRights `json:"switches"`
}

// serverRights are those of two users, or of one that has both: who reads, and who changes.
type serverRights struct {
	Read   readRights `json:"read"`
	Change runRights  `json:"change"`
}

// readRights are of a login that has one program run as root, which changes nothing.
type readRights struct {
	Become  string   `json:"become"`
	Runs    []string `json:"runs"`
	Sudoers []string `json:"sudoers"`
	Tells   []string `json:"tells"` // what the program tells; it refuses anything else
	Remark  string   `json:"remark"`
}

// runRights are of a login that does everything.
type runRights struct {
	Become  string   `json:"become"`
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
	tty := "Defaults:" + user + " !requiretty"
	var p privileges
	p.Servers.Read = readRights{Become: ssh.ReadOnly, Runs: ssh.BecomesReader(),
		Sudoers: []string{fmt.Sprintf("%s ALL=(root) NOPASSWD: sha256:%x %s \"\"", user, sha256.Sum256([]byte(remote.Reader(linux.Permits()))), remote.ReaderPath), tty},
		Remark: "The program is what weft doctor --reader prints; root owns it, with mode 0755. sudo runs it by its digest only. No word that it is asked with is evaluated: " +
			"it compares them with the list below. It returns no keys, no file contents and no output of commands in the files: such resources are read as the user, or reported as not readable. " +
			"A weft that reads otherwise comes with another one: install both again.",
	}
	for _, permit := range linux.Permits() {
		p.Servers.Read.Tells = append(p.Servers.Read.Tells, permit.What)
	}
	p.Servers.Change = runRights{Become: "sudo", Runs: runs,
		Sudoers: []string{fmt.Sprintf("%s ALL=(root) NOPASSWD: /usr/bin/%s, /bin/%s", user, shell, shell), tty},
		Remark: "weft changes with scripts that it hands to " + shell + ": this grants all of root, because sudo cannot distinguish scripts. " +
			"Use this login for rollouts only: a separate user and key, from=\"…\" in authorized_keys, and sudo's log (log_output) on a monitored host.",
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
	r, c := p.Servers.Read, p.Servers.Change
	fmt.Fprintf(&b, "Servers, to read: a user for weft plan, facts, drift, discover and doctor, with become = %q in the connection\n\n  %s\n\n", r.Become, strings.Join(r.Sudoers, "\n  "))
	fmt.Fprintf(&b, "  Installed with: weft doctor --reader | ssh root@SERVER 'cat >%[1]s && chown root:root %[1]s && chmod 0755 %[1]s'\n", remote.ReaderPath)
	fmt.Fprintf(&b, "  %s\n  It reads: %s.\n", r.Remark, strings.Join(r.Tells, "; "))
	fmt.Fprintf(&b, "\nServers, to change: a user for weft apply and verify, with become = %q\n\n  %s\n\n", c.Become, strings.Join(c.Sudoers, "\n  "))
	fmt.Fprintf(&b, "  Every command that needs root begins with: %s\n  %s\n", strings.Join(c.Runs, " "), c.Remark)
	for _, s := range p.Switches {
		fmt.Fprintf(&b, "\n%s: a role for weft plan, facts, verify and doctor, which permits the lines that they type\n\n  %s\n\n", s.OS, strings.Join(s.Role, "\n  "))
		fmt.Fprintf(&b, "  weft apply types configuration, saves it and arms a timed revert: that takes %s.\n  Roles as in: %s. Not tried on a switch.\n", cmp.Or(s.Change, "an administrator's role"), cmp.Or(s.Source, "no source"))
	}
	return b.String()
}

func (doc *doctorCommand) listPrivileges(user string) error {
	p := rights(cmp.Or(user, "weft"))
	if doc.opts.json {
		return doc.out.encode(p)
	}
	_, err := fmt.Fprint(doc.out.stdout, p.text())
	return err
}
