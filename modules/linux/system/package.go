package system

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// Package keeps one package of the system installed, or absent.
type Package struct {
	Name      string
	Installed string // version; "" is absent; wanted: "*" is any
	Tool      string `json:",omitempty"` // observed: apt or dnf
}

// PackageKind is the kind package.
func PackageKind() *host.Kind[Package] {
	return &host.Kind[Package]{
		Name:   "package",
		Blocks: packageBlocks, Writes: packageWritten,
		Looks: (*Package).Looks, Parse: (*Package).Parse, Diff: (*Package).Diff, Steps: (*Package).Steps, Absent: (*Package).absent,
		Advice: (*Package).Advice,
	}
}

func packageWritten(_ string, p *Package) (label string, set []host.Setting, err error) {
	switch p.Installed {
	case "":
		set = []host.Setting{host.Set("state", "absent")}
	case AnyVersion:
	default:
		set = []host.Setting{host.Set("version", p.Installed)}
	}
	return p.Name, set, nil
}

func packageBlocks(s *inventory.Server) (list []host.Block[Package]) {
	for _, b := range s.Packages {
		list = append(list, host.Block[Package]{Block: &b.Block, Name: b.Name, Want: newPackage(b.Name, b.Version, b.Absent)})
	}
	return list
}

// AnyVersion is wanted where no version is named.
const AnyVersion = "*"

func newPackage(name, version string, absent bool) *Package {
	p := &Package{Name: name, Installed: version}
	switch {
	case absent:
		p.Installed = ""
	case version == "":
		p.Installed = AnyVersion
	}
	return p
}

// queryPackage names the package tool, then the package's state and version.
const queryPackage = `if command -v apt-get >/dev/null; then echo apt; dpkg-query -W -f '${db:Status-Status} ${Version}\n' -- "$1" 2>/dev/null; ` +
	`elif command -v dnf >/dev/null; then echo dnf; rpm -q --qf 'installed %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n' -- "$1" 2>/dev/null; fi; true`

func (p *Package) look() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", queryPackage, "sh", p.Name}, Own: true}
}

func (p *Package) Looks() []remote.Look { return []remote.Look{p.look()} }

func (p *Package) Parse(s remote.Seen) (*Package, error) {
	out, err := see.Output(s, p.look())
	if err != nil {
		return nil, err
	}
	tool, answer, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if tool != "apt" && tool != "dnf" {
		return nil, hint.Wrap(fmt.Errorf("the server has neither apt-get nor dnf"),
			"other package tools are described, not yet managed: use a command block with unless")
	}
	have := &Package{Name: p.Name, Tool: tool}
	for line := range strings.Lines(answer) { // one per architecture
		if f := strings.Fields(line); len(f) == 2 && f[0] == "installed" {
			have.Installed = f[1]
		}
	}
	return have, nil
}

func (p *Package) absent() *Package { return &Package{Name: p.Name, Tool: p.Tool} }

func (p *Package) Diff(have *Package) []plan.Change {
	if p.Installed == AnyVersion && have.Installed != "" || p.is(have) {
		return nil
	}
	after := p.Installed
	if after == AnyVersion {
		after = "any version"
	}
	return []plan.Change{{Path: "version", Before: have.Installed, After: after}}
}

// is reports whether the wanted version is there. That of rpm may be named
// without its epoch, its release or both.
func (p *Package) is(have *Package) bool {
	switch {
	case have.Installed == p.Installed:
		return true
	case have.Installed == "" || p.Installed == "" || have.Tool != "dnf":
		return false
	}
	version := have.Installed
	if epoch, rest, ok := strings.Cut(version, ":"); ok && !strings.HasPrefix(p.Installed, epoch+":") {
		version = rest
	}
	return version == p.Installed || strings.HasPrefix(version, p.Installed+"-")
}

// Steps: nothing else is removed on the way: what would need
// that fails.
func (p *Package) Steps(have *Package) []remote.Step {
	tool := cmp.Or(have.Tool, p.Tool)
	switch {
	case len(p.Diff(have)) == 0:
		return nil
	case p.Installed == "" && tool == "apt":
		return []remote.Step{host.Run("dpkg", "--remove", p.Name)}
	case p.Installed == "":
		return []remote.Step{host.Run("rpm", "-e", p.Name)}
	case tool == "apt":
		return []remote.Step{host.Run(append([]string{"env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y",
			"-o", "DPkg::Lock::Timeout=60", "-o", "Dpkg::Options::=--force-confold",
			"--no-install-recommends", "--no-remove", "--allow-downgrades", "install"}, p.named("="))...)}
	}
	return []remote.Step{host.Run("dnf", "-q", "-y", "install", p.named("-"))}
}

// named is the package with its version, as the tool wants it.
func (p *Package) named(sep string) string {
	if p.Installed == AnyVersion {
		return p.Name
	}
	return p.Name + sep + p.Installed
}

func (p *Package) Advice(reply string) string {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(reply, w) })
	}
	switch {
	case has("/var/lib/dpkg/lock", "frontend lock", "/var/lib/apt/lists/lock", "waiting for process"):
		return "another package tool is at work on the server: apply again when it has ended"
	case has("dpkg was interrupted"):
		return "an earlier installation broke off: run dpkg --configure -a on the server"
	case has("Held packages", "held broken packages", "on hold"):
		return "packages are on hold (apt-mark showhold): apt-mark unhold NAME lets them change"
	case has("remove is disabled"):
		return "it conflicts with packages that are there: weft removes nothing that no block asks for"
	case has("Unable to locate package", "was not found", "No match for argument", "Unable to find a match"):
		return "the server's package lists do not know it: apt-get update or dnf makecache refreshes them, apt-cache policy or dnf list shows what there is"
	case has("depends on", "is needed by"):
		return "other packages need it: they have to go first"
	}
	return ""
}
