package inventory

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
)

// A Code names one kind of problem. It stands at the start of a diagnostic's
// Summary and in its Extra.
type Code string

// What can be wrong with the text.
const (
	codeSyntax    Code = "WF-LANG-001"
	codeBlock     Code = "WF-LANG-002"
	codeAttribute Code = "WF-LANG-003"
	codeLater     Code = "WF-LANG-004"
	codeLabels    Code = "WF-LANG-005"
	// CodeMissing is an attribute or a block that something needs.
	CodeMissing   Code = "WF-LANG-006"
	codeTwice     Code = "WF-LANG-007"
	codeExpr      Code = "WF-LANG-008"
	codeType      Code = "WF-LANG-009"
	codeValue     Code = "WF-LANG-010"
	codeReference Code = "WF-LANG-011"
	codeCycle     Code = "WF-LANG-012"
	codeObserved  Code = "WF-LANG-013"
	codeTooLarge  Code = "WF-LANG-014"
	codeRepeat    Code = "WF-LANG-015"
	codeFile      Code = "WF-LANG-016"
	codeVersion   Code = "WF-LANG-017"
	codeOwner     Code = "WF-LANG-018"

	codeVarUnset   Code = "WF-VAR-001"
	codeVarUnknown Code = "WF-VAR-002"
	codeVarType    Code = "WF-VAR-003"
	codeVarInvalid Code = "WF-VAR-004"
	codeVarPlanned Code = "WF-VAR-005"

	codeLiteral Code = "WF-SEC-001"
	codeExposed Code = "WF-SEC-002"
	codeShown   Code = "WF-SEC-003"
	codeLogin   Code = "WF-SEC-004"

	codeReadable Code = "WF-SEC-005"
)

// What can be wrong with what the text describes.
const (
	codeNoPlane     Code = "WF-NET-001"
	codeAddrTwice   Code = "WF-NET-002"
	codeNotHost     Code = "WF-NET-003"
	codePlane       Code = "WF-NET-004"
	codeOverlap     Code = "WF-NET-005"
	codeCrossed     Code = "WF-NET-006"
	codeEndTwice    Code = "WF-NET-007"
	codeUnreachable Code = "WF-NET-008"
	codeMatch       Code = "WF-NET-009"
	codeSpeed       Code = "WF-NET-010"
	codeUneven      Code = "WF-NET-011"
	codeOneSwitch   Code = "WF-NET-012"
	codeNoFabric    Code = "WF-NET-013"
	codeMTU         Code = "WF-NET-014"
	codeSmallMTU    Code = "WF-NET-015"
	codeDeviceTwice Code = "WF-NET-016"
	codePortName    Code = "WF-NET-017"

	codeDSCP       Code = "WF-QOS-001"
	codePriority   Code = "WF-QOS-002"
	codeETS        Code = "WF-QOS-003"
	codeShare      Code = "WF-QOS-004"
	codeECN        Code = "WF-QOS-005"
	codeObjectName Code = "WF-QOS-006"
	codeClass      Code = "WF-QOS-007"
	codeLossless   Code = "WF-QOS-008"
	codeReserved   Code = "WF-QOS-009"
	codeHeadroom   Code = "WF-QOS-010"
	codeInfiniBand Code = "WF-QOS-011"
	codeNoDrop     Code = "WF-QOS-012"

	codeNQN         Code = "WF-NVM-001"
	codeNQNTwice    Code = "WF-NVM-002"
	codeSerial      Code = "WF-NVM-003"
	codeNSID        Code = "WF-NVM-004"
	codeElsewhere   Code = "WF-NVM-005"
	codeLimits      Code = "WF-NVM-006"
	codeUUID        Code = "WF-NVM-007"
	codePortal      Code = "WF-NVM-008"
	codeTarget      Code = "WF-NVM-009"
	codeVolumeTwice Code = "WF-NVM-010"
	codeTransport   Code = "WF-NVM-011"
	codeNothing     Code = "WF-NVM-012"
	codeCHAP        Code = "WF-NVM-013"

	codeDrive      Code = "WF-STO-001"
	codeDriveTwice Code = "WF-STO-002"
	codeVolumeName Code = "WF-STO-003"
	codeMirror     Code = "WF-STO-004"
	codeHalf       Code = "WF-STO-005"

	codeSelect Code = "WF-ROL-001"
	codeOrder  Code = "WF-ROL-002"
	codeNoGate Code = "WF-ROL-003"

	codeMetric     Code = "WF-VAL-001"
	codeNoBaseline Code = "WF-VAL-002"

	codeDuration Code = "WF-TIM-001"
)

// What only the expansion into resources finds.
const (
	// CodeLater is what the language describes and no kind manages yet.
	CodeLater Code = "WF-PLAN-001"
	// CodeAgent is a configuration that an agent would not take.
	CodeAgent Code = "WF-PLAN-002"
)

