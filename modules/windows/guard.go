package windows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// task is the guard of Windows: a scheduled task that runs a script of the owner's as
// SYSTEM once, also where the machine was off or starting at that time.
type task struct{}

const revertTask = "weft-revert-"

func (task) Name(owner string) string { return revertTask + owner }
func (task) Restarts() bool           { return true }

// Look names the tasks that there are.
func (task) Look() remote.Look {
	return ask("scheduled tasks of weft", `$value = @(foreach ($t in @(Get-ScheduledTask -TaskName 'weft-revert-*')) { [string]$t.TaskName })
`)
}

func (g task) Armed(s remote.Seen) (a host.Armed, err error) {
	names, err := rows[string](s, g.Look())
	if err != nil {
		a.Unable = hint.Wrap(fmt.Errorf("no task can be scheduled that reverts changes: %w", err), "the service Task Scheduler (Schedule) must run")
		return a, nil
	}
	for _, n := range names {
		if owner, ours := strings.CutPrefix(n, revertTask); ours {
			a.Owners = append(a.Owners, owner)
		}
	}
	slices.Sort(a.Owners)
	return a, nil
}

func revertFile(owner string) string { return root + `\` + owner + `\revert.ps1` }

// Arm implements host.Guard. What is armed already is run after the steps, and the end of
// it forgets the task. The account SYSTEM is called by its SID, as its name is another in
// other languages; the file begins with a byte order mark, without which PowerShell takes
// it for one of the machine's code page.
func (g task) Arm(ctx context.Context, t host.Transport, owner string, after time.Duration, back []remote.Step) error {
	var steps strings.Builder
	for _, s := range back {
		if len(s.Args) == 0 || s.Secret != nil {
			return fmt.Errorf("%s: no task of Windows reverts that", s.Short())
		}
		text, err := render(s.Args)
		if err != nil {
			return err
		}
		steps.WriteString("try {\n" + text + "} catch { }\n")
	}
	file := revertFile(owner)
	last := "[IO.File]::Delete(" + powershell.Quote(file) + ")\nUnregister-ScheduledTask -TaskName " + powershell.Quote(g.Name(owner)) + " -Confirm:$false\n"
	_, err := t.Run(ctx, do("arm "+g.Name(owner), folders()+secure+powershell.Let("path", file)+powershell.Let("steps", steps.String())+powershell.Let("last", last)+
		powershell.Let("begin", "\uFEFF$ErrorActionPreference = 'Stop'\n")+powershell.Let("name", g.Name(owner))+powershell.Let("seconds", seconds(after))+
		powershell.Let("arguments", `-NoProfile -NonInteractive -ExecutionPolicy Bypass -File "`+file+`"`)+armProgram))
	return hint.Wrap(err, "the network of a host is changed only where a scheduled task can revert it")
}

const armProgram = `if ([IO.File]::Exists($path)) {
$old = [IO.File]::ReadAllText($path)
$last = $old.Substring($old.IndexOf('try {'))
}
$bytes = [Text.Encoding]::UTF8.GetBytes($begin + $steps + $last)
` + put + `$action = New-ScheduledTaskAction -Execute ([Environment]::SystemDirectory + '\WindowsPowerShell\v1.0\powershell.exe') -Argument $arguments
$trigger = New-ScheduledTaskTrigger -Once -At ([DateTime]::Now.AddSeconds($seconds))
$principal = New-ScheduledTaskPrincipal -UserId 'S-1-5-18' -LogonType 'ServiceAccount' -RunLevel 'Highest'
$settings = New-ScheduledTaskSettingsSet -StartWhenAvailable -AllowStartIfOnBatteries -DontStopIfGoingOnBatteries
$null = Register-ScheduledTask -TaskName $name -Action $action -Trigger $trigger -Principal $principal -Settings $settings -Force
`

// Disarm implements host.Guard.
func (g task) Disarm(ctx context.Context, t host.Transport, owner string) error {
	_, err := t.Run(ctx, do("disarm "+g.Name(owner), powershell.Let("name", g.Name(owner))+powershell.Let("path", revertFile(owner))+`foreach ($t in @(Get-ScheduledTask -TaskName 'weft-revert-*')) {
if ([string]$t.TaskName -eq $name) { Unregister-ScheduledTask -TaskName $name -Confirm:$false }
}
if ([IO.File]::Exists($path)) { [IO.File]::Delete($path) }
`))
	return err
}
