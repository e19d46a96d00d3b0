package wire

import "fmt"

// Status is what a completion says: status code in bits 7:0, status code type
// in bits 10:8, command retry delay in bits 12:11, more in bit 13, do not
// retry in bit 14. It is the status field of a completion without the phase
// bit. Zero is success.
//
// Base section 3.3.3.2.1, Status Field Definition.
//
// A Status is an error; a function that returns error returns [Status.Err], so
// that success is nil. errors.Is compares type and code and ignores the rest.
type Status uint16

// The flags of a Status.
const (
	StatusDNR  Status = 0x4000 // do not retry
	StatusMore Status = 0x2000 // more in the error log
	statusCode Status = 0x07ff
)

// Status codes: type in bits 10:8, code in bits 7:0.
const (
	Success             Status = 0x000
	InvalidOpcode       Status = 0x001
	InvalidField        Status = 0x002
	CIDConflict         Status = 0x003
	DataTransferError   Status = 0x004
	PowerLossAbort      Status = 0x005
	InternalError       Status = 0x006
	AbortRequested      Status = 0x007
	AbortedSQDeletion   Status = 0x008
	AbortedFailedFuse   Status = 0x009
	AbortedMissingFuse  Status = 0x00a
	InvalidNamespace    Status = 0x00b
	CommandSequence     Status = 0x00c
	SGLInvalidLast      Status = 0x00d
	SGLInvalidCount     Status = 0x00e
	SGLInvalidLength    Status = 0x00f
	MetadataSGLLength   Status = 0x010
	SGLInvalidType      Status = 0x011
	OperationDenied     Status = 0x015
	SGLInvalidOffset    Status = 0x016
	HostIDInconsistent  Status = 0x018
	KeepAliveExpired    Status = 0x019
	KeepAliveInvalid    Status = 0x01a
	NSWriteProtected    Status = 0x020
	CommandInterrupted  Status = 0x021
	TransientTransport  Status = 0x022
	LBAOutOfRange       Status = 0x080
	CapacityExceeded    Status = 0x081
	NSNotReady          Status = 0x082
	ReservationConflict Status = 0x083

	InvalidQueueID        Status = 0x101
	InvalidQueueSize      Status = 0x102
	AbortLimitExceeded    Status = 0x103
	AERLimitExceeded      Status = 0x105
	InvalidFormat         Status = 0x10a
	InvalidLogPage        Status = 0x109
	FeatureNotSaveable    Status = 0x10d
	FeatureNotChangeable  Status = 0x10e
	FeatureNotNSSpecific  Status = 0x10f
	ConnectIncompatible   Status = 0x180
	ConnectControllerBusy Status = 0x181 // Controller Busy (81h), also where no controller is available. Base revision 2.2 figure 105
	ConnectInvalidParam   Status = 0x182
	ConnectRestart        Status = 0x183
	ConnectInvalidHost    Status = 0x184
	DiscoveryRestart      Status = 0x190
	AuthRequired          Status = 0x191

	WriteFault          Status = 0x280
	UnrecoveredRead     Status = 0x281
	GuardCheck          Status = 0x282
	ApplicationTagCheck Status = 0x283
	ReferenceTagCheck   Status = 0x284
	CompareFailed       Status = 0x285
	AccessDenied        Status = 0x286
	Unwritten           Status = 0x287

	InternalPathError Status = 0x300
	ANAPersistentLoss Status = 0x301
	ANAInaccessible   Status = 0x302
	ANATransition     Status = 0x303
	ControllerPath    Status = 0x360
	HostPath          Status = 0x370
	HostAborted       Status = 0x371
)

// Code is the status without its flags: type and code.
func (s Status) Code() Status { return s & statusCode }

// SCT is the status code type: 0 generic, 1 command specific, 2 media and data
// integrity, 3 path, 7 vendor.
func (s Status) SCT() uint8 { return uint8(s>>8) & 7 }

// SC is the status code within its type.
func (s Status) SC() uint8 { return uint8(s) }

// DNR says that repeating the command will not help.
func (s Status) DNR() bool { return s&StatusDNR != 0 }

// WithDNR is s with do not retry set.
func (s Status) WithDNR() Status { return s | StatusDNR }

// Err is nil for success and s otherwise.
func (s Status) Err() error {
	if s.Code() == Success {
		return nil
	}
	return s
}

// Is makes errors.Is compare type and code only.
func (s Status) Is(target error) bool {
	t, ok := target.(Status)
	return ok && s.Code() == t.Code()
}

