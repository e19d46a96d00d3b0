package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/agent"
	"weft/internal/hint"
)

const (
	statusTimeout = 10 * time.Second // of one question or answer
	maxStatus     = 16 << 20         // bytes of an answer
)

func statusCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Say what the running weft-target serves",
		Args:  cobra.NoArgs,
	}
	asJSON := c.Flags().Bool("json", false, "print the status as JSON")
	c.RunE = started(func(c *cobra.Command) error {
		text, err := askStatus(places.Path(agent.SocketPath))
		if err != nil {
			return err
		}
		if *asJSON {
			_, err = c.OutOrStdout().Write(text)
			return err
		}
		var s agent.TargetStatus
		if err := json.Unmarshal(text, &s); err != nil {
			return fmt.Errorf("reading the status: %w", err)
		}
		return printStatus(c.OutOrStdout(), s)
	})
	return c
}

func askStatus(socket string) ([]byte, error) {
	conn, err := net.DialTimeout("unix", socket, statusTimeout)
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("asking weft-target: %w", err), "weft-target answers only while it serves; see: systemctl status %s", agent.Unit)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(statusTimeout)); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxStatus))
	if err != nil {
		return nil, fmt.Errorf("asking weft-target: %w", err)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("asking weft-target: its answer ends after %d bytes", len(text))
	}
	return text, nil
}

func printStatus(out io.Writer, s agent.TargetStatus) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "version\t%s\npid\t%d, since %s\nbinary\t%s\nconfiguration\t%s\n", s.Version, s.PID, s.Started.Format(time.RFC3339), s.Binary, s.Config)
	if s.ReloadError != "" {
		fmt.Fprintf(w, "last reload\trefused: %s\n", strings.ReplaceAll(s.ReloadError, "\n", "; "))
	}
	if s.KeysChanged {
		fmt.Fprintln(w, "keys\tthe files hold others than hosts are asked for: weft-target reload")
	}
	if s.Root != "" {
		fmt.Fprintf(w, "root\t%s\n", s.Root)
	}
	for _, p := range s.Portals {
		fmt.Fprintf(w, "portal\t%s %s", p.Transport, p.Address)
		if p.Bound != p.Address && p.Error == "" {
			fmt.Fprintf(w, " (really %s)", p.Bound)
		}
		if p.Error != "" {
			fmt.Fprintf(w, "\tnot open: %s", p.Error)
		}
		fmt.Fprintln(w)
	}
	for _, u := range s.Subsystems {
		fmt.Fprintf(w, "subsystem\t%s\tcontrollers %d\tread %d B\twritten %d B\n", u.NQN, u.Controllers, u.BytesRead, u.BytesWritten)
		for _, n := range u.Namespaces {
			printNamespace(w, n)
		}
	}
	for _, c := range s.Controllers {
		fmt.Fprintf(w, "controller\t%d of %s\thost %s\tat %s from %s\tI/O queues %d\n", c.ID, c.Subsystem, c.Host, c.Portal, c.From, c.IOQueues)
	}
	if r := s.Refused; r != (agent.RefusedStatus{}) {
		fmt.Fprintf(w, "refused\tconnects %d\tauthentications %d\tkeep-alive timeouts %d\tlog lines %d\n", r.Connects, r.Authentications, r.KeepAlives, r.LogLines)
	}
	return w.Flush()
}

func printNamespace(w io.Writer, n agent.NamespaceStatus) {
	fmt.Fprintf(w, "namespace\t%d %s", n.ID, n.Backend)
	if n.Path != "" {
		fmt.Fprintf(w, " %s", n.Path)
	}
	fmt.Fprintf(w, ", %d B in blocks of %d\treads %d\twrites %d\tothers %d\terrors %d", n.Size, n.BlockSize, n.Reads, n.Writes, n.Others, n.Errors)
	if n.ReadOnly {
		fmt.Fprint(w, "\tread only")
	}
	if n.IOPS > 0 || n.Bandwidth > 0 {
		fmt.Fprintf(w, "\tlimits %d IOPS, %d B/s: %d delayed", n.IOPS, n.Bandwidth, n.Throttled)
	}
	if m := n.Mirror; m != nil {
		fmt.Fprintf(w, "\tmirror %s, %d B behind", strings.Join(m.Legs, " and "), m.Behind)
	}
	fmt.Fprintln(w)
}

// A statusServer answers every connection on a unix socket with the status.
type statusServer struct {
	l    *net.UnixListener
	path string
	wg   sync.WaitGroup
}

// serveStatus listens on a socket that only its owner may use. It takes the
// place of a socket that nobody listens on, and refuses where another process does.
func serveStatus(path string, status func() agent.TargetStatus, log *slog.Logger) (*statusServer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	if err := nobodyOn(path); err != nil {
		return nil, err
	}
	// The socket gets its name when it is already closed to others.
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("status socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(fresh, 0o600); err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("status socket: %w", err), l.Close(), os.Remove(fresh))
	}
	s := &statusServer{l: l, path: path}
	s.wg.Go(func() { s.accept(status, log) })
	return s, nil
}

// nobodyOn reports a weft-target that is already running.
func nobodyOn(path string) error {
	conn, err := net.DialTimeout("unix", path, statusTimeout)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("a weft-target is already running: it answers on %s", path), conn.Close())
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil
	}
	return fmt.Errorf("status socket: %w", err)
}

func (s *statusServer) accept(status func() agent.TargetStatus, log *slog.Logger) {
	for {
		conn, err := s.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			log.Warn("status socket", "error", err)
			time.Sleep(100 * time.Millisecond) // out of file descriptors, most likely
			continue
		}
		s.wg.Go(func() {
			if err := answer(conn, status()); err != nil {
				log.Warn("answering on the status socket", "error", err)
			}
		})
	}
}

func answer(conn net.Conn, s agent.TargetStatus) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(statusTimeout))
	}
	if err == nil {
		_, err = conn.Write(append(text, '\n'))
	}
	return errors.Join(err, conn.Close())
}

// Close takes the socket away and waits for answers under way.
func (s *statusServer) Close() error {
	err := errors.Join(s.l.Close(), os.Remove(s.path))
	s.wg.Wait()
	return err
}

// ownSum is the SHA-256 of the executable that is running. On Linux it is read
// from the running image even where the file was replaced since.
func ownSum() (string, error) {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return "", fmt.Errorf("finding the own executable: %w", err)
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("reading the own executable: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading the own executable: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
