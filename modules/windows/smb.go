package windows

import (
	"fmt"
	"slices"

	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// An SMB is what SMB Direct needs of both ends: they find each other's RDMA only where
// they speak over more than one channel.
type SMB struct{ Client, Server bool } // SMB Multichannel is on

// SMBKind is the kind smb.
func SMBKind() *host.Kind[SMB] {
	return &host.Kind[SMB]{
		Name: "smb", Lasting: true,
		Blocks: func(s *inventory.Server) []host.Block[SMB] {
			if s.SMB == nil {
				return nil
			}
			return []host.Block[SMB]{{Block: &s.SMB.Block, Name: "multichannel", Also: "smb", Want: &SMB{Client: true, Server: true}}}
		},
		Looks: (*SMB).Looks, Parse: (*SMB).Parse, Diff: (*SMB).Diff, Steps: (*SMB).Steps,
	}
}

func smbLook(end string) remote.Look {
	return query("EnableMultiChannel:bool", "Get-Smb"+end+"Configuration")
}

func (m *SMB) Looks() []remote.Look { return []remote.Look{smbLook("Client"), smbLook("Server")} }

func (m *SMB) Parse(s remote.Seen) (*SMB, error) {
	have := &SMB{}
	for end, on := range map[string]*bool{"Client": &have.Client, "Server": &have.Server} {
		type configuration struct{ EnableMultiChannel bool }
		list, err := rows[configuration](s, smbLook(end))
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("Get-Smb%sConfiguration shows %d configurations, and there is one", end, len(list))
		}
		if err != nil {
			return nil, err
		}
		*on = list[0].EnableMultiChannel
	}
	return have, nil
}

func (m *SMB) Diff(have *SMB) []plan.Change {
	onOff := map[bool]string{true: "on", false: "off"}
	return slices.Concat(plan.Changed("client.multichannel", onOff[have.Client], onOff[m.Client], plan.ImpactNone),
		plan.Changed("server.multichannel", onOff[have.Server], onOff[m.Server], plan.ImpactNone))
}

func (m *SMB) Steps(have *SMB) (steps []remote.Step) {
	set := func(end string, now, want bool) {
		if now != want {
			steps = append(steps, host.Run("Set-Smb"+end+"Configuration", "-EnableMultiChannel", fmt.Sprint(want), "-Confirm:$false"))
		}
	}
	set("Client", have.Client, m.Client)
	set("Server", have.Server, m.Server)
	return steps
}
