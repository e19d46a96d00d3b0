//go:build linux

package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is one running QEMU.
type process struct {
	cmd     *exec.Cmd
	monitor *monitor
	stderr  *bytes.Buffer // to be read when it has ended
	done    chan struct{}
}

// startProcess starts QEMU. It dies with the thread that starts it, so that
// thread is kept until QEMU has ended: QEMU cannot outlive this process.
func startProcess(args []string, sockets []*os.File, dir *runDir, name string) (*process, error) {
	path, err := find("qemu-system-x86_64")
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(path, args...), stderr: &bytes.Buffer{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), "TMPDIR="+dir.path) // for what guests write to their disks
	p.cmd.ExtraFiles = sockets
	p.cmd.Stderr = p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		_ = onOneThread(func() error {
			err := p.cmd.Start()
			started <- err
			if err != nil {
				return err
			}
			return p.cmd.Wait() // killed, most likely; complaint tells otherwise
		})
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting QEMU: %w", err)
	}
	if err := os.WriteFile(dir.file(name, "pid"), []byte(strconv.Itoa(p.cmd.Process.Pid)), 0o600); err != nil {
		p.kill()
		return nil, err
	}
	if p.monitor, err = newMonitor(in, out); err != nil {
		p.kill()
		return nil, errors.Join(err, p.complaint())
	}
	return p, nil
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends QEMU and waits for it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// complaint is what QEMU said on its way out, if it has ended.
func (p *process) complaint() error {
	if !p.ended() {
		return nil
	}
	return fmt.Errorf("QEMU: %v: %s", p.cmd.ProcessState, strings.TrimSpace(p.stderr.String()))
}

// onOneThread runs f on a thread that lives as long as f does.
func onOneThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}

// pair makes two ends of a stream: ours, and one to hand to a child.
func pair() (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	near, far := os.NewFile(uintptr(fds[0]), "plane"), os.NewFile(uintptr(fds[1]), "plane")
	conn, err := net.FileConn(near)
	if err = errors.Join(err, near.Close()); err != nil {
		return nil, nil, errors.Join(err, far.Close())
	}
	return conn, far, nil
}

// probeTimeout is how long a guest may take to say a word under KVM.
const probeTimeout = 20 * time.Second

// probed is what init says when it is only asked whether guests run.
const probed = "weft.probe: a guest runs"

// accelerator is "kvm" where a guest really boots with it, else "tcg". The
// device being there is no proof: inside some clouds it is, and nothing runs.
// The answer is kept next to the image until this machine is booted again.
func accelerator(ctx context.Context, image *Image) string {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return "tcg"
	}
	_ = f.Close() // only opened
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	kept := filepath.Join(filepath.Dir(image.Disk), "kvm-"+strings.TrimSpace(string(boot)))
	if text, err := os.ReadFile(kept); err == nil {
		return string(text)
	}
	answer := "tcg"
	if probe(ctx, image) {
		answer = "kvm"
	}
	if ctx.Err() == nil {
		_ = os.WriteFile(kept, []byte(answer), 0o600) // or it is asked again
	}
	return answer
}

// probe boots as far as init under KVM.
func probe(ctx context.Context, image *Image) bool {
	path, err := find("qemu-system-x86_64")
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(machine("kvm"), "-m", "256", "-no-reboot", "-serial", "stdio",
		"-kernel", image.Kernel, "-initrd", image.Initrd, "-append", "console=ttyS0 panic=-1 weft.probe")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = onOneThread(cmd.Run) // what it printed is the answer
	return strings.Contains(out.String(), probed)
}
