package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// exitCodes are those with which a command may end, ascending. One that is
// not listed here ends as any command may.
func exitCodes(cmd *cobra.Command) []int {
	carried := []int{exitFailed, exitChanged, exitRolledBack, exitStale, exitHeld, exitUnreachable, exitInconclusive, exitWaiting}
	measured := []int{exitFailed, exitUnreachable, exitInconclusive}
	covered := append(slices.Clone(measured), exitPartial)
	own := map[string][]int{
		"plan":             {exitChanges, exitUnreachable, exitInconclusive, exitWaiting},
		"drift":            {exitChanges, exitUnreachable, exitWaiting},
		"audit verify":     {exitFailed, exitHeld, exitWaiting},
		"audit export":     {exitHeld, exitWaiting},
		"approve":          {exitHeld, exitWaiting},
		"apply":            carried,
		"rollout":          carried,
		"rollout step":     carried,
		"rollout promote":  carried,
		"rollout resume":   carried,
		"rollout rollback": carried,
		"rollout abort":    {exitHeld, exitUnreachable, exitWaiting},
		"rollout pause":    {exitHeld, exitUnreachable, exitWaiting},
		"rollout status":   {exitRolledBack, exitHeld, exitUnreachable, exitWaiting},
		"rollout view":     {exitHeld, exitUnreachable, exitWaiting},
		"worker":           carried,
		"runs":             {exitHeld, exitWaiting},
		"report":           {exitHeld, exitWaiting},
		"report check":     {exitFailed},
		"verify":           append(slices.Clone(covered), exitWaiting),
		"verify cabling":   measured,
		"verify failover":  {exitFailed, exitHeld, exitUnreachable, exitInconclusive, exitWaiting},
		"verify reboot":    {exitFailed, exitHeld, exitUnreachable, exitInconclusive},
		"watch":            covered,
		"rehearse":         append(slices.Clone(carried), exitPartial),
		"facts":            {exitUnreachable},
		"discover":         {exitFailed, exitUnreachable},
		"doctor":           measured,
		"record":           {exitUnreachable},
		"exec":             {exitHeld, exitUnreachable},
		"unlock":           {exitUnreachable},
		"store check":      {exitFailed, exitUnreachable, exitInconclusive},
		"store lease list": {exitUnreachable},
		"hub serve":        {exitHeld, exitUnreachable},
		"hub status":       {exitFailed, exitUnreachable},
		"hub backup":       {exitUnreachable},
		"hub import":       {exitUnreachable},
		"hub credential":   {exitUnreachable},

		"store lease break":     {exitHeld, exitUnreachable},
		"hub credential add":    {exitUnreachable},
		"hub credential revoke": {exitUnreachable},
	}
	codes := append([]int{exitDone, exitError, exitUsage, exitInterrupted, exitUnread}, own[commandName(cmd)]...)
	slices.Sort(codes)
	return codes
}

// commandName is a command as it is typed after weft.
func commandName(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// exitHelp are the exit codes of a command for its help; those of all commands
// for that of weft itself.
func exitHelp(codes []int) string {
	lines := []string{"Exit codes:"}
	for _, code := range codes {
		lines = append(lines, fmt.Sprintf("  %-4d%s", code, exitMeaning(code)))
	}
	return strings.Join(lines, "\n")
}

// exitMeaning is what an exit code says in help.
func exitMeaning(code int) string {
	switch code {
	case exitChanges:
		return "changes present (plan --detailed-exitcode, drift)"
	case exitFailed:
		return "validation or gate failed"
	case exitHeld:
		return exitText(code) + " (weft unlock)"
	case exitWaiting:
		return "waiting: for approval, a soak, a window, weft rollout resume, or the store of runs"
	}
	return exitText(code)
}

// allExitCodes are those of all commands.
func allExitCodes() []int {
	return []int{exitDone, exitError, exitChanges, exitFailed, exitChanged, exitRolledBack, exitStale, exitHeld,
		exitUnreachable, exitInconclusive, exitWaiting, exitPartial, exitUsage, exitInterrupted, exitUnread}
}
