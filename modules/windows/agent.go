package windows

import (
	"cmp"
	"errors"
	"fmt"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// Agent keeps weft-initiator on a host, taken from weft's own bundle: weft verify starts
// it, and nothing of it runs at other times.
type Agent struct {
	Name   string         // weft-initiator
	Bundle *bundle.Bundle `json:"-"` // where executables come from; nil when observed

	source *bundle.Bundle // where a restoration finds what its undo installs

	// Observed, and Binary is also what is wanted.
	Platform string // "windows-amd64"
	Binary   string // SHA-256 of the executable; "" is not installed
}

// probeName is the one agent that runs on Windows, and probeExe where it is.
const (
	probeName = "weft-initiator"
	probeExe  = root + `\bin\` + probeName + ".exe"
)

// AgentKind is the kind agent.
func AgentKind() *host.Kind[Agent] {
	return &host.Kind[Agent]{
		Name:  "agent",
		Looks: (*Agent).Looks, Parse: (*Agent).Parse, Diff: (*Agent).Diff, Steps: (*Agent).Steps, Absent: (*Agent).absent, Goal: (*Agent).Goal,
		From: func(a *Agent, b *bundle.Bundle) { a.source = b },
	}
}

// agentOf makes the resource that keeps weft-initiator on a host.
func agentOf(d *host.Machine, b *bundle.Bundle) host.Wanted {
	return host.Wanted{Kind: "agent", Name: probeName, Resource: AgentKind().Want(d, &Agent{Name: probeName, Bundle: b})}
}

func processorLook() remote.Look {
	return query("Architecture:int64", "Get-CimInstance", "-ClassName", "Win32_Processor")
}

func exeLook() remote.Look { return remote.Look{File: probeExe, Sum: true} }

func (a *Agent) Looks() []remote.Look { return []remote.Look{processorLook(), exeLook()} }

func (a *Agent) Parse(s remote.Seen) (*Agent, error) {
	type processor struct{ Architecture int64 }
	list, err := rows[processor](s, processorLook())
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, errors.New("the host does not report its processor: Win32_Processor")
	}
	have := &Agent{Name: a.Name, Platform: platform(list[0].Architecture), source: cmp.Or(a.Bundle, a.source)}
	exe := s.Of(exeLook())
	if exe.Err != nil && !exe.Absent {
		return nil, exe.Err
	}
	have.Binary = exe.Sum
	if a.Bundle == nil {
		return have, nil
	}
	want, err := a.exe(have).Sum()
	if err == nil && have.Binary != want {
		_, err = a.executable(have) // which will be installed: here it is known whether it can be had
	}
	return have, err
}

// platform turns the architecture of Win32_Processor into Go's words.
func platform(architecture int64) string {
	switch architecture {
	case 9:
		return "windows-amd64"
	case 12:
		return "windows-arm64"
	}
	return fmt.Sprintf("windows-architecture %d of Win32_Processor", architecture)
}

// exe is what stands for it in the bundle, for the platform that was observed.
func (a *Agent) exe(have *Agent) bundle.Executable {
	return bundle.Executable{From: cmp.Or(a.Bundle, a.source), Platform: have.Platform, Name: a.Name}
}

// executable puts what is to be installed, which is unpacked when it is put.
func (a *Agent) executable(have *Agent) (remote.Step, error) {
	size, unpack, err := a.exe(have).Packed()
	return remote.Step{Put: &remote.File{Path: probeExe, Mode: 0o755, Unpack: unpack, Size: size}}, err
}

// Goal says which bytes will be there.
func (a *Agent) Goal(have *Agent) *Agent {
	sum, _ := a.exe(have).Sum() // Parse has refused platforms without one
	return &Agent{Name: a.Name, Platform: have.Platform, Binary: sum}
}

func (a *Agent) absent() *Agent { return &Agent{Name: a.Name, Platform: a.Platform, source: a.source} }

// sum is that of the bytes that a stands for.
func (a *Agent) sum(have *Agent) string {
	if a.Bundle == nil {
		return a.Binary
	}
	sum, _ := a.exe(have).Sum() // Parse has refused platforms without one
	return sum
}

func (a *Agent) Diff(have *Agent) []plan.Change {
	return plan.Changed("binary", shortSum(have.Binary), shortSum(a.sum(have)), plan.ImpactNone)
}

func shortSum(sum string) string {
	return sum[:min(len(sum), 12)]
}

// Steps: the executable that is replaced stays beside the new one as .previous, which is
// what undo puts back where weft has no other like it.
func (a *Agent) Steps(have *Agent) []remote.Step {
	const previous = probeExe + ".previous"
	want := a.sum(have)
	if have.Bundle != nil { // the way back from what is to be installed
		have = have.Goal(a)
	}
	exe, err := a.executable(have)
	ours, _ := a.exe(have).Sum()
	switch {
	case have.Binary == want:
		return nil
	case want == "":
		return []remote.Step{{Del: probeExe}, {Del: previous}}
	case a.Bundle != nil && have.Binary != "":
		return []remote.Step{host.Run("Copy-Item", "-LiteralPath", probeExe, "-Destination", previous, "-Force"), exe}
	case err == nil && want == ours:
		return []remote.Step{exe}
	}
	return []remote.Step{host.Run("Move-Item", "-LiteralPath", previous, "-Destination", probeExe, "-Force")}
}
