package guest

import (
	"encoding/binary"
	"net"
)

// A Card is a guest's end of a plane.
type Card struct{ Guest, PCI, MAC string }

// A Passage is a frame that went from one card to another, for which it was
// meant.
type Passage struct {
	From, To Card
	DSCP     int // of the IP packet in it; 0: there is none
	Bytes    int // of the frame
}

// takes reports whether a frame is meant for the card: to its own address, or
// to more than one.
func (c Card) takes(frame []byte) bool {
	const address = 6
	if len(frame) < address {
		return false
	}
	several := frame[0]&1 != 0
	return several || net.HardwareAddr(frame[:address]).String() == c.MAC
}

// dscp reads the mark of the IP packet in a frame.
func dscp(frame []byte) int {
	const addresses, tag = 12, 4
	at := addresses
	if len(frame) >= at+2 && binary.BigEndian.Uint16(frame[at:]) == 0x8100 { // of a VLAN
		at += tag
	}
	if len(frame) < at+4 {
		return 0
	}
	first := binary.BigEndian.Uint16(frame[at+2:]) // version, length or part of the class, class
	switch binary.BigEndian.Uint16(frame[at:]) {
	case 0x0800:
		return int(first & 0xff >> 2)
	case 0x86dd:
		return int(first >> 6 & 0x3f)
	}
	return 0
}
