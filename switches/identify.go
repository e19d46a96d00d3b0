package switches

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
)

// Prompts of several systems look alike: they only say which system a device may have. What
// it has is judged from its answer to Dialect.Version, before anything else is asked.

// An UnlikeError is a device of another system than the one that its prompt suggests.
type UnlikeError struct {
	OS  string // as which it was asked
	Is  string // the system that it reports; "": that is not known
	Why string // what it answered instead
}

func (e *UnlikeError) Error() string {
	if e.Is != "" {
		return fmt.Sprintf("it is %s, and not %s: it reports %q", e.Is, e.OS, e.Why)
	}
	return fmt.Sprintf("it does not report that it is %s: %s", e.OS, e.Why)
}

// advice is what to do about it.
func (e *UnlikeError) advice() string {
	if e.Is == linuxServer {
		return "a server belongs into --hosts, or into a server block"
	}
	return "switches of other systems are described with unmanaged = true; see weft discover --help for the systems that weft speaks"
}

// linuxServer is what a shell is taken for that no switch system answers in.
const linuxServer = "a Linux server"

// A foreign is a system that weft does not speak, by what it reports of itself.
type foreign struct {
	name string
	says pattern.Pattern
}

// foreigns are the systems with prompts like those that weft knows. A more special one stands
// before the one that it is built on.
func foreigns() []foreign {
	return []foreign{
		{"Arista EOS", pattern.New(`(?im)^\s*Arista (?:DCS|CCS|v?EOS|cEOS|7)\S*|"mfgName": *"Arista"|\bArista Networks EOS\b|^Software image version: `)},
		{"SONiC", pattern.New(`(?i)\bSONiC (?:Software|OS) Version\b|\bSONiC\.|You are on\s+SONiC|\bsonic-cli\b`)},
		{"Cumulus Linux", pattern.New(`(?i)\bCumulus (?:Linux|VX)\b|\bcumulus-linux\b`)},
		{"Dell OS10", pattern.New(`(?i)\bDell .*OS10\b|\bOS10 (?:Enterprise|Software)|SmartFabric OS10`)},
		{"Dell OS9", pattern.New(`(?i)Dell (?:EMC )?(?:Real Time Operating System|Networking OS) |Force10`)},
		{"Juniper Junos", pattern.New(`(?im)\bJunos:|\bJUNOS\b`)},
		{"Cisco IOS XR", pattern.New(`(?i)Cisco IOS[ -]XR`)},
		{"Cisco IOS XE", pattern.New(`(?i)Cisco IOS[ -]XE`)},
		{"Cisco IOS", pattern.New(`(?i)Cisco (?:IOS|Internetwork Operating System) Software`)},
		{"Cisco ASA", pattern.New(`(?i)Cisco Adaptive Security Appliance`)},
		{"Cisco NX-OS", pattern.New(`(?i)Nexus Operating System|\bNX-OS\b`)},
		{"H3C Comware", pattern.New(`(?i)Comware (?:Platform )?Software`)},
		{"Huawei VRP", pattern.New(`(?i)Huawei Versatile Routing Platform|VRP \(R\) software`)},
		{"ArubaOS-CX", pattern.New(`(?i)Aruba ?OS-CX|\bAOS-CX\b`)},
		{"NVIDIA Onyx", pattern.New(`(?i)\bMLNX-OS\b|\bOnyx\b`)},
		{"Nokia SR Linux", pattern.New(`(?i)\bSR ?Linux\b`)},
		{"Nokia SR OS", pattern.New(`\bTiMOS-`)},
		{"Brocade Fabric OS or NOS", pattern.New(`(?i)\bBrocade\b|Fabric OS:|Network Operating System Software`)},
		{"Extreme EXOS", pattern.New(`(?i)\bExtremeXOS\b|Switch Engine`)},
		{"Ruijie RGOS", pattern.New(`(?i)\bRuijie\b|\bRGOS\b`)},
		{"VyOS", pattern.New(`(?i)\bVyOS\b`)},
		{"IP Infusion OcNOS", pattern.New(`(?i)\bOcNOS\b`)},
		{"FRRouting", pattern.New(`(?i)\bFRRouting\b`)},
		{linuxServer, pattern.New(`(?m)command not found|: (?:show|display): not found|^(?:Linux|Ubuntu|Debian|Red Hat|Rocky|AlmaLinux|SUSE)\b.*\d|GNU/Linux|Welcome to Ubuntu`)},
	}
}

// foreignIn is the system that a text is of which a device prints of itself, with the line that
// tells; "": none that is known.
func foreignIn(text string) (name, line string) {
	for _, f := range foreigns() {
		if !f.says.MatchString(text) {
			continue
		}
		for l := range strings.Lines(text) {
			if f.says.MatchString(l) {
				return f.name, quoteLast(l)
			}
		}
		return f.name, quoteLast(text)
	}
	return "", ""
}

// Identify judges the answer to Dialect.Version: the error is an *UnlikeError where a device is
// not of this system, or does not report which release or model it is.
func (o *OS) Identify(version string) error {
	is, err := regexp.MatchString(o.Dialect.Identity, version)
	if err != nil {
		return fmt.Errorf("dialect: %w", err)
	}
	if is {
		c, err := o.Parse(map[string]string{o.Dialect.Version: version})
		if err != nil || c.Facts.Version != "" || c.Facts.Model != "" {
			return err
		}
	}
	no := &UnlikeError{OS: o.Name}
	switch last := quoteLast(version); {
	case is:
		no.Why = "its answer to " + o.Dialect.Version + " names neither a release nor a model"
	case strings.TrimSpace(version) == "":
		no.Why = "its answer to " + o.Dialect.Version + " is empty"
	default:
		no.Why = fmt.Sprintf("its answer to %s ends in %q", o.Dialect.Version, last)
		if name, line := foreignIn(version); name != "" {
			no.Is, no.Why = name, line
		}
	}
	return hint.Wrap(no, "%s", no.advice())
}

// Identify asks the switch what it is, once for each login.
func (s *Session) Identify(ctx context.Context) error {
	if s.dialect.Version == "" || s.wire.IsAlive() && s.version != "" {
		return nil
	}
	line := s.dialect.Version
	out, err := s.Show(ctx, []string{line})
	if no := (*RefusedError)(nil); errors.As(err, &no) {
		unlike := &UnlikeError{OS: s.os.Name, Why: no.Error()}
		unlike.Is, _ = foreignIn(no.Reply)
		return hint.Wrap(unlike, "%s", unlike.advice())
	}
	if err == nil {
		err = s.os.Identify(out[line])
	}
	if err == nil {
		s.version = out[line]
	}
	return err
}
