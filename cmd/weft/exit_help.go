package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// An exit is a code with which a command may end, as its help words it; "" is the text that
// all commands have for it.
type exit struct {
	code int
	text string
}

// exitTable lists the codes of each command that means more by them than every command may. The
// tests of scripts fail where a command ends with a code that its help does not list.
func exitTable() map[string][]exit {
	storeWaits := exit{exitWaiting, "the store of runs did not answer"}
	runHeld := exit{exitHeld, "another process works on these runs"}
	table := map[string][]exit{
		"validate": {{exitDone, "the files are valid; warnings may be listed"}, {exitError, "the files are not valid"}},
		"fmt":      {{exitDone, "all files are formatted"}, {exitError, "a file cannot be parsed, or --check found one that is not formatted"}},
		"init":     {{exitDone, "the files are written"}, {exitError, "nothing was written"}, {exitFailed, "--from lab: the files are not proven, and nothing was written"}, {exitUnreachable, "--from lab: a device did not answer"}},
		"plan": {{exitDone, "planned; without --detailed-exitcode also where there are changes"}, {exitError, "the files are not valid, or the plan is refused"},
			{exitChanges, "--detailed-exitcode: there are changes"}, {exitUnreachable, ""},
			{exitInconclusive, "--untrusted --detailed-exitcode: no device was read"}, storeWaits},
		"drift": {{exitDone, "no drift"}, {exitError, "the files are not valid, or a ledger is damaged"}, {exitChanges, "there is drift"}, {exitUnreachable, ""}, storeWaits},

		"apply":            carriedExits("applied, and every gate passed"),
		"worker":           carriedExits("the last run of the site passed, or weft was interrupted between runs"),
		"rollout":          carriedExits(""),
		"rollout step":     carriedExits("one gate passed, or the rollout is complete"),
		"rollout promote":  carriedExits("the phase passed its gate, or the rollout is complete"),
		"rollout resume":   carriedExits("the rollout is complete"),
		"rollout rollback": carriedExits("the phase is reverted, and the revert is verified"),
		"rollout abort":    {{exitDone, "the rollout has ended; devices stay as they are"}, {exitHeld, ""}, {exitUnreachable, ""}, storeWaits},
		"rollout pause":    {{exitDone, "the rollout will stop before the next change"}, {exitHeld, ""}, {exitUnreachable, ""}, storeWaits},
		"rollout status":   {{exitDone, "the rollout passed, or was aborted"}, {exitRolledBack, ""}, {exitHeld, ""}, {exitUnreachable, ""}, {exitWaiting, "the rollout is not over, or the store of runs did not answer"}},
		"rollout view":     {runHeld, {exitUnreachable, ""}, storeWaits},
		"rehearse": append(carriedExits("applied, planned again and removed on the simulated devices"),
			exit{exitPartial, "everything else passed; the listed devices could not be measured"}),
		"runs":         {runHeld, storeWaits},
		"approve":      {{exitDone, "signed, or withdrawn"}, {exitError, "nothing was signed"}, runHeld, storeWaits},
		"audit verify": {{exitDone, "the trail is complete and its signatures are good"}, {exitFailed, "the trail or a signature is not good"}, runHeld, storeWaits},
		"audit export": {runHeld, storeWaits},
		"unlock":       {{exitError, "nothing was unlocked"}, {exitUnreachable, "a device did not answer"}},
	}
	maps.Copy(table, readingExits())
	return table
}

