package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

func TestHoldKeepsASecondApplyOut(t *testing.T) {
	a := &app{dir: t.TempDir()}
	first, err := a.hold()
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.hold()
	if coded := new(codeError); !errors.As(err, &coded) || coded.code != exitHeld {
		t.Errorf("a second apply: %v", err)
	}
	if who := a.atWork(); !strings.HasPrefix(who, "another weft apply is at work in this directory: ") || !strings.Contains(who, fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a look: %q", who)
	}
	first.Close()
	again, err := a.hold()
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// Whoever only looks keeps nobody out, and sees nobody who is not there.
func TestLooksDisturbNobody(t *testing.T) {
	a := &app{dir: t.TempDir()}
	if who := a.atWork(); who != "" {
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
					a.atWork()
				}
			}
		})
	}
	for range 500 {
		h, err := a.hold()
		if err != nil {
			t.Error(err)
			break
		}
		if a.atWork() == "" {
			t.Error("it is held, and a look sees nobody")
		}
		h.Close()
	}
	close(done)
	looks.Wait()
	if who := a.atWork(); who != "" {
		t.Errorf("nobody applies any more: %q", who)
	}
}
