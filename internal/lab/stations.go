//go:build unix

package lab

// stations are the machines that speak no LLDP and whose frames a switch sees on a port all
// the same: of a Windows host they come from its NIC, of an ESXi host from its ports of the
// VMkernel.
func (l *Lab) stations(t *twin, sw string) func(port string) []string {
	return func(port string) (macs []string) {
		for end, at := range t.plugs {
			if at != (plug{sw, port}) {
				continue
			}
			d, err := l.find(end.Server)
			switch {
			case err != nil:
			case d.win != nil:
				if mac := d.win.MAC(end.PCI); mac != "" {
					macs = append(macs, mac)
				}
			case d.esxi != nil:
				macs = append(macs, d.esxi.Sends(end.PCI)...)
			}
		}
		return macs
	}
}
