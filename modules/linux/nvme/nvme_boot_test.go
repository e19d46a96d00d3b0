package nvme

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// eitherHarness stands in for the kernel: RDMA connects once there is a file
// called up, which the second pause makes where there is one called late.
const eitherHarness = `status=0
do_() { "$@" || status=1; }
modprobe() { :; }
tee() { cat >"$DIR/options"; [ -e "$DIR/up" ] || grep -q '^tcp' "$DIR/options"; }
sleep() { echo pause; if [ -e "$DIR/paused" ] && [ -e "$DIR/late" ]; then : >"$DIR/up"; fi; : >"$DIR/paused"; }
`

// TestEitherAtBoot: TCP is taken where a target answers over TCP and has had its
// time to do so over RDMA, too; where there is no RDMA here, at once.
func TestEitherAtBoot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is for servers with Linux")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash, with which scripts ask whether somebody listens")
	}
	there, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	for _, test := range []struct {
		name  string
		at    net.Listener
		files string
		want  string
	}{
		{"RDMA connects", gone, "sys/class/infiniband/mlx5_0/x up", "over rdma status 0"},
		{"the target is not there", gone, "sys/class/infiniband/mlx5_0/x", "failed: AT answers neither over RDMA nor over TCP status 1"},
		{"RDMA comes a little later", there, "sys/class/infiniband/mlx5_0/x late", "pause pause over rdma status 0"},
		{"RDMA does not come", there, "sys/class/infiniband/mlx5_0/x",
			"pause pause pause degraded: AT is connected over TCP, RDMA did not connect over tcp status 0"},
		{"no RDMA here", there, "", "degraded: AT is connected over TCP, RDMA did not connect over tcp status 0"},
	} {
		for _, shell := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}} {
			t.Run(test.name+"/"+shell[0], func(t *testing.T) {
				if _, err := exec.LookPath(shell[0]); err != nil {
					t.Skip("there is no " + shell[0])
				}
				dir := t.TempDir()
				for file := range strings.FieldsSeq(test.files) {
					if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(dir, file), nil, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				_, port, _ := net.SplitHostPort(test.at.Addr().String())
				at := "traddr=127.0.0.1,trsvcid=" + port
				script := eitherHarness + strings.ReplaceAll(bootNVMe, "/sys/", dir+"/sys/") +
					"either_ nqn " + at + " rdma tcp\n" + `[ "$status" = 1 ] || echo "over $(cat "$DIR/options")"; echo "status $status"`
				cmd := exec.Command(shell[0], append(shell[1:], "-c", script)...)
				cmd.Env = append(os.Environ(), "DIR="+dir)
				out, err := cmd.CombinedOutput()
				got := strings.Join(strings.Fields(strings.ReplaceAll(string(out), at, "AT")), " ")
				if err != nil || got != test.want {
					t.Errorf("%v\n%s\nwant %s", err, got, test.want)
				}
			})
		}
	}
}
