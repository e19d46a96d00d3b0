package switches_test

import (
	"errors"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/internal/require"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// A device is of the system that it reports, and another one is refused by its name.
func TestIdentify(t *testing.T) {
	n, c := nxos.OS(), comware.OS()
	for what, test := range map[string]struct {
		os   *switches.OS
		text string
		want string // "": it is of the system
	}{
		"nxos":                {n, "Cisco Nexus Operating System (NX-OS) Software\n  NXOS: version 10.4(3)\n  cisco Nexus9000 C9364D-GX2A Chassis\n", ""},
		"comware":             {c, "H3C Comware Software, Version 7.1.070, Release 6555P01\nH3C S9820-64H uptime is 1 week\n", ""},
		"nxos without facts":  {n, "Cisco Nexus Operating System (NX-OS) Software\n", "names neither a release nor a model"},
		"nothing":             {n, "\n", "is empty"},
		"something":           {n, "hello\n", `ends in "hello"`},
		"EOS":                 {n, "Arista DCS-7050SX3-48YC12-F\nHardware version: 11.03\nSoftware image version: 4.31.2F\n", "it is Arista EOS, and not nxos"},
		"vEOS":                {n, "Arista vEOS-lab\nHardware version: \nSoftware image version: 4.31.1F\n", "it is Arista EOS"},
		"IOS XE":              {n, "Cisco IOS XE Software, Version 17.09.04a\nCisco IOS Software [Cupertino], Catalyst L3 Switch Software\n", "it is Cisco IOS XE"},
		"IOS":                 {n, "Cisco IOS Software, C3750 Software (C3750-IPBASEK9-M), Version 12.2(44)SE2\n", "it is Cisco IOS, and"},
		"IOS XR":              {n, "Cisco IOS XR Software, Version 7.5.2\n", "it is Cisco IOS XR"},
		"SONiC":               {n, "SONiC Software Version: SONiC.202311\nDistribution: Debian 11.8\nKernel: 5.10\n", "it is SONiC"},
		"Cumulus":             {n, "NVIDIA Cumulus Linux 5.9.1\n", "it is Cumulus Linux"},
		"Dell OS10":           {n, "Dell SmartFabric OS10 Enterprise\nCopyright (c) 1999-2022 by Dell Inc.\nOS Version: 10.5.4.0\n", "it is Dell OS10"},
		"Junos":               {n, "Hostname: leaf\nModel: qfx5120\nJunos: 21.4R3\n", "it is Juniper Junos"},
		"VRP":                 {c, "Huawei Versatile Routing Platform Software\nVRP (R) software, Version 8.191\n", "it is Huawei VRP"},
		"Comware as nxos":     {n, "H3C Comware Software, Version 7.1.070, Release 6555P01\n", "it is H3C Comware"},
		"NX-OS as Comware":    {c, "Cisco Nexus Operating System (NX-OS) Software\n", "it is Cisco NX-OS"},
		"a server":            {n, "bash: show: command not found\n", "it is a Linux server"},
		"a server of busybox": {n, "-sh: show: not found\n", "it is a Linux server"},
		"a secret":            {n, "username ops password 5 winter2026\n", `password 5 REDACTED`},
	} {
		err := test.os.Identify(test.text)
		switch {
		case test.want == "":
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		case err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, new(*switches.UnlikeError)) || hint.Of(err) == "":
			t.Errorf("%s: %v, want %s", what, err, test.want)
		case strings.Contains(test.want, "server") != strings.Contains(hint.Of(err), "--hosts"):
			t.Errorf("%s: the advice is %s", what, hint.Of(err))
		}
	}
}

// Real devices are known by what they report.
func TestTranscriptsIdentify(t *testing.T) {
	for file, want := range map[string]string{
		"cisco_nxos/show_version/genieparser__golden_output_3.txt":             "",
		"cisco_nxos/show_version/ntc-templates__cisco_nxos_show_version2.txt":  "",
		"cisco_nxos/show_version/ntc-templates__cisco_nxos_show_version7.txt":  "",
		"cisco_nxos/show_version/github_12933489985_n9kv_10.1.1.txt":           "",
		"arista_eos/show_version_7050SX3.txt":                                  "Arista EOS",
		"arista_eos/show_version__ntc_DCS-7010T_and_cEOSLab.txt":               "Arista EOS",
		"arista_eos/show_version_json__napalm_cEOSLab_4.30.0F.json":            "Arista EOS",
		"sonic/show_version.txt":                                               "SONiC",
		"hp_comware/display_version/github_6359964915_s6800-54qf_R2609H09.txt": "H3C Comware",
	} {
		err := nxos.OS().Identify(require.Transcript(t, file))
		var unlike *switches.UnlikeError
		if errors.As(err, &unlike) != (want != "") || unlike != nil && unlike.Is != want {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	if err := comware.OS().Identify(require.Transcript(t, "hp_comware/display_version/github_6359964915_s6800-54qf_R2609H09.txt")); err != nil {
		t.Error(err)
	}
}

// A device of another system behind a prompt of NX-OS is asked what it is, and nothing else.
func TestIdentifyFirst(t *testing.T) {
	r := newReplay(t, join(nxosLogin, "leaf-a# show version\nArista DCS-7050SX3-48YC12-F\nSoftware image version: 4.31.2F\nleaf-a#"))
	s := open(t, nxos.OS(), r)
	defer s.Close()
	if _, err := s.Read(t.Context(), switches.Intent{}); err == nil || !strings.Contains(err.Error(), "it is Arista EOS, and not nxos") {
		t.Error(err)
	}
	if last := r.sent[len(r.sent)-1]; last != "show version" {
		t.Errorf("it was asked %q", r.sent)
	}
}