// Codes returns every code with what it stands for, in the order of the codes.
func Codes() []CodeTitle {
	return []CodeTitle{
		{codeSyntax, "the file is not valid HCL"},
		{codeBlock, "a block of this type does not belong here"},
		{codeAttribute, "an attribute of this name does not belong here"},
		{codeLater, "described, not yet managed"},
		{codeLabels, "a block has the wrong labels"},
		{CodeMissing, "an attribute or a block is missing"},
		{codeTwice, "the same thing is declared twice"},
		{codeExpr, "an expression cannot be evaluated"},
		{codeType, "a value has the wrong type"},
		{codeValue, "a value is not one of those allowed"},
		{codeReference, "a reference leads nowhere"},
		{codeCycle, "attributes need each other"},
		{codeObserved, "an observed value is used where only declared ones are known"},
		{codeTooLarge, "a file or a value is larger than weft reads"},
		{codeRepeat, "for_each or count cannot be used like this"},
		{codeFile, "a file cannot be read"},
		{codeVersion, "the inventory asks for another version of weft"},
		{codeOwner, "the owner's name is not usable on devices"},
		{codeVarUnset, "a variable has no value"},
		{codeVarUnknown, "a value is given for a variable that is not declared"},
		{codeVarType, "a variable's value has the wrong type"},
		{codeVarInvalid, "a variable's value fails its validation"},
		{codeVarPlanned, "a variable has another value than the plan that is carried out"},
		{codeLiteral, "a literal in a sensitive attribute"},
		{codeExposed, "a sensitive attribute reads a variable that is not sensitive"},
		{codeShown, "a sensitive value in an attribute that is shown"},
		{codeLogin, "nothing says how to log in to a switch"},
		{codeReadable, "a secret is in a file that every user of this machine may read"},
		{codeNoPlane, "an address lies in no plane of its fabric, or in several"},
		{codeAddrTwice, "an address is used twice"},
		{codeNotHost, "an address is the network's or the broadcast address"},
		{codePlane, "a plane does not exist"},
		{codeOverlap, "subnets of planes overlap"},
		{codeCrossed, "a link joins two planes"},
		{codeEndTwice, "a port or NIC has two links"},
		{codeUnreachable, "an initiator does not reach a target on every plane"},
		{codeMatch, "a NIC cannot be told from others"},
		{codeSpeed, "a link is faster than its port"},
		{codeUneven, "the planes of a host differ in speed"},
		{codeOneSwitch, "both planes of a host lead to one switch"},
		{codeNoFabric, "a managed switch serves no fabric"},
		{codeMTU, "the switches' MTU leaves no room for the hosts' packets"},
		{codeSmallMTU, "the hosts' MTU makes RoCE packets small"},
		{codeDeviceTwice, "two devices are one and the same"},
		{codePortName, "a port has a name that its switch does not use"},
		{codeDSCP, "a DSCP stands for two classes"},
		{codePriority, "a priority stands for two classes"},
		{codeETS, "bandwidths do not sum to 100 percent"},
		{codeShare, "a class needs either bandwidth or strict"},
		{codeECN, "an ECN curve does not rise"},
		{codeObjectName, "a name derived from the owner is too long for a switch"},
		{codeClass, "a traffic class cannot be told from others"},
		{codeLossless, "lossless mode and PFC contradict each other"},
		{codeReserved, "a priority that should not be lossless"},
		{codeHeadroom, "headroom that does not fit PFC or ECN"},
		{codeInfiniBand, "settings of Ethernet on InfiniBand, or the other way round"},
		{codeNoDrop, "more lossless classes than a switch is known to have"},
		{codeNQN, "a name is not an NQN"},
		{codeNQNTwice, "an NQN is used twice"},
		{codeSerial, "a serial number is not usable or used twice"},
		{codeNSID, "a namespace id is not usable"},
		{codeElsewhere, "a namespace's volume lies on another server"},
		{codeLimits, "limits on an engine that cannot keep them"},
		{codeUUID, "a UUID is not one or used twice"},
		{codePortal, "a portal is not usable"},
		{codeTarget, "a target's engine and attributes contradict each other"},
		{codeVolumeTwice, "two namespaces export the same volume"},
		{codeTransport, "a target's transport does not run on its fabric"},
		{codeNothing, "a target has nothing to export"},
		{codeCHAP, "what authenticates whom contradicts itself"},
		{codeDrive, "a drive has no stable name"},
		{codeDriveTwice, "a drive is used twice"},
		{codeVolumeName, "two volumes of one pool have the same name"},
		{codeMirror, "a mirror does not protect"},
		{codeHalf, "nobody keeps the halves of a mirror the same"},
		{codeSelect, "phases select nothing, or something twice"},
		{codeOrder, "something depends on what a later phase brings"},
		{codeNoGate, "a gate or a record names no validation"},
		{codeMetric, "a metric cannot be judged"},
		{codeNoBaseline, "a metric is judged by a baseline alone"},
		{codeDuration, "a duration is out of range"},
		{CodeLater, "described, not yet managed"},
		{CodeAgent, "not a configuration weft-target takes"},
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

// problem returns an error at rng.
func problem(code Code, rng hcl.Range, summary, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  string(code) + ": " + summary,
		Detail:   fmt.Sprintf(format, args...),
		Subject:  rng.Ptr(),
		Extra:    code,
	}
}

// coded gives a code to problems that HCL itself found. It also takes away
// what their printer would show values from: those may be sensitive.
func coded(code Code, diags hcl.Diagnostics) hcl.Diagnostics {
	for _, d := range diags {
		d.Expression, d.EvalContext = nil, nil
		if CodeOf(d) == "" {
			d.Extra = code
			d.Summary = string(code) + ": " + d.Summary
		}
	}
	return diags
}
