//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// haltsEnv holds the texts at which weft halts, each on a line.
const haltsEnv = "WEFT_TEST_HALTS"

// halting stops this process once it has written a line that holds the next of the
// texts: whoever reads that line meets the process as it was then, however busy the
// machine is, and has it go on.
type halting struct {
	w     io.Writer
	mu    *sync.Mutex
	texts *[]string
	goOn  chan os.Signal
	line  []byte // the last, which has no end yet
}

// halts makes the streams of weft halt where whoever runs it has asked for that.
func halts(out *printer) {
	texts := strings.Split(os.Getenv(haltsEnv), "\n")
	if texts[0] == "" {
		return
	}
	h := halting{w: out.stderr, mu: new(sync.Mutex), texts: &texts, goOn: make(chan os.Signal, 1)}
	signal.Notify(h.goOn, syscall.SIGCONT)
	out.stderr = &h
	file, err := os.Stdout.Stat()
	said, late := os.Stderr.Stat()
	if err == nil && late == nil && os.SameFile(file, said) { // else nobody may read it who would have it go on
		out.stdout = &halting{w: out.stdout, mu: h.mu, texts: h.texts, goOn: h.goOn}
	}
}

func (h *halting) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.line = append(h.line, p...)
	for {
		line, rest, ended := bytes.Cut(h.line, []byte("\n"))
		if !ended {
			return n, err
		}
		h.line = rest
		if texts := *h.texts; len(texts) > 0 && strings.Contains(string(line), texts[0]) {
			*h.texts = texts[1:]
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) // it may stop itself
			<-h.goOn                                       // the thread that stops it may be another, which runs late
		}
	}
}

// halted has the wefts of a command halt at texts. What it returns has them go on: more
// than once, as one that has written its line may have yet to stop.
func halted(cmd *exec.Cmd, texts []string) (goOn, end func()) {
	cmd.Env = append(cmd.Env, haltsEnv+"="+strings.Join(texts, "\n"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	over := make(chan bool)
	var ticks sync.WaitGroup
	goOn = sync.OnceFunc(func() {
		ticks.Go(func() {
			for {
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // it may have ended
				select {
				case <-over:
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	})
	return goOn, func() { close(over); ticks.Wait() }
}
