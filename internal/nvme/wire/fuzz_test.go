package wire

import (
	"reflect"
	"testing"
)

// fuzz decodes whatever comes, and demands that what was decoded survives
// being encoded.
func fuzz[T any, P interface {
	*T
	codec
}](f *testing.F, size int) {
	f.Add(make([]byte, size))
	full := make([]byte, size)
	for i := range full {
		full[i] = byte(i*31 + 1)
	}
	f.Add(full)
	for _, v := range vectors {
		if p, ok := v.value.(P); ok {
			raw, _ := p.AppendBinary(nil)
			f.Add(raw)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := P(new(T))
		if p.UnmarshalBinary(b) != nil {
			return
		}
		if v, ok := any(p).(interface{ Validate() error }); ok {
			_ = v.Validate() // must not panic
		}
		raw, err := p.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		back := P(new(T))
		if err := back.UnmarshalBinary(raw); err != nil || !reflect.DeepEqual(p, back) {
			t.Fatalf("%+v became %+v, %v", p, back, err)
		}
	})
}

func FuzzCommand(f *testing.F)            { fuzz[Command](f, CommandSize) }
func FuzzCompletion(f *testing.F)         { fuzz[Completion](f, CompletionSize) }
func FuzzConnectData(f *testing.F)        { fuzz[ConnectData](f, ConnectDataSize) }
func FuzzIdentifyController(f *testing.F) { fuzz[IdentifyController](f, IdentifySize) }
func FuzzIdentifyNamespace(f *testing.F)  { fuzz[IdentifyNamespace](f, IdentifySize) }
func FuzzNSList(f *testing.F)             { fuzz[NSList](f, IdentifySize) }
func FuzzNSDescriptors(f *testing.F)      { fuzz[NSDescriptors](f, IdentifySize) }
func FuzzDiscoveryHeader(f *testing.F)    { fuzz[DiscoveryHeader](f, DiscoveryHeaderSize) }
func FuzzDiscoveryEntry(f *testing.F)     { fuzz[DiscoveryEntry](f, DiscoveryEntrySize) }
func FuzzANALog(f *testing.F)             { fuzz[ANALog](f, 88) }
func FuzzSmartLog(f *testing.F)           { fuzz[SmartLog](f, SmartLogSize) }
func FuzzFirmwareLog(f *testing.F)        { fuzz[FirmwareLog](f, FirmwareLogSize) }
func FuzzEffectsLog(f *testing.F)         { fuzz[EffectsLog](f, EffectsLogSize) }
func FuzzSupportedLogs(f *testing.F)      { fuzz[SupportedLogs](f, SupportedLogsSize) }
func FuzzDSMRange(f *testing.F)           { fuzz[DSMRange](f, DSMRangeSize) }
func FuzzAuthNegotiate(f *testing.F)      { fuzz[AuthNegotiate](f, AuthNegotiateSize) }
func FuzzAuthChallenge(f *testing.F)      { fuzz[AuthChallenge](f, AuthChallengeSize+64) }
func FuzzAuthReply(f *testing.F)          { fuzz[AuthReply](f, AuthReplySize+128) }
func FuzzAuthSuccess1(f *testing.F)       { fuzz[AuthSuccess1](f, AuthSuccess1Size+64) }
func FuzzAuthSuccess2(f *testing.F)       { fuzz[AuthSuccess2](f, AuthSuccess2Size) }
func FuzzAuthFailure(f *testing.F)        { fuzz[AuthFailure](f, AuthFailureSize) }
func FuzzPDUHeader(f *testing.F)          { fuzz[PDUHeader](f, PDUHeaderSize) }
func FuzzICReq(f *testing.F)              { fuzz[ICReq](f, ICSize) }
func FuzzICResp(f *testing.F)             { fuzz[ICResp](f, ICSize) }
func FuzzCapsuleCmd(f *testing.F)         { fuzz[CapsuleCmd](f, CapsuleCmdSize) }
func FuzzCapsuleResp(f *testing.F)        { fuzz[CapsuleResp](f, CapsuleRespSize) }
func FuzzDataPDU(f *testing.F)            { fuzz[DataPDU](f, DataHeaderSize) }
func FuzzTermReq(f *testing.F)            { fuzz[TermReq](f, TermReqSize) }
