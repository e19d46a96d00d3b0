package switches_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/switches"
	"weft/switches/systems"
)

// A switch is known by its prompt; nothing is typed at it, and a device of which weft
// knows no prompt is named by what it said.
func TestRecognise(t *testing.T) {
	for name, c := range map[string]struct {
		says []string
		ends bool
		want string // the system, or what the error says
	}{
		"nxos":                       {[]string{"\r\nUser Access Verification\r\n", "leaf-a# "}, false, "nxos"},
		"comware":                    {[]string{"****\r\n* Copyright *\r\n\r\n<leaf-b>"}, false, "comware"},
		"a prompt in pieces":         {[]string{"\r\nlea", "f-a", "#", " "}, false, "nxos"},
		"a banner that has a prompt": {[]string{"leaf-x# ", "\r\nwelcome to this\r\n", "<leaf-b>"}, false, "comware"},
		"a shell":                    {[]string{"root@st1:~$ "}, false, `shows the prompt of no switch system that weft knows; the last it said is "root@st1:~$"`},
		"Junos":                      {[]string{"\r\n--- JUNOS 21.4R3 Kernel 64-bit\r\n", "netops@leaf> "}, false, "x is Juniper Junos, which weft does not speak"},
		"a question":                 {[]string{"Change now? [Y/N]:"}, false, "no switch system"},
		"silence":                    {nil, false, "no switch system"},
		"an end":                     {[]string{"bye\r\n"}, true, `the last it said is "bye"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			typed := make(chan string, 1)
			dial := func(context.Context) (io.ReadWriteCloser, error) {
				here, there := net.Pipe()
				go func() {
					for _, text := range c.says {
						_, _ = there.Write([]byte(text))
					}
					if c.ends {
						there.Close()
					}
				}()
				go func() {
					got, _ := io.ReadAll(there)
					typed <- string(got)
				}()
				return here, nil
			}
			patience := 60 * time.Second
			if strings.Contains(c.want, "no switch system") || strings.Contains(c.want, "Junos") {
				patience = 200 * time.Millisecond // it is waited for in vain
			}
			o, err := switches.Recognise(t.Context(), "x", dial, systems.All(), patience)
			switch {
			case err != nil && (!strings.Contains(err.Error(), c.want) || hint.Of(err) == ""):
				t.Errorf("%v, want %s", err, c.want)
			case err == nil && o.Name != c.want:
				t.Errorf("%s, want %s", o.Name, c.want)
			}
			if got := <-typed; got != "" {
				t.Errorf("it was typed %q", got)
			}
		})
	}
	no := errors.New("refused")
	if _, err := switches.Recognise(t.Context(), "x", func(context.Context) (io.ReadWriteCloser, error) { return nil, no }, systems.All(), time.Second); !errors.Is(err, no) {
		t.Errorf("%v", err)
	}
}
