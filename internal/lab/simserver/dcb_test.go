//go:build unix

package simserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/require"
)

func TestDCB(t *testing.T) {
	t.Parallel()
	s := server(t, network(t), spec(t, "st1"))
	c := login(t, s, "root")
	const dev = "ens1f0np0"
	shared := "dcb ets set dev " + dev + " willing off prio-tc all:0 3:1 6:2 tc-tsa all:strict 0:ets 1:ets tc-bw all:0 0:50 1:50"
	for _, test := range []struct {
		line string
		want result
	}{
		{"dcb pfc set dev " + dev + " prio-pfc all:off 3:on", result{}},
		{"dcb -j pfc show dev " + dev, result{`{"pfc_cap":8,"macsec_bypass":false,"delay":0,"prio_pfc":[false,false,false,true,false,false,false,false]}` + "\n\n", "", 0}},
		{"dcb pfc show dev " + dev, result{"pfc-cap 8 macsec-bypass off delay 0 \nprio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off \n", "", 0}},
		{"dcb pfc set dev eno1 prio-pfc 3:on", result{"", "Attribute read: Operation not supported\n", 1}},
		{"dcb -j pfc show dev nope", result{"\n", "Attribute read: No such device\n", 1}},

		{shared, result{}},
		{"dcb ets show dev " + dev + " | head -n 5 | tail -n 4", result{"tc-bw 0:50 1:50 2:0 3:0 4:0 5:0 6:0 7:0 \npg-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 \n" +
			"tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict \nprio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:2 7:0 \n", "", 0}},
		{"dcb ets set dev " + dev + " tc-bw all:0 3:60", result{"", "Bandwidth percentages in tc-bw sum to 60%, expected 100%\n", 1}},
		{"dcb ets set dev " + dev + " tc-bw all:0 0:50 2:50", result{"", "Attribute write: Invalid argument\n", 1}}, // 2 is strict
		{"dcb ets set dev " + dev + " tc-tsa all:strict", result{}},                                                 // the sum is 100 still
		{"dcb ets set dev " + dev + " tc-bw all:0 0:1", result{"", "Bandwidth percentages in tc-bw sum to 1%, expected 0%\n", 1}},
		{"dcb ets set dev " + dev + " prio-tc 8:0", result{"", "In PRIO:TC mapping, PRIO is expected to be 0..7\nInvalid prio-tc mapping 8\n", 1}},
		{"dcb ets set dev " + dev + " tc-bw 0:101", result{"", "In TC:BW mapping, BW is expected to be 0..100\nInvalid tc-bw mapping 0\n", 1}},
		{"dcb ets set dev " + dev + " tc-bw 0:x", result{"", "Invalid tc-bw mapping 0\n", 1}},
		{"dcb ets set dev " + dev + " reco-tc-bw 0:1", result{"", "dcb: not simulated in the lab: dcb ets set dev " + dev + " reco-tc-bw 0:1\n", 1}},
		{"dcb ets set dev " + dev + " willing off prio-tc 0:1 1:0 2:2 3:3 4:4 5:5 6:6 7:7 tc-tsa all:vendor tc-bw all:0", result{}}, // as after boot
		{"dcb ets set dev eno1 willing off", result{"", "Attribute read: Operation not supported\n", 1}},

		{"dcb -j buffer show dev " + dev, result{`{"prio_buffer":[0,0,0,0,0,0,0,0],"buffer_size":[262016,0,0,0,0,0,0,0],"total_size":262016}` + "\n\n", "", 0}},
		{"dcb buffer set dev " + dev + " prio-buffer all:0 3:1 buffer-size all:0 0:130944 1:131072", result{}},
		{"dcb buffer show dev " + dev, result{"prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0 \nbuffer-size 0:130944b 1:128Kb 2:0b 3:0b 4:0b 5:0b 6:0b 7:0b \ntotal-size 262016b \n", "", 0}},
		{"dcb buffer set dev " + dev + " buffer-size 1:131200", result{"", "Attribute write: Invalid argument\n", 1}}, // more than there is
		{"dcb buffer set dev " + dev + " buffer-size 1:4096", result{"", "Attribute write: Cannot allocate memory\n", 1}},
		{"dcb buffer set dev " + dev + " prio-buffer 3:8", result{"", "In PRIO:BUFFER mapping, BUFFER is expected to be 0..7\nInvalid prio-buffer mapping 3\n", 1}},
		{"dcb buffer set dev " + dev + " buffer-size 1:100000; dcb -j buffer show dev " + dev + " | head -n 1", result{`{"prio_buffer":[0,0,0,1,0,0,0,0],"buffer_size":[130944,99968,0,0,0,0,0,0],"total_size":262016}` + "\n", "", 0}}, // in cells
		{"dcb buffer set dev eno1 buffer-size 0:1", result{"", "Attribute read: Operation not supported\n", 1}},

		{"dcb -j app show dev " + dev, result{"{}\n\n", "", 0}},
		{"dcb app add dev " + dev + " dscp-prio 48:6 26:4", result{}},
		{"dcb app add dev " + dev + " dscp-prio 26:3", result{}}, // takes the place of 26:4
		{"dcb -j app show dev " + dev, result{`{"dscp_prio":[[26,3],[48,6]]}` + "\n\n", "", 0}},
		{"dcb app show dev " + dev + "; dcb -N app show dev " + dev, result{"dscp-prio AF31:3 CS6:6 \ndscp-prio 26:3 48:6 \n", "", 0}},
		{"dcb app del dev " + dev + " dscp-prio 26:4", result{"", "Attribute write: No such file or directory\n", 1}},
		{"dcb app del dev " + dev + " dscp-prio 48:6", result{}},
		{"dcb app del dev " + dev + " dscp-prio 48:6", result{"", "Attribute write: No such file or directory\n", 1}},
		{"dcb app replace dev " + dev + " dscp-prio 26:5", result{"", "Attribute write: No such file or directory\nCould not remove replaced APP entries\n", 0}},
		{"dcb app replace dev " + dev + " dscp-prio 26:5 46:5", result{}},
		{"dcb -N app show dev " + dev, result{"dscp-prio 26:5 46:5 \n", "", 0}},
		{"dcb app add dev " + dev + " dscp-prio 64:3", result{"", "In DSCP:PRIO mapping, DSCP is expected to be 0..63\nInvalid mapping 64\n", 1}},
		{"dcb app add dev " + dev + " dscp-prio 26:8", result{"", "In DSCP:PRIO mapping, PRIO is expected to be 0..7\nInvalid mapping 26\n", 1}},
		{"dcb app add dev nope dscp-prio 26:3", result{"", "Attribute write: No such device\n", 1}},
		{"dcb app replace dev nope dscp-prio 26:3", result{"", "Attribute read: No such device\n", 1}},
		{"dcb app add dev eno1 dscp-prio 26:3", result{"", "Attribute write: Operation not supported\n", 1}},
		{"dcb app flush dev " + dev, result{"", "dcb: not simulated in the lab: dcb app flush dev " + dev + "\n", 1}},
	} {
		if got := run(t, c, test.line, ""); got != test.want {
			t.Errorf("%s\n got %+v\nwant %+v", test.line, got, test.want)
		}
	}
	for _, line := range []string{shared, "dcb app add dev " + dev + " dscp-prio 26:3"} {
		if got := local(t, s, "weft", "/usr/sbin/"+line); got.status != 1 || got.err != "Attribute write: Operation not permitted\n" {
			t.Errorf("without root: %s: %+v", line, got)
		}
	}
	s.Reboot()
	for line, want := range map[string]string{
		"dcb pfc show dev " + dev + " | tail -n 1":             "prio-pfc 0:off 1:off 2:off 3:off 4:off 5:off 6:off 7:off \n",
		"dcb ets show dev " + dev + " | head -n 4 | tail -n 1": "tc-tsa 0:vendor 1:vendor 2:vendor 3:vendor 4:vendor 5:vendor 6:vendor 7:vendor \n",
		"dcb app show dev " + dev:                              "",
	} {
		if got := local(t, s, "root", line); got.out != want {
			t.Errorf("after a reboot: %s: %+v", line, got)
		}
	}
}

