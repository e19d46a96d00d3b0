// Package problem is what can be wrong with files: a code for each kind of
// problem, with a page that explains it.
package problem

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// A Code names one kind of problem. It stands at the start of a diagnostic's
// Summary and in its Extra.
type Code string

// What can be wrong with the text.
const (
	Syntax    Code = "WF-LANG-001"
	Block     Code = "WF-LANG-002"
	Attribute Code = "WF-LANG-003"
	Later     Code = "WF-LANG-004"
	Labels    Code = "WF-LANG-005"
	// Missing is an attribute or a block that something needs.
	Missing   Code = "WF-LANG-006"
	Twice     Code = "WF-LANG-007"
	Expr      Code = "WF-LANG-008"
	Type      Code = "WF-LANG-009"
	Value     Code = "WF-LANG-010"
	Reference Code = "WF-LANG-011"
	Cycle     Code = "WF-LANG-012"
	Observed  Code = "WF-LANG-013"
	TooLarge  Code = "WF-LANG-014"
	Repeat    Code = "WF-LANG-015"
	File      Code = "WF-LANG-016"
	Version   Code = "WF-LANG-017"
	Owner     Code = "WF-LANG-018"

	VarUnset   Code = "WF-VAR-001"
	VarUnknown Code = "WF-VAR-002"
	VarType    Code = "WF-VAR-003"
	VarInvalid Code = "WF-VAR-004"
	VarPlanned Code = "WF-VAR-005"

	Literal Code = "WF-SEC-001"
	Exposed Code = "WF-SEC-002"
	Shown   Code = "WF-SEC-003"
	Login   Code = "WF-SEC-004"

	Readable Code = "WF-SEC-005"

	Untrusted Code = "WF-SEC-006"
)

// What can be wrong with what the text describes.
const (
	NoPlane     Code = "WF-NET-001"
	AddrTwice   Code = "WF-NET-002"
	NotHost     Code = "WF-NET-003"
	Plane       Code = "WF-NET-004"
	Overlap     Code = "WF-NET-005"
	Crossed     Code = "WF-NET-006"
	EndTwice    Code = "WF-NET-007"
	Unreachable Code = "WF-NET-008"
	Match       Code = "WF-NET-009"
	Speed       Code = "WF-NET-010"
	Uneven      Code = "WF-NET-011"
	NoFabric    Code = "WF-NET-013"
	MTU         Code = "WF-NET-014"
	SmallMTU    Code = "WF-NET-015"
	DeviceTwice Code = "WF-NET-016"
	PortName    Code = "WF-NET-017"
	Uplink      Code = "WF-NET-018"
	PVRDMA      Code = "WF-NET-019"
	OtherWay    Code = "WF-NET-020"
	Segments    Code = "WF-NET-021"
	FC          Code = "WF-NET-022"

	DSCP       Code = "WF-QOS-001"
	Priority   Code = "WF-QOS-002"
	Share      Code = "WF-QOS-004"
	ObjectName Code = "WF-QOS-006"
	Class      Code = "WF-QOS-007"
	Lossless   Code = "WF-QOS-008"
	Reserved   Code = "WF-QOS-009"
	Headroom   Code = "WF-QOS-010"
	InfiniBand Code = "WF-QOS-011"
	NoDrop     Code = "WF-QOS-012"
	Carries    Code = "WF-QOS-013"

	NQN         Code = "WF-NVM-001"
	NQNTwice    Code = "WF-NVM-002"
	Serial      Code = "WF-NVM-003"
	NSID        Code = "WF-NVM-004"
	Elsewhere   Code = "WF-NVM-005"
	Limits      Code = "WF-NVM-006"
	UUID        Code = "WF-NVM-007"
	Portal      Code = "WF-NVM-008"
	Target      Code = "WF-NVM-009"
	VolumeTwice Code = "WF-NVM-010"
	Transport   Code = "WF-NVM-011"
	Nothing     Code = "WF-NVM-012"
	CHAP        Code = "WF-NVM-013"
	Locks       Code = "WF-NVM-014"
	TLS         Code = "WF-NVM-015"

	Drive      Code = "WF-STO-001"
	DriveTwice Code = "WF-STO-002"
	VolumeName Code = "WF-STO-003"
	Mirror     Code = "WF-STO-004"
	Half       Code = "WF-STO-005"

	Select Code = "WF-ROL-001"
	Order  Code = "WF-ROL-002"
	NoGate Code = "WF-ROL-003"

	Metric     Code = "WF-VAL-001"
	NoBaseline Code = "WF-VAL-002"
	Load       Code = "WF-VAL-003"
	Unmeasured Code = "WF-VAL-004"

	Duration Code = "WF-TIM-001"
)

// Findings that validate makes in files and weft doctor on devices: one ID, one severity.
const (
	OneSwitch    Code = "WD-LNK-11"
	HostNQNTwice Code = "WD-NVM-09"
	ECN          Code = "WD-QOS-07"
	ETS          Code = "WD-QOS-08"

	NoECN      Code = "WD-QOS-06"
	NoCNP      Code = "WD-QOS-10"
	NoWatchdog Code = "WD-QOS-14"
	PauseFirst Code = "WD-QOS-26"
)

// Now is the code that a finding has instead of one that it had before; others stay as they are.
func Now(code string) string {
	switch code {
	case "WF-NET-012":
		return string(OneSwitch)
	case "WF-QOS-003":
		return string(ETS)
	case "WF-QOS-005":
		return string(ECN)
	}
	return code
}

// What only the expansion into resources finds.
const (
	// NotManaged is what the language describes and no kind manages yet.
	NotManaged Code = "WF-PLAN-001"
	// Agent is a configuration that an agent would not take.
	Agent Code = "WF-PLAN-002"
)

// CodeOf returns the code of a diagnostic that Load or Evaluate returned.
func CodeOf(d *hcl.Diagnostic) Code {
	c, _ := hcl.DiagnosticExtra[Code](d)
	return c
}

// New returns an error at rng.
func New(code Code, rng hcl.Range, summary, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  string(code) + ": " + summary,
		Detail:   fmt.Sprintf(format, args...),
		Subject:  rng.Ptr(),
		Extra:    code,
	}
}

// Coded gives a code to problems that HCL itself found. It also takes away
// what their printer would show values from: those may be sensitive.
func Coded(code Code, diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		d.Expression, d.EvalContext = nil, nil
		if CodeOf(d) == "" {
			d.Extra = code
			d.Summary = string(code) + ": " + d.Summary
		}
	}
	return diags
}

// Within gives a problem its surroundings for the snippet.
func Within(d *hcl.Diagnostic, context hcl.Range) *hcl.Diagnostic {
	d.Context = context.Ptr()
	return d
}

// Where names a place for use within a sentence.
func Where(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// MaxAlike is how many problems of one kind are shown at one place: a block
// may have thousands of instances.
const MaxAlike = 3

// Alike is the extra of the last problem of one kind at one place that is kept: how many more
// there are, besides the code of the problem.
type Alike struct {
	More  int
	extra any
}

// UnwrapDiagnosticExtra is the extra that the problem has without others like it.
func (a Alike) UnwrapDiagnosticExtra() any { return a.extra }

// AndMore notes on a problem how many more like it are not kept.
func AndMore(d *hcl.Diagnostic, more int) {
	d.Detail += fmt.Sprintf("\n\nAnd %d more like this.", more)
	d.Extra = Alike{more, d.Extra}
}
