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
	AtomicUnitExceeded  Status = 0x014
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
	for _, known := range [...]struct {
		status Status
		name   string
	}{
		{Success, "success"},
		{InvalidOpcode, "invalid command opcode"},
		{InvalidField, "invalid field in command"},
		{CIDConflict, "command id conflict"},
		{DataTransferError, "data transfer error"},
		{PowerLossAbort, "aborted by power loss"},
		{InternalError, "internal error"},
		{AbortRequested, "abort requested"},
		{AbortedSQDeletion, "aborted by queue deletion"},
		{AbortedFailedFuse, "aborted: fused command failed"},
		{AbortedMissingFuse, "aborted: fused command missing"},
		{AtomicUnitExceeded, "atomic write unit exceeded"},
		{InvalidNamespace, "invalid namespace or format"},
		{CommandSequence, "command sequence error"},
		{SGLInvalidLast, "invalid SGL segment descriptor"},
		{SGLInvalidCount, "invalid number of SGL descriptors"},
		{SGLInvalidLength, "data SGL length invalid"},
		{MetadataSGLLength, "metadata SGL length invalid"},
		{SGLInvalidType, "SGL descriptor type invalid"},
		{OperationDenied, "operation denied"},
		{SGLInvalidOffset, "SGL offset invalid"},
		{HostIDInconsistent, "host identifier inconsistent format"},
		{KeepAliveExpired, "keep alive timer expired"},
		{KeepAliveInvalid, "keep alive timeout invalid"},
		{NSWriteProtected, "namespace is write protected"},
		{CommandInterrupted, "command interrupted"},
		{TransientTransport, "transient transport error"},
		{InvalidQueueID, "invalid queue identifier"},
		{InvalidQueueSize, "invalid queue size"},
		{AbortLimitExceeded, "abort command limit exceeded"},
		{AERLimitExceeded, "asynchronous event request limit exceeded"},
		{InvalidLogPage, "invalid log page"},
		{InvalidFormat, "invalid format"},
		{FeatureNotSaveable, "feature not saveable"},
		{FeatureNotChangeable, "feature not changeable"},
		{FeatureNotNSSpecific, "feature not namespace specific"},
		{ConnectIncompatible, "connect incompatible format"},
		{ConnectControllerBusy, "connect controller busy"},
		{ConnectInvalidParam, "connect invalid parameters"},
		{ConnectRestart, "connect restart discovery"},
		{ConnectInvalidHost, "connect invalid host"},
		{DiscoveryRestart, "discovery restart"},
		{AuthRequired, "authentication required"},
		{LBAOutOfRange, "LBA out of range"},
		{CapacityExceeded, "capacity exceeded"},
		{NSNotReady, "namespace not ready"},
		{ReservationConflict, "reservation conflict"},
		{WriteFault, "write fault"},
		{UnrecoveredRead, "unrecovered read error"},
		{GuardCheck, "guard check error"},
		{ApplicationTagCheck, "application tag check error"},
		{ReferenceTagCheck, "reference tag check error"},
		{CompareFailed, "compare failed"},
		{AccessDenied, "access denied"},
		{Unwritten, "deallocated or unwritten block"},
		{InternalPathError, "internal path error"},
		{ANAPersistentLoss, "asymmetric access persistent loss"},
		{ANAInaccessible, "asymmetric access inaccessible"},
		{ANATransition, "asymmetric access transition"},
		{ControllerPath, "controller path error"},
		{HostPath, "host path error"},
		{HostAborted, "aborted by host"},
	} {
		if s.Code() == known.status {
			return known.name
		}
	}
	return fmt.Sprintf("unnamed status type %d code 0x%02x", s.SCT(), s.SC())
}