// The lab's dcb prints what the real one printed.
func TestDCBTranscripts(t *testing.T) {
	s := server(t, network(t), spec(t, "st1"))
	c := login(t, s, "root")
	const dev = "ens1f0np0"
	compare := func(file string, lines ...string) {
		printed := transcript(t, "hosts/"+file)
		for _, line := range lines {
			_, after, ok := strings.Cut(printed, "$ "+line+"\n")
			want, _, ended := strings.Cut(after, "rc=0\n")
			if !ok || !ended {
				t.Errorf("%s has no %q", file, line)
				continue
			}
			if got := run(t, c, strings.Replace(line, "eth0", dev, 1), ""); got.out != want || got.status != 0 {
				t.Errorf("%s\n got %+v\nwant %q", line, got, want)
			}
		}
	}
	compare("dcb-6.1.default.txt", "dcb pfc show dev eth0", "dcb -s -j pfc show dev eth0",
		"dcb ets show dev eth0", "dcb -s -j ets show dev eth0", "dcb app show dev eth0", "dcb -s -j app show dev eth0",
		"dcb buffer show dev eth0", "dcb -s -j buffer show dev eth0")

	for _, line := range []string{
		"dcb pfc set dev " + dev + " delay 7 prio-pfc 3:on",
		"dcb ets set dev " + dev + " prio-tc all:0 3:3 6:6 tc-tsa all:ets 6:strict tc-bw all:0 0:50 3:50",
		"dcb app add dev " + dev + " dscp-prio 0:0 26:3 46:5 48:6",
	} {
		if got := run(t, c, line, ""); got != (result{}) {
			t.Fatalf("%s: %+v", line, got)
		}
	}
	compare("dcb-6.1.lossless.txt", "dcb pfc show dev eth0", "dcb ets show dev eth0", "dcb -s -j ets show dev eth0")
	if got := run(t, c, "dcb app show dev "+dev, ""); got.out == "" || !strings.Contains(transcript(t, "hosts/dcb-6.1.lossless.txt"), "\n"+got.out) {
		t.Errorf("the DSCP map: %+v", got)
	}
}

// transcript reads what a tool printed. Transcripts are no part of the
// repository.
func transcript(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "transcripts", filepath.FromSlash(name)))
	if err != nil {
		require.Missing(t, require.Transcripts, "transcript %s is not here: %v", name, err)
	}
	return string(b)
}
