package esxi

import (
	"os"
	"path/filepath"
	"testing"

	"weft/modules/claim"
	"weft/modules/host"
)

const (
	enteringA = "2026-11-26T01:00:00.000Z: [GenericCorrelator] 1us: [vob.user.maintenancemode.entering] x"
	enteredA  = "2026-11-26T01:00:01.000Z: [GenericCorrelator] 2us: [vob.user.maintenancemode.entered] x"
	exitedA   = "2026-11-26T01:00:02.000Z: [GenericCorrelator] 3us: [vob.user.maintenancemode.exited] x"
	enteredB  = "2026-11-26T01:00:03.000Z: [GenericCorrelator] 4us: [vob.user.maintenancemode.entered] x"
)

func TestOnce(t *testing.T) {
	for name, test := range map[string]struct {
		log    []string
		before string
		once   bool
	}{
		"it entered":                            {[]string{exitedA, enteringA, enteredA}, exitedA, true},
		"the log was empty":                     {[]string{enteringA, enteredA}, "", true},
		"not yet":                               {[]string{exitedA, enteringA}, exitedA, false},
		"it was ended":                          {[]string{enteredA, exitedA}, "", false},
		"it was ended and begun":                {[]string{enteredA, exitedA, enteredB}, "", false},
		"twice":                                 {[]string{enteredA, enteredB}, "", false},
		"the log does not go back that far":     {[]string{enteringA, enteredA}, exitedA, false},
		"there is no log":                       {[]string{""}, "", false},
		"something of which weft knows nothing": {[]string{enteredA, "[vob.user.maintenancemode.other] GenericCorrelator"}, "", false},
	} {
		if got := once(test.log, test.before); got != test.once {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What is noted is found again with the tools of busybox, and tells a maintenance mode from
// one that somebody began after it.
func TestNotesMaintenance(t *testing.T) {
	b := newBox(t)
	log := filepath.Join(b.dir, "tmp", "vobd.log")
	says := func(lines ...string) {
		t.Helper()
		text := ""
		for _, l := range lines {
			text += l + "\n[UserLevelCorrelator] " + l[len(l)-20:] + "\n"
		}
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// It enters: its log tells so, as the host's would.
	esxcli := "#!" + b.path + "/sh\necho '" + enteringA + "' >>" + log + "; echo '" + enteredA + "' >>" + log + "\n"
	if err := os.WriteFile(filepath.Join(b.path, "esxcli"), []byte(esxcli), 0o755); err != nil {
		t.Fatal(err)
	}
	h, ctx := transport{b}, t.Context()
	if _, err := h.Run(ctx, script(enterScript, "itself", enteredFile, vobLog, noteFile)); err != nil {
		t.Fatal(err)
	}
	if got := textOf(b.see(enteredLook()), enteredLook()); got != "" {
		t.Errorf("without a note it keeps %q", got)
	}
	says(exitedA)
	if err := note(ctx, h, host.Emptying{Owner: "o", By: claim.Holder{Who: "ann@ws"}, Until: 7, Before: exitedA}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Run(ctx, script(enterScript, "itself", enteredFile, vobLog, noteFile)); err != nil {
		t.Fatal(err)
	}
	look := func() *host.Standing {
		t.Helper()
		seen := b.see(scratchLook(), noteLook(), enteredLook(), clockLook(), logLook())
		s, err := standing(seen, "Enabled")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := look(); !s.Empty || !s.Noted || !s.Same || !s.Once || s.Said != enteredA || s.Note.By.Who != "ann@ws" || s.Now == 0 {
		t.Errorf("it stands %+v", s)
	}
	says(exitedA, enteredA, exitedA, enteredB)
	if s := look(); !s.Noted || s.Same || s.Once {
		t.Errorf("begun anew by somebody else, it stands %+v", s)
	}
	if err := entered(ctx, h); err != nil { // as after vCenter
		t.Fatal(err)
	}
	if s := look(); !s.Same {
		t.Errorf("by vCenter, it stands %+v", s)
	}
	if err := forget(ctx, h); err != nil {
		t.Fatal(err)
	}
	if s := look(); s.Note != nil || s.Noted {
		t.Errorf("forgotten, it stands %+v", s)
	}
}