// readingExits are the rows of commands that carry out no plan.
func readingExits() map[string][]exit {
	storeWaits := exit{exitWaiting, "the store of runs did not answer"}
	runHeld := exit{exitHeld, "another process works on these runs"}
	hubGone := exit{exitUnreachable, "the hub did not answer"}
	return map[string][]exit{
		"facts": {{exitDone, "every device answered"}, {exitUnreachable, "a device did not answer"}},
		"discover": {{exitDone, "the files are written, and a plan with them is empty"}, {exitError, "nothing was written"},
			{exitFailed, "the files are not proven, and nothing was written"}, {exitUnreachable, "a device did not answer"}},
		"doctor": {{exitDone, "no finding of severity error"}, {exitFailed, "a finding of severity error; with --assess, a subject that needs something"},
			{exitUnreachable, "a device did not answer"}, {exitInconclusive, "something could not be judged"}},
		"record": {{exitDone, "the test case is written"}, {exitError, "nothing was written"}, {exitUnreachable, "the switch did not answer"}},
		"exec": {{exitDone, "the command exited with 0 on every device"}, {exitError, "the command failed on a device; weft itself changed nothing"},
			{exitHeld, "another run holds a server"}, {exitUnreachable, "a device did not answer"}},
		"verify": {{exitDone, "everything that is declared passes"}, {exitFailed, "a validation or a path fails"}, {exitUnreachable, ""},
			{exitInconclusive, ""}, {exitPartial, ""}, storeWaits},
		"verify cabling": {{exitDone, "LLDP confirms every link"}, {exitFailed, "LLDP contradicts a link"}, {exitUnreachable, ""}, {exitInconclusive, "no neighbour is heard at a port"}},
		"verify failover": {{exitDone, "I/O resumed within the limit"}, {exitFailed, "I/O did not resume within the limit"}, {exitHeld, ""}, {exitUnreachable, ""},
			{exitInconclusive, ""}, storeWaits},
		"verify reboot": {{exitDone, "everything is back"}, {exitFailed, "something is not back, or nothing was restarted because a plan is not empty"}, {exitHeld, ""},
			{exitUnreachable, "a server did not start again"}, {exitInconclusive, ""}},
		"watch":        {{exitDone, "the last sample passes"}, {exitFailed, "the last sample fails"}, {exitUnreachable, ""}, {exitInconclusive, ""}, {exitPartial, ""}},
		"report":       {runHeld, storeWaits},
		"report check": {{exitDone, "the bundle is as it was written"}, {exitFailed, "a file of the bundle was changed"}},

		"store check":           {{exitDone, "every check passes"}, {exitFailed, "the store does not keep what runs rely on"}, {exitUnreachable, "the store did not answer"}, {exitInconclusive, "a property cannot be measured"}},
		"store lease list":      {{exitUnreachable, "the store did not answer"}},
		"store lease break":     {{exitError, "the lease stays"}, {exitHeld, "another process has taken the lease"}, {exitUnreachable, "the store did not answer"}},
		"hub serve":             {{exitDone, "interrupted"}, {exitHeld, "another process serves this directory"}, {exitUnreachable, ""}},
		"hub status":            {{exitDone, "every server has everything"}, {exitFailed, "a server lacks data, or there is no room left"}, hubGone},
		"hub backup":            {hubGone},
		"hub import":            {hubGone},
		"hub credential":        {hubGone},
		"hub credential add":    {hubGone},
		"hub credential revoke": {{exitUnreachable, "a server has not confirmed the revocation"}},
	}
}

// carriedExits are the codes of commands that carry out a plan.
func carriedExits(done string) []exit {
	return []exit{{exitDone, done}, {exitFailed, "a gate failed"}, {exitChanged, ""}, {exitRolledBack, ""}, {exitStale, ""}, {exitHeld, ""},
		{exitUnreachable, ""}, {exitInconclusive, "a gate could not decide"},
		{exitWaiting, "waiting for an approval, a soak, a window, weft rollout resume, a worker or the store of runs"}}
}

// exitsOf are the codes with which a command may end, ascending; those of weft itself are
// the codes of all commands.
func exitsOf(cmd *cobra.Command) []exit {
	list := []exit{{exitDone, ""}, {exitError, ""}, {exitUsage, ""}, {exitInterrupted, ""}, {exitUnread, ""}}
	own := exitTable()[commandName(cmd)]
	if !cmd.HasParent() {
		for _, code := range []int{exitChanges, exitFailed, exitChanged, exitRolledBack, exitStale, exitHeld, exitUnreachable, exitInconclusive, exitWaiting, exitPartial} {
			own = append(own, exit{code, ""})
		}
	}
	for _, e := range own {
		list = slices.DeleteFunc(list, func(common exit) bool { return common.code == e.code })
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b exit) int { return a.code - b.code })
	return list
}

// commandName is a command as it is typed after weft.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// exitHelp is the last part of the help of a command.
func exitHelp(cmd *cobra.Command) string {
	lines := []string{"Exit codes:"}
	for _, e := range exitsOf(cmd) {
		text := e.text
		if text == "" {
			text = exitText(e.code)
		}
		lines = append(lines, fmt.Sprintf("  %-4d%s", e.code, text))
	}
	return strings.Join(lines, "\n")
}
