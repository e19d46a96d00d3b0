//go:build unix

package simserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weft/internal/require"
)

// TestMain makes the test binary its own agent: under the name of one it acts
// as one, far enough to see what the lab does with it.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "weft-target":
		os.Exit(actTarget(os.Args[1:]))
	case "weft-initiator":
		os.Exit(actInitiator(os.Args[1:]))
	}
	require.Patience(8)
	goleak.VerifyTestMain(m)
}

type portal struct {
	Address string `json:"address"`
	Bound   string `json:"bound"`
}

// labFlags takes --root and --map away, wherever they stand.
func labFlags(args []string) (root string, maps [][2]string, rest []string) {
	for len(args) > 0 {
		switch {
		case args[0] == "--root":
			root, args = args[1], args[2:]
		case args[0] == "--map":
			from, to, _ := strings.Cut(args[1], "=")
			maps, args = append(maps, [2]string{from, to}), args[2:]
		default:
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return root, maps, rest
}

func actTarget(args []string) int {
	root, maps, rest := labFlags(args)
	status := filepath.Join(root, "run", "status.json")
	switch rest[0] {
	case "status":
		data, err := os.ReadFile(status)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		_, _ = os.Stdout.Write(data)
		return 0
	case "fail":
		fmt.Fprintln(os.Stderr, "told to fail")
		return 7
	case "fly":
		return 0
	case "serve":
	default:
		fmt.Println(strings.Join(args, " "))
		return 0
	}
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGTERM)
	var portals []portal
	for _, m := range maps {
		l, err := net.Listen("tcp", m[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer l.Close()
		portals = append(portals, portal{m[0], l.Addr().String()})
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, "hello from "+m[0])
				_ = c.Close()
			}
		}()
	}
	data, err := json.Marshal(map[string]any{"pid": os.Getpid(), "portals": portals})
	if err == nil {
		err = os.WriteFile(status, data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("serving", os.Getenv("COLOUR"))
	if c, err := net.Dial("unixgram", os.Getenv("NOTIFY_SOCKET")); err == nil {
		_, _ = io.WriteString(c, "STATUS=up\nREADY=1\n")
		_ = c.Close()
	}
	<-quit
	return 0
}

// actInitiator dials an address of the fabric and prints what it hears.
func actInitiator(args []string) int {
	_, maps, rest := labFlags(args)
	if rest[0] == "wait" {
		fmt.Println("waiting")
		time.Sleep(time.Hour) // select {} alone would be a deadlock, which Go reports
	}
	for _, m := range maps {
		if m[0] != rest[1] {
			continue
		}
		c, err := net.Dial("tcp", m[1])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer c.Close()
		_, _ = io.Copy(os.Stdout, c)
		return 0
	}
	fmt.Fprintln(os.Stderr, "no map for", rest[1])
	return 1
}

// upload puts the test binary into a server under the name of an agent.
func upload(t *testing.T, s *Server, name string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(s.Root(), agentDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Close()
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
}
