package simswitch

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Several people at once: nothing is lost, nothing is torn.
func TestManySessions(t *testing.T) {
	sw := leaf()
	addr := start(t, sw)
	var all sync.WaitGroup
	for i := 1; i <= 4; i++ {
		c := login(t, addr, "netops", 24)
		c.until("leaf-a# ")
		all.Go(func() {
			c.run("terminal length 0", "leaf-a# ")
			c.run("conf t", "leaf-a(config)# ")
			c.run(fmt.Sprintf("interface Ethernet1/%d", i), "leaf-a(config-if)# ")
			for n := range 20 {
				c.run(fmt.Sprintf("mtu %d", []int{1500, 9216}[n%2]), "leaf-a(config-if)# ")
				c.run("show running-config", "leaf-a(config-if)# ")
			}
		})
	}
	all.Wait()
	if n := strings.Count(sw.RunningConfig(), "  mtu 9216\n"); n != 4 {
		t.Errorf("%d of 4 ports have their last MTU", n)
	}
}

// An object that is deleted while someone edits it is refused, not revived.
func TestDeletedMeanwhile(t *testing.T) {
	sw := leaf()
	s := newSession(sw, "test", nil)
	s.enterTop()
	s.do("class-map type qos match-any C")
	if err := sw.Edit("no class-map type qos match-any C"); err != nil {
		t.Fatal(err)
	}
	if reply := s.do("match dscp 26"); s.ok || !strings.Contains(reply, "ERROR: ") {
		t.Errorf("accepted: %q", reply)
	}
}

// Timers of a fast clock really fire.
func TestFastClock(t *testing.T) {
	sw := h3c(func(s *Spec) { s.Clock = Fast(1000) })
	defer sw.Close()
	before := sw.RunningConfig()
	if err := sw.Edit("configuration commit delay 1", "interface HundredGigE1/0/1", "shutdown"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); sw.RunningConfig() != before; {
		if time.Now().After(deadline) {
			t.Fatal("the timer did not fire")
		}
		time.Sleep(time.Millisecond)
	}
}

func TestDropAfter(t *testing.T) {
	sw := h3c()
	sw.DropAfter(2)
	sw.Slow(time.Millisecond)
	c := login(t, start(t, sw), "netops", 24)
	c.until("<leaf-b>")
	c.run("display clock", "<leaf-b>")
	c.run("display clock", "<leaf-b>")
	c.send("display clock\n")
	c.closed()
}

// Whatever is typed, a switch answers and still prints what it reads back.
func FuzzLines(f *testing.F) {
	for _, lines := range [][]string{lossless, losslessH3C} {
		f.Add(strings.Join(lines, "\n"))
	}
	f.Add("interface eth1/1-99999999999\nno \nundo\ninterface 1-2\nqos map-table\nimport 1 2 3")
	f.Add("show run | section (\nshow run | include [\n | \ncommit confirmed 30\nconfigure dual-stage\ncommit\nabort")
	f.Add("show run | include \xff(")
	f.Add("copy running-config bootflash:\ny\nmkdir a/b\nsave .cfg\ny")
	f.Fuzz(func(t *testing.T, text string) {
		for _, sw := range []*Switch{leaf(), h3c()} {
			s := newSession(sw, "fuzz", nil)
			s.enterTop()
			for line := range strings.Lines(text) {
				s.do(line)
				s.help(line)
				_ = sw.system.prompt(s)
			}
			sw.Close()
			printed := sw.RunningConfig()
			again := strings.Join(sw.system.print(sw.load(printed)), "\n") + "\n"
			if again != printed {
				t.Errorf("printed:\n%s\nread back as:\n%s", printed, again)
			}
		}
	})
}
