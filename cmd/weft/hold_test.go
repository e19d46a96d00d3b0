package main

import (
	"errors"
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
	first.Close()
	again, err := a.hold()
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
