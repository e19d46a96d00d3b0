package wire

// Event is the result of an asynchronous event request: type in bits 7:0,
// information in bits 15:8, the log page to read in bits 23:16.
// Base section 5.2.1.
type Event uint32

// The notices that weft sends.
const (
	EventNamespaces Event = 0x04_00_02 // the list or an attribute of namespaces has changed
	EventANA        Event = 0x0c_03_02
	EventDiscovery  Event = 0x70_f0_02
)

// Bits of the asynchronous event configuration feature, and of OAES in
// Identify Controller, that notices need. Base section 5.27.1.8.
const (
	NoticeNamespaces = 1 << 8
	NoticeANA        = 1 << 11
	NoticeDiscovery  = 1 << 31
)

// Log is the page that tells more about the event.
func (e Event) Log() uint8 { return uint8(e >> 16) }

// Notice is the bit that configures the event; 0 where it is not one of the
// notices here.
func (e Event) Notice() uint32 {
	switch e {
	case EventNamespaces:
		return NoticeNamespaces
	case EventANA:
		return NoticeANA
	case EventDiscovery:
		return NoticeDiscovery
	}
	return 0
}
