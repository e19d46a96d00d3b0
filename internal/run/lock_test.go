package run

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestHoldKeepsASecondApplyOut(t *testing.T) {
	place := t.TempDir()
	first, err := Hold(place)
	if err != nil {
		t.Fatal(err)
	}
	_, err = Hold(place)
	if !errors.As(err, new(*BusyError)) {
		t.Errorf("a second apply: %v", err)
	}
	if who := AtWork(place); !strings.HasPrefix(who, "another weft apply is at work in this directory: ") || !strings.Contains(who, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a look: %q", who)
	}
	first.Close()
	again, err := Hold(place)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// Whoever only looks keeps nobody out, and sees nobody who is not there.
func TestLooksDisturbNobody(t *testing.T) {
	t.Parallel()
	place := t.TempDir()
	if who := AtWork(place); who != "" {
		t.Errorf("nobody ever applied: %q", who)
	}
	done := make(chan struct{})
	var looks sync.WaitGroup
	for range 4 {
		looks.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					AtWork(place)
				}
			}
		})
	}
	for range 500 {
		h, err := Hold(place)
		if err != nil {
			t.Error(err)
			break
		}
		if AtWork(place) == "" {
			t.Error("it is held, and a look sees nobody")
		}
		h.Close()
	}
	close(done)
	looks.Wait()
	if who := AtWork(place); who != "" {
		t.Errorf("nobody applies any more: %q", who)
	}
}
