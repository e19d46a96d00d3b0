//go:build unix

package simserver

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	s := server(t, network(t), spec(t, "st1.example.net"))
	c := login(t, s, "weft")
	for _, test := range []struct {
		line, stdin string
		want        result
	}{
		{"echo hello; exit 3", "", result{"hello\n", "", 3}},
		{"cat", "given", result{"given", "", 0}},
		{"sh -s -- a 'b c'", "echo \"$2\"; pwd", result{"b c\n/home/weft\n", "", 0}},
		{"sh -c 'echo $0 $1' name arg", "", result{"name arg\n", "", 0}},
		{"x=$(printf '%s-' 1 2); echo $x", "", result{"1-2-\n", "", 0}},
		{"echo b a | wc -w; printf 'b\\na\\nb\\n' | sort -u | head -n 1", "", result{"2\na\n", "", 0}},
		{"whoami; id -u; sudo -n id -u; sudo -n -- whoami", "", result{"weft\n1000\n0\nroot\n", "", 0}},
		{"hostname; cat /proc/sys/kernel/hostname /etc/hostname", "", result{strings.Repeat("st1.example.net\n", 3), "", 0}},
		{"echo abc | sha256sum", "", result{"edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb  -\n", "", 0}},
		{"cat /sys/class/net/ens1f0np0/mtu; basename /sys/bus/pci/devices/0000:41:00.1/net/*", "", result{"1500\nens1f1np1\n", "", 0}},
		{"cat /sys/bus/pci/devices/0000:41:00.0/vendor; readlink -f /sys/class/net/ens1f0np0/device", "",
			result{"0x15b3\n/sys/devices/pci0000:41/0000:41:00.0\n", "", 0}},
		{"ls /sys/class/net", "", result{"eno1\nens1f0np0\nens1f1np1\nlo\n", "", 0}},
		{"stat -c %s /dev/disk/by-id/nvme-eui.01; test -e /dev/disk/by-id/nvme-eui.02", "", result{"1099511627776\n", "", 1}},
		{"d=$(mktemp -d) && echo x >$d/f && mv $d/f $d/g && cat $d/g && rm $d/g && rmdir $d && ls /tmp", "", result{"x\n", "", 0}},
		{"umask 077; echo s >/tmp/s; stat -c '%a %F' /tmp/s; rm /tmp/s", "", result{"600 regular file\n", "", 0}},
		{"command -v ip sh echo; command -v dcb; echo $?", "", result{"/usr/bin/ip\n/usr/bin/sh\n/usr/bin/echo\n127\n", "", 0}},
		{"[ -x /usr/bin/nope ] || echo no; [ -w /etc ] || echo ro; [ -r /etc/hostname ] && echo r", "", result{"no\nro\nr\n", "", 0}},
		{"timeout 100 true; timeout 0.01 sleep 100", "", result{"", "", 124}},
		{"env A=b sh -c 'echo $A'; A=c sh -c 'echo $A'", "", result{"b\nc\n", "", 0}},
		{"export A=1 B; B=2; sh -c 'echo $A$B'; f() { local x=3; echo $x; }; f", "", result{"12\n3\n", "", 0}},

		// What is not there is refused.
		{"[[ a = a ]]", "", result{"", "sh: Syntax error: sh:1:1: not in a POSIX shell\n", 2}},
		{"cat <(echo a)", "", result{"", "sh: Syntax error: sh:1:5: `<` must be followed by a word\n", 2}},
		{"declare -x A=1", "", result{"", "sh: Syntax error: sh:1:1: not in a POSIX shell\n", 2}},
		{"foo --bar", "", result{"", "sh: foo: command not found\n", 127}},
		{"curl http://localhost/", "", result{"", "sh: curl: command not found\n", 127}},
		{"dcb -j pfc show dev lo", "", result{"", "sh: dcb: command not found\n", 127}}, // not in a user's PATH
		{"cat -n /etc/hostname", "", result{"", "cat: option \"-n\": not simulated in the lab\n", 1}},
		{"sudo -n nope", "", result{"", "sudo: nope: command not found\n", 1}},
		{"kill -9 1", "", result{"", "kill: not simulated in the lab: kill -9 1\n", 2}},
		{"/etc/hostname", "", result{"", "sh: /etc/hostname: Permission denied: the lab executes files below /usr/local/lib/weft only\n", 126}},
		{"/usr/local/lib/weft/none", "", result{"", "sh: /usr/local/lib/weft/none: No such file or directory\n", 127}},
		{"cat /no/such", "", result{"", "cat: /no/such: No such file or directory\n", 1}},
		{"echo x >/etc/x", "", result{"", "sh: /etc/x: Permission denied\n", 1}},
		{"echo 9000 >/sys/class/net/lo/mtu", "", result{"", "sh: /sys/class/net/lo/mtu: Permission denied\n", 1}},
		{"mkdir /etc/x", "", result{"", "mkdir: cannot create directory '/etc/x': Permission denied\n", 1}},
		{"echo 'unfinished", "", result{"", "sh: Syntax error: sh:1:6: reached EOF without closing quote `'`\n", 2}},
	} {
		if got := run(t, c, test.line, test.stdin); got != test.want {
			t.Errorf("%s\n got %+v\nwant %+v", test.line, got, test.want)
		}
	}
}