// Error names the status and shows its number.
func (s Status) Error() string {
	if s.DNR() {
		return fmt.Sprintf("%s (status 0x%x, do not retry)", s.Name(), uint16(s.Code()))
	}
	return fmt.Sprintf("%s (status 0x%x)", s.Name(), uint16(s.Code()))
}

// Name is the status in words, as the specification names it.
func (s Status) Name() string {
	for _, named := range []func(Status) string{genericName, commandName, mediaName, pathName} {
		if n := named(s.Code()); n != "" {
			return n
		}
	}
	return fmt.Sprintf("unnamed status type %d code 0x%02x", s.SCT(), s.SC())
}

func genericName(s Status) string {
	switch s {
	case Success:
		return "success"
	case InvalidOpcode:
		return "invalid command opcode"
	case InvalidField:
		return "invalid field in command"
	case CIDConflict:
		return "command id conflict"
	case DataTransferError:
		return "data transfer error"
	case PowerLossAbort:
		return "aborted by power loss"
	case InternalError:
		return "internal error"
	case AbortRequested:
		return "abort requested"
	case AbortedSQDeletion:
		return "aborted by queue deletion"
	case AbortedFailedFuse:
		return "aborted: fused command failed"
	case AbortedMissingFuse:
		return "aborted: fused command missing"
	case InvalidNamespace:
		return "invalid namespace or format"
	case CommandSequence:
		return "command sequence error"
	case SGLInvalidLast:
		return "invalid SGL segment descriptor"
	case SGLInvalidCount:
		return "invalid number of SGL descriptors"
	case SGLInvalidLength:
		return "data SGL length invalid"
	case MetadataSGLLength:
		return "metadata SGL length invalid"
	case SGLInvalidType:
		return "SGL descriptor type invalid"
	case OperationDenied:
		return "operation denied"
	case SGLInvalidOffset:
		return "SGL offset invalid"
	case HostIDInconsistent:
		return "host identifier inconsistent format"
	case KeepAliveExpired:
		return "keep alive timer expired"
	case KeepAliveInvalid:
		return "keep alive timeout invalid"
	case NSWriteProtected:
		return "namespace is write protected"
	case CommandInterrupted:
		return "command interrupted"
	case TransientTransport:
		return "transient transport error"
	}
	return ""
}

func commandName(s Status) string {
	switch s {
	case InvalidQueueID:
		return "invalid queue identifier"
	case InvalidQueueSize:
		return "invalid queue size"
	case AbortLimitExceeded:
		return "abort command limit exceeded"
	case AERLimitExceeded:
		return "asynchronous event request limit exceeded"
	case InvalidLogPage:
		return "invalid log page"
	case InvalidFormat:
		return "invalid format"
	case FeatureNotSaveable:
		return "feature not saveable"
	case FeatureNotChangeable:
		return "feature not changeable"
	case FeatureNotNSSpecific:
		return "feature not namespace specific"
	case ConnectIncompatible:
		return "connect incompatible format"
	case ConnectControllerBusy:
		return "connect controller busy"
	case ConnectInvalidParam:
		return "connect invalid parameters"
	case ConnectRestart:
		return "connect restart discovery"
	case ConnectInvalidHost:
		return "connect invalid host"
	case DiscoveryRestart:
		return "discovery restart"
	case AuthRequired:
		return "authentication required"
	}
	return ""
}

func mediaName(s Status) string {
	switch s {
	case LBAOutOfRange:
		return "LBA out of range"
	case CapacityExceeded:
		return "capacity exceeded"
	case NSNotReady:
		return "namespace not ready"
	case ReservationConflict:
		return "reservation conflict"
	case WriteFault:
		return "write fault"
	case UnrecoveredRead:
		return "unrecovered read error"
	case GuardCheck:
		return "guard check error"
	case ApplicationTagCheck:
		return "application tag check error"
	case ReferenceTagCheck:
		return "reference tag check error"
	case CompareFailed:
		return "compare failed"
	case AccessDenied:
		return "access denied"
	case Unwritten:
		return "deallocated or unwritten block"
	}
	return ""
}

func pathName(s Status) string {
	switch s {
	case InternalPathError:
		return "internal path error"
	case ANAPersistentLoss:
		return "asymmetric access persistent loss"
	case ANAInaccessible:
		return "asymmetric access inaccessible"
	case ANATransition:
		return "asymmetric access transition"
	case ControllerPath:
		return "controller path error"
	case HostPath:
		return "host path error"
	case HostAborted:
		return "aborted by host"
	}
	return ""
}
