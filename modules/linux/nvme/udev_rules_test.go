package nvme

import (
	"encoding/json"
	"strings"
	"testing"

	"weft/internal/remote"
)

// Rules are read as udev(7) says: order by name, negation, alternatives, jumps, and what is not
// known of a device.
func TestRules(t *testing.T) {
	dev := event{"nvme", "nvme0", map[string]string{"transport": "tcp", "model": "NetApp ONTAP Controller"}}
	for name, test := range map[string]struct {
		files []string // NAME, a line break, and lines
		value string   // of ctrl_loss_tmo; "": none
		place string
		sure  bool
	}{
		"by model": {[]string{"/usr/lib/udev/rules.d/71-a.rules\n# a remark\n" + `ACTION!="remove", SUBSYSTEM=="nvme", KERNEL=="nvme*", ATTR{transport}=="tcp", ATTR{model}=="NetApp ONTAP Controller", ATTR{ctrl_loss_tmo}="-1"`},
			"-1", "/usr/lib/udev/rules.d/71-a.rules:2", true},
		"another model":        {[]string{"/a/71.rules\n" + `ATTR{model}=="VASTData", ATTR{ctrl_loss_tmo}="-1"`}, "", "", false},
		"alternatives":         {[]string{"/a/71.rules\n" + `ATTR{model}=="VAST*|NetApp*", ATTR{ctrl_loss_tmo}="-1"`}, "-1", "/a/71.rules:1", true},
		"another action":       {[]string{"/a/71.rules\n" + `ACTION=="remove", ATTR{ctrl_loss_tmo}="-1"`}, "", "", false},
		"another subsystem":    {[]string{"/a/71.rules\n" + `SUBSYSTEM=="block", ATTR{ctrl_loss_tmo}="-1"`}, "", "", false},
		"order is by name":     {[]string{"/etc/80.rules\n" + `ATTR{ctrl_loss_tmo}="1800"`, "/usr/lib/99.rules\n" + `ATTR{ctrl_loss_tmo}="-1"`, "/run/70.rules\n" + `ATTR{ctrl_loss_tmo}="5"`}, "-1", "/usr/lib/99.rules:1", true},
		"continued":            {[]string{"/a/71.rules\n" + "SUBSYSTEM==\"nvme\", \\\n  ATTR{ctrl_loss_tmo}=\"-1\""}, "-1", "/a/71.rules:1", true},
		"jumped over":          {[]string{"/a/71.rules\n" + `ATTR{transport}=="tcp", GOTO="end"` + "\n" + `ATTR{ctrl_loss_tmo}="-1"` + "\n" + `LABEL="end"`}, "", "", false},
		"not jumped over":      {[]string{"/a/71.rules\n" + `ATTR{transport}=="rdma", GOTO="end"` + "\n" + `ATTR{ctrl_loss_tmo}="-1"` + "\n" + `LABEL="end"`}, "-1", "/a/71.rules:2", true},
		"perhaps jumped over":  {[]string{"/a/71.rules\n" + `ENV{MINE}=="1", GOTO="end"` + "\n" + `ATTR{ctrl_loss_tmo}="-1"` + "\n" + `LABEL="end"`}, "-1", "/a/71.rules:2", false},
		"an unknown condition": {[]string{"/a/71.rules\n" + `PROGRAM=="/bin/true", ATTR{ctrl_loss_tmo}="-1"`}, "-1", "/a/71.rules:1", false},
	} {
		var u udevRules
		for _, text := range test.files {
			lines := strings.Split(text, "\n")
			u.files = append(u.files, ruleFile{lines[0], lines[1:]})
		}
		if got := u.set(dev)["ctrl_loss_tmo"]; got != (ruled{test.value, test.place, test.sure}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A written value wins over a rule, which the plan names before and after.
func TestWrittenOverRules(t *testing.T) {
	const text = `nvme nvme0
transport tcp
address traddr=10.90.1.1,trsvcid=4420
subsysnqn nqn.2026-11.net.example:data
hostnqn nqn.h
hostid 7f1c0c7e-6f44-5b0a-9c43-2f6f3f1b7a10
state live
model VASTData
queue_count 65
kato 5
ctrl_loss_tmo LOSS
reconnect_delay 10
iopolicy queue-depth
disk nvme0n1
rules /usr/lib/udev/rules.d/71-nvmf-vastdata.rules
| ACTION!="remove", SUBSYSTEM=="nvme", ATTR{model}=="VASTData", ATTR{ctrl_loss_tmo}="-1"
`
	look := func(loss string) (*NVMeConnection, *NVMeConnection) {
		want := &NVMeConnection{Written: Written{CtrlLoss: true}}
		if err := json.Unmarshal([]byte(`{"NQN": "nqn.2026-11.net.example:data", "Transport": "tcp", "Address": "10.90.1.1:4420", "HostNQN": "nqn.h", "HostID": "7f1c0c7e-6f44-5b0a-9c43-2f6f3f1b7a10",
			"KeepAlive": 5, "ReconnectDelay": 10, "CtrlLoss": 600, "ToS": -1, "IOPolicy": "queue-depth"}`), want); err != nil {
			t.Fatal(err)
		}
		have, err := want.Parse(remote.NewSeen(remote.Answer{Look: nvmeLook(), Sight: remote.Sight{Content: []byte(strings.Replace(text, "LOSS", loss, 1))}}))
		if err != nil {
			t.Fatal(err)
		}
		return want, have
	}
	want, have := look("off")
	if d := want.Diff(have); len(d) != 1 || d[0].Path != "ctrl_loss_tmo" || d[0].Before != "-1 (/usr/lib/udev/rules.d/71-nvmf-vastdata.rules:1 sets -1)" || d[0].After != "600" {
		t.Errorf("the plan shows %+v", d)
	}
	want, have = look("600")
	if d, left := want.Diff(have), have.Left(); d != nil || !strings.Contains(left, "/usr/lib/udev/rules.d/71-nvmf-vastdata.rules:1 sets ctrl_loss_tmo to -1") {
		t.Errorf("%+v, left %q", d, left)
	}
}
