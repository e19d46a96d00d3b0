package discover

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// A Login says how devices were logged in to, for the files to say the same.
type Login struct {
	User, Become            string            // of servers; User "": as ~/.ssh/config has it
	Users                   map[string]string // of servers of a system, where that is somebody else; by its name
	Port                    int               // 0: likewise
	ConnectWait, CommandMax time.Duration
	SwitchUser              string
	VCenterUser             string
}

// who is the user of a server: of what its source says, of its system, or nobody but the
// usual one, who is "" and has no password.
func (l Login) who(m Named, system string) string {
	if user := cmp.Or(m.User, l.Users[system]); user != l.User || m.Password && user == m.User {
		return user
	}
	return ""
}

// The variables of the environment that files name in the place of passwords.
const (
	SwitchPassword  = "WEFT_SWITCH_PASSWORD"
	VCenterPassword = "WEFT_VCENTER_PASSWORD"
)

// accredit gives servers whose user is not the usual one, and vCenters, a credential: the one
// that ledgers name, else one of that user.
func (d *draft) accredit(credentials map[string]string) {
	used := taken{}
	for _, l := range d.leaves {
		used[l.credential] = true
	}
	d.users = map[string]string{}
	if d.base != nil {
		for _, c := range d.base.Credentials {
			l, root := credentialName(c.Addr)
			if used[l] = true; root && c.Password == nil && d.users[c.User] == "" {
				d.users[c.User] = l
			}
		}
	}
	for _, n := range d.ordered() {
		if n.User == "" {
			continue
		}
		if d.users[n.User] == "" {
			d.users[n.User] = used.dashed(cmp.Or(credentials[n.Host], label(n.User, "server")))
			d.credited = append(d.credited, n.User)
		}
		if n.login = d.users[n.User]; n.Password && !slices.Contains(d.secret, variableOf(n.login)) {
			d.secret = append(d.secret, variableOf(n.login))
		}
	}
	was := d.vcenterCredential(credentials)
	for _, c := range d.centers {
		if c.declared != nil {
			continue
		}
		if was == "" { // this run has logged in to all alike
			was = used.dashed(cmp.Or(credentials[c.Center.String()], "vcenter"))
			d.centerLogin = was
		}
		c.credential = was
	}
}

// vcenterCredential is that of vCenters in files that stand: what their vCenters have, or
// ledgers have it of the new ones; "": there is none.
func (d *draft) vcenterCredential(credentials map[string]string) string {
	if d.base == nil {
		return ""
	}
	for _, v := range d.base.VCenters {
		if v.Credential != nil {
			if name, root := credentialName(v.Credential.Addr); root {
				return name
			}
		}
	}
	for _, c := range d.centers {
		for _, known := range d.base.Credentials {
			if l, root := credentialName(known.Addr); root && known.Password != nil && l == credentials[c.Center.String()] {
				return l
			}
		}
	}
	return ""
}

// variableOf is what files name in the place of the password of a credential.
func variableOf(credential string) string {
	return "WEFT_" + strings.ToUpper(strings.ReplaceAll(credential, "-", "_")) + "_PASSWORD"
}

// credentials are the blocks of those that log in, beside the one of switches.
func (d *draft) credentials(login Login) (list []*block) {
	for _, user := range d.credited {
		c := &block{kind: "credential", labels: []string{d.users[user]}}
		c.set("user", str(user))
		if v := variableOf(d.users[user]); slices.Contains(d.secret, v) {
			c.setNoted("password", raw("env("+quoted(v)+")"), "read when connecting")
		}
		list = append(list, c)
	}
	if d.centerLogin != "" {
		list = append(list, credential(d.centerLogin, login.VCenterUser, VCenterPassword))
	}
	return list
}