// TestEscapes tries to get at files of the real machine.
func TestEscapes(t *testing.T) {
	s := server(t, network(t), spec(t, "st1"))
	outside := filepath.Join(filepath.Dir(s.Root()), "secret")
	if err := os.WriteFile(outside, []byte("classified"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(s.Root(), "tmp", "abs")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../secret", filepath.Join(s.Root(), "tmp", "rel")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(s.Root(), "tmp", "up")); err != nil {
		t.Fatal(err)
	}
	c := login(t, s, "root")
	for _, line := range []string{
		"cat " + outside, "ls -l " + outside, "cat /tmp/up/tmp/rel", "install /tmp/rel /tmp/copy; cat /tmp/copy",
		"cat /../secret", "cat /tmp/../../secret", "cat ../../../secret", "cat /tmp/abs", "cat /tmp/rel",
		"cat /tmp/up/../../secret", "cd /tmp/up/..; cat secret", "cd /..; cat secret; cat ../secret",
		"cat <../secret", ". " + outside, "sh " + outside, "source /tmp/rel", "head /tmp/up/up/rel",
		"echo x >/tmp/rel", "echo x >/tmp/abs", "cp /etc/hostname /tmp/rel", "chmod 600 /tmp/rel", "tee /tmp/abs", "touch /tmp/rel",
		"ln /tmp/rel /tmp/hard; cat /tmp/hard", "ln -s ../../../../../../secret /tmp/l; cat /tmp/l",
		"cat <(cat /tmp/rel)", "cat /proc/self/root/etc/passwd", "cat /proc/1/environ", "cat /etc/passwd", "exec cat " + outside,
		"TMPDIR=/ ; cat /sh-interp-x", "test -e " + outside, "command -v " + outside, "type " + os.Args[0],
		"test -O " + outside, "rm " + outside, "ls " + filepath.Dir(outside), "mv " + outside + " /tmp/x",
	} {
		if got := run(t, c, line, ""); strings.Contains(got.out+got.err, "classified") {
			t.Errorf("%s: %+v", line, got)
		}
	}
	data, err := os.ReadFile(outside)
	info, serr := os.Stat(outside)
	if err != nil || serr != nil || string(data) != "classified" || info.Mode().Perm() != 0o644 {
		t.Errorf("the file outside was touched: %q %v %v", data, err, info)
	}
}

func TestInterfaces(t *testing.T) {
	s := server(t, network(t), spec(t, "st1"))
	c := login(t, s, "root")
	dev := "ens1f0np0"
	for _, test := range []struct {
		line string
		want result
	}{
		{"ip link set dev " + dev + " mtu 9979", result{"", "Error: mtu greater than device maximum.\n", 2}},
		{"ip link set dev " + dev + " mtu 67", result{"", "Error: mtu less than device minimum.\n", 2}},
		{"ip link set dev nope mtu 9000", result{"", "Cannot find device \"nope\"\n", 1}},
		{"ip -j link show dev nope", result{"", "Device \"nope\" does not exist.\n", 1}},
		{"ip link set dev " + dev + " mtu 9000 up && cat /sys/class/net/" + dev + "/mtu", result{"9000\n", "", 0}},
		{"ip addr add 10.40.1.11/24 dev " + dev, result{}},
		{"ip addr add 10.40.1.11/24 dev " + dev, result{"", "Error: ipv4: Address already assigned.\n", 2}},
		{"ip addr replace 10.40.1.11/24 dev " + dev, result{}},
		{"ip addr del 10.40.1.12/24 dev " + dev, result{"", "Error: ipv4: Address not found.\n", 2}},
		{"ip addr add 10.40.1/24 dev " + dev, result{"", "Error: any valid prefix is expected rather than \"10.40.1/24\".\n", 1}},
		{"ip addr add 10.40.1.13/24", result{"", "Not enough information: \"dev\" argument is required.\n", 255}},
		{"ip -j addr show dev " + dev, result{`[{"ifindex":3,"ifname":"ens1f0np0","flags":["BROADCAST","MULTICAST","UP","LOWER_UP"],"mtu":9000,` +
			`"qdisc":"mq","operstate":"UP","group":"default","txqlen":1000,"link_type":"ether","address":"` + mac(s, dev) +
			`","broadcast":"ff:ff:ff:ff:ff:ff","addr_info":[{"family":"inet","local":"10.40.1.11","prefixlen":24,"scope":"global","label":"ens1f0np0",` +
			`"valid_life_time":4294967295,"preferred_life_time":4294967295}]}]` + "\n", "", 0}},
		{"ip route", result{"", "ip: not simulated in the lab: ip route\n", 255}},
		{"ip link set dev " + dev + " txqueuelen 5", result{"", "ip: not simulated in the lab: ip link set dev " + dev + " txqueuelen 5\n", 255}},
	} {
		if got := run(t, c, test.line, ""); got != test.want {
			t.Errorf("%s\n got %+v\nwant %+v", test.line, got, test.want)
		}
	}
	if got := local(t, s, "weft", "ip link set dev "+dev+" mtu 1400"); got.status != 2 || got.err != "RTNETLINK answers: Operation not permitted\n" {
		t.Errorf("without root: %+v", got)
	}
	boot := local(t, s, "root", "cat /proc/sys/kernel/random/boot_id").out
	s.Reboot()
	got := local(t, s, "root", "cat /sys/class/net/"+dev+"/mtu; ip -j -4 addr show dev "+dev+" | wc -c")
	if !strings.HasPrefix(got.out, "1500\n") || strings.Contains(got.out, "10.40") {
		t.Errorf("after a reboot: %+v", got)
	}
	if again := local(t, s, "root", "cat /proc/sys/kernel/random/boot_id").out; again == boot || len(again) != 37 {
		t.Errorf("boot id %q, then %q", boot, again)
	}
}

func mac(s *Server, dev string) string {
	i, _ := s.iface(dev)
	return i.MAC
}

func TestPing(t *testing.T) {
	n := network(t)
	mtu := 9216
	n.Way = func(from, to End) (int, bool) { return mtu, from.PCI == to.PCI }
	a, b := server(t, n, spec(t, "a")), server(t, n, spec(t, "b"))
	local(t, a, "root", "ip link set dev ens1f0np0 mtu 9000; ip addr add 10.1.0.1/24 dev ens1f0np0; ip addr add 10.2.0.1/24 dev ens1f1np1")
	local(t, b, "root", "ip link set dev ens1f0np0 mtu 9000; ip addr add 10.1.0.2/24 dev ens1f0np0; ip addr add 10.2.0.3/24 dev ens1f0np0")
	ping := func(line string, status int, text string) {
		t.Helper()
		got := local(t, a, "weft", "ping -M do -c 2 -s "+line)
		if got.status != status || !strings.Contains(got.out+got.err, text) {
			t.Errorf("%s: %+v, want %d and %q", line, got, status, text)
		}
	}
	ping("8972 10.1.0.2", 0, "2 packets transmitted, 2 received, 0% packet loss")
	ping("8973 10.1.0.2", 1, "ping: local error: message too long, mtu=9000")
	ping("10 10.1.0.9", 1, "Destination Host Unreachable")
	ping("10 10.2.0.3", 1, "Destination Host Unreachable") // plugged into the other plane
	ping("10 10.9.0.1", 2, "Network is unreachable")
	mtu = 1500
	ping("8972 10.1.0.2", 1, "2 packets transmitted, 0 received, 100% packet loss")
	mtu = 9216
	local(t, b, "root", "ip link set dev ens1f0np0 mtu 1500")
	ping("8972 10.1.0.2", 1, "0 received")
	ping("1472 10.1.0.2", 0, "2 received")
	local(t, b, "root", "ip link set dev ens1f0np0 down")
	ping("10 10.1.0.2", 1, "Unreachable")
}

func TestSudo(t *testing.T) {
	s := server(t, network(t), spec(t, "a"))
	got := local(t, s, "weft", "sudo -n mkdir -m 700 -p /etc/weft && echo x | sudo -n tee /etc/weft/f >/dev/null; cat /etc/weft/f; sudo -n cat /etc/weft/f")
	if want := (result{"x\n", "cat: /etc/weft/f: Permission denied\n", 0}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := local(t, s, "weft", "sudo -n test -e /etc/weft/f && sudo -n sh -c 'echo $USER $SUDO_USER'"); got.out != "root weft\n" {
		t.Errorf("sudo sh: %+v", got)
	}
	s.NoSudo(true)
	if got := local(t, s, "weft", "sudo -n true"); got != (result{"", "sudo: a password is required\n", 1}) {
		t.Errorf("without sudo: %+v", got)
	}
}

// TestMany starts many servers in one process.
func TestMany(t *testing.T) {
	t.Parallel()
	n := network(t)
	for i := range 200 {
		s := server(t, n, spec(t, fmt.Sprintf("n%d", i)))
		if got := local(t, s, "weft", "hostname && cat /etc/machine-id"); got.status != 0 || !strings.HasPrefix(got.out, s.Name()+"\n") {
			t.Fatalf("%s: %+v", s.Name(), got)
		}
	}
}
