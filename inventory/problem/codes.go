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
	OneSwitch   Code = "WF-NET-012"
	NoFabric    Code = "WF-NET-013"
	MTU         Code = "WF-NET-014"
	SmallMTU    Code = "WF-NET-015"
	DeviceTwice Code = "WF-NET-016"
	PortName    Code = "WF-NET-017"

	DSCP       Code = "WF-QOS-001"
	Priority   Code = "WF-QOS-002"
	ETS        Code = "WF-QOS-003"
	Share      Code = "WF-QOS-004"
	ECN        Code = "WF-QOS-005"
	ObjectName Code = "WF-QOS-006"
	Class      Code = "WF-QOS-007"
	Lossless   Code = "WF-QOS-008"
	Reserved   Code = "WF-QOS-009"
	Headroom   Code = "WF-QOS-010"
	InfiniBand Code = "WF-QOS-011"
	NoDrop     Code = "WF-QOS-012"

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

	Duration Code = "WF-TIM-001"
)

// What only the expansion into resources finds.
const (
	// NotManaged is what the language describes and no kind manages yet.
	NotManaged Code = "WF-PLAN-001"
	// Agent is a configuration that an agent would not take.
	Agent Code = "WF-PLAN-002"
)

// Codes returns every code with what it stands for, in the order of the codes.
func Codes() []CodeTitle {
	return []CodeTitle{
		{Syntax, "the file is not valid HCL"},
		{Block, "a block of this type does not belong here"},
		{Attribute, "an attribute of this name does not belong here"},
		{Later, "described, not yet managed"},
		{Labels, "a block has the wrong labels"},
		{Missing, "an attribute or a block is missing"},
		{Twice, "the same thing is declared twice"},
		{Expr, "an expression cannot be evaluated"},
		{Type, "a value has the wrong type"},
		{Value, "a value is not one of those allowed"},
		{Reference, "a reference leads nowhere"},
		{Cycle, "attributes need each other"},
		{Observed, "an observed value is used where only declared ones are known"},
		{TooLarge, "a file or a value is larger than weft reads"},
		{Repeat, "for_each or count cannot be used like this"},
		{File, "a file cannot be read"},
		{Version, "the inventory asks for another version of weft"},
		{Owner, "the owner's name is not usable on devices"},
		{VarUnset, "a variable has no value"},
		{VarUnknown, "a value is given for a variable that is not declared"},
		{VarType, "a variable's value has the wrong type"},
		{VarInvalid, "a variable's value fails its validation"},
		{VarPlanned, "a variable has another value than the plan that is carried out"},
		{Literal, "a literal in a sensitive attribute"},
		{Exposed, "a sensitive attribute reads a variable that is not sensitive"},
		{Shown, "a sensitive value in an attribute that is shown"},
		{Login, "nothing says how to log in to a switch"},
		{Readable, "a secret is in a file that every user of this machine may read"},
		{NoPlane, "an address lies in no plane of its fabric, or in several"},
		{AddrTwice, "an address is used twice"},
		{NotHost, "an address is the network's or the broadcast address"},
		{Plane, "a plane does not exist"},
		{Overlap, "subnets of planes overlap"},
		{Crossed, "a link joins two planes"},
		{EndTwice, "a port or NIC has two links"},
		{Unreachable, "an initiator does not reach a target on every plane"},
		{Match, "a NIC cannot be told from others"},
		{Speed, "a link is faster than its port"},
		{Uneven, "the planes of a host differ in speed"},
		{OneSwitch, "both planes of a host lead to one switch"},
		{NoFabric, "a managed switch serves no fabric"},
		{MTU, "the switches' MTU leaves no room for the hosts' packets"},
		{SmallMTU, "the hosts' MTU makes RoCE packets small"},
		{DeviceTwice, "two devices are one and the same"},
		{PortName, "a port has a name that its switch does not use"},
		{DSCP, "a DSCP stands for two classes"},
		{Priority, "a priority stands for two classes"},
		{ETS, "bandwidths do not sum to 100 percent"},
		{Share, "a class needs either bandwidth or strict"},
		{ECN, "an ECN curve does not rise"},
		{ObjectName, "a name derived from the owner is too long for a switch"},
		{Class, "a traffic class cannot be told from others"},
		{Lossless, "lossless mode and PFC contradict each other"},
		{Reserved, "a priority that should not be lossless"},
		{Headroom, "headroom that does not fit PFC or ECN"},
		{InfiniBand, "settings of Ethernet on InfiniBand, or the other way round"},
		{NoDrop, "more lossless classes than a switch is known to have"},
		{NQN, "a name is not an NQN"},
		{NQNTwice, "an NQN is used twice"},
		{Serial, "a serial number is not usable or used twice"},
		{NSID, "a namespace id is not usable"},
		{Elsewhere, "a namespace's volume lies on another server"},
		{Limits, "limits on an engine that cannot keep them"},
		{UUID, "a UUID is not one or used twice"},
		{Portal, "a portal is not usable"},
		{Target, "a target's engine and attributes contradict each other"},
		{VolumeTwice, "two namespaces export the same volume"},
		{Transport, "a target's transport does not run on its fabric"},
		{Nothing, "a target has nothing to export"},
		{CHAP, "what authenticates whom contradicts itself"},
		{Drive, "a drive has no stable name"},
		{DriveTwice, "a drive is used twice"},
		{VolumeName, "two volumes of one pool have the same name"},
		{Mirror, "a mirror does not protect"},
		{Half, "nobody keeps the halves of a mirror the same"},
		{Select, "phases select nothing, or something twice"},
		{Order, "something depends on what a later phase brings"},
		{NoGate, "a gate or a record names no validation"},
		{Metric, "a metric cannot be judged"},
		{NoBaseline, "a metric is judged by a baseline alone"},
		{Duration, "a duration is out of range"},
		{NotManaged, "described, not yet managed"},
		{Agent, "not a configuration weft-target takes"},
	}
}

// A CodeTitle is a code with what it stands for.
type CodeTitle struct {
	Code  Code
	Title string
}

// CodeOf returns the code of a diagnostic that Load or Evaluate returned.
func CodeOf(d *hcl.Diagnostic) Code {
	c, _ := d.Extra.(Code)
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
