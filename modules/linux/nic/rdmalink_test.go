package nic

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What iproute2 6.1 prints, by its rdma/res-pd.c and res-cmid.c.
const (
	pdKernel = "dev rxe_p0 pdn 0 local_dma_lkey 0x0 users 2 comm [ib_core] \n"
	pdHost   = "dev rxe_p0 pdn 1 local_dma_lkey 0x0 users 9 comm [nvme_rdma] \n"
	pdUser   = "dev rxe_p0 pdn 2 local_dma_lkey 0x0 users 3 ctxn 1 pid 812 comm weft-target \n"
	pdSpaced = "dev rxe_p0 pdn 3 local_dma_lkey 0x0 users 3 ctxn 2 pid 4711 comm my program \n"
	listens  = "link rxe_p0/1 cm-idn 4 state LISTEN ps TCP comm [nvmet_rdma] src-addr 10.9.0.1:4420 dst-addr 0.0.0.0:0 \n"
)

// A device in software goes only where nobody uses it. The script is run by the
// shells that servers have, on a /sys and a /proc of its own.
func TestDeleteLink(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it is for servers with Linux")
	}
	for _, test := range []struct {
		name   string
		pd, cm string // what rdma prints; cm "no": it fails
		open   string // the device that process 812 has open
		other  bool   // find is one that does not know links
		want   string // "": it is deleted
	}{
		{name: "nobody", pd: pdKernel},
		{name: "nobody, in the form of iproute2 5.5", pd: "ifindex 0 ifname rxe_p0 pdn 0 local_dma_lkey 0x0 users 2 comm ib_core \n"},
		{name: "iWARP, which has no datagrams"},
		{name: "let go", pd: pdKernel + "once"},
		{name: "another device is open", pd: pdKernel, open: "uverbs1"},
		{name: "open, without a domain", pd: pdKernel, open: "uverbs0", want: "weft-target (process 812) has it open"},
		{name: "open, with one", pd: pdKernel + pdUser + pdUser, open: "uverbs0", want: "weft-target (process 812) has it open"},
		{name: "named by a thread, as rxe of Linux 6.12 shows", open: "uverbs0",
			pd:   pdKernel + "dev rxe_p0 pdn 1 local_dma_lkey 0x0 users 0 ctxn 0 pid 815 comm weft-target \n",
			cm:   "link rxe_p0/1 cm-idn 0 state LISTEN ps TCP pid 815 comm weft-target src-addr 10.9.0.1:4420 dst-addr 0.0.0.0:0 \n",
			want: "weft-target (process 812) has it open; weft-target (process 815) has it open; weft-target (process 815) listens at 10.9.0.1:4420"},
		{name: "of a name in words", pd: pdSpaced, want: "my program (process 4711) has it open"},
		{name: "hosts and targets of the kernel", pd: pdKernel + pdHost + pdHost, cm: listens,
			want: "[nvme_rdma] of the kernel uses it; [nvmet_rdma] of the kernel listens at 10.9.0.1:4420"},
		{name: "old tool", pd: pdKernel, cm: "no", want: `rdma does not tell who uses it: Object "resource" is unknown`},
		{name: "another find", pd: pdKernel, other: true, want: "find does not tell who has it open"},
	} {
		for _, shell := range [][]string{{"dash"}, {"bash", "--posix"}} {
			t.Run(test.name+"/"+shell[0], func(t *testing.T) {
				program, err := exec.LookPath(shell[0])
				if err != nil {
					t.Skip("there is no " + shell[0])
				}
				dir := t.TempDir()
				for file, text := range map[string]string{
					"sys/class/infiniband_verbs/uverbs0/ibdev": "rxe_p0\n", "sys/class/infiniband_verbs/uverbs1/ibdev": "rxe_p1\n",
					"sys/class/infiniband_verbs/abi_version": "6\n", "proc/812/comm": "weft-target\n", "proc/812/fd/x": "",
					"pd": strings.TrimSuffix(test.pd, "once"), "cm": test.cm,
					"bin/sleep": "#!/bin/sh\n",
					"bin/rdma": `#!/bin/sh
cd "$DIR"
case $*/$(cat cm) in
"resource show pd dev rxe_p0/"*) cat pd; if [ -e once ]; then echo "` + strings.TrimSpace(pdHost) + `"; rm once; fi ;;
"resource show cm_id link rxe_p0/1 state LISTEN/no") echo 'Object "resource" is unknown' >&2; exit 1 ;;
"resource show cm_id link rxe_p0/1 state LISTEN/"*) cat cm ;;
"link delete rxe_p0/"*) touch deleted ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`,
				} {
					path := filepath.Join(dir, file)
					if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if strings.HasSuffix(test.pd, "once") {
					if err := os.WriteFile(filepath.Join(dir, "once"), nil, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if test.open != "" {
					if err := os.Symlink("/dev/infiniband/"+test.open, filepath.Join(dir, "proc/812/fd/7")); err != nil {
						t.Fatal(err)
					}
				}
				if test.other {
					if err := os.WriteFile(filepath.Join(dir, "bin/find"), []byte("#!/bin/sh\necho unrecognized: -lname >&2\nexit 1\n"), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				script := strings.NewReplacer("/sys/", dir+"/sys/", "/proc/", dir+"/proc/").Replace(deleteLinkScript)
				cmd := exec.Command(program, append(shell[1:], "-uc", script, "sh", "rxe_p0")...)
				cmd.Env = append(os.Environ(), "DIR="+dir, "PATH="+dir+"/bin:"+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				_, kept := os.Stat(filepath.Join(dir, "deleted"))
				if got := strings.Join(strings.Fields(string(out)), " "); test.want == "" && (err != nil || kept != nil || got != "") {
					t.Errorf("not deleted: %v: %s", err, got)
				} else if test.want != "" && (err == nil || kept == nil || got != "rxe_p0 is not deleted: "+test.want) {
					t.Errorf("%v: %s\nwant %s", err, got, test.want)
				}
			})
		}
	}
}
