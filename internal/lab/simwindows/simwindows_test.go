//go:build unix

package simwindows

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

func newHost(t testing.TB) *Host {
	t.Helper()
	h, err := New(Spec{Name: "win1", NICs: []NIC{{PCI: "0000:3b:00.0", RDMA: true}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// eval is what a script leaves of $value as JSON, or why it does not run.
func eval(h *Host, src string) string {
	out, err := h.script(context.Background(), "admin", true, src+"\n"+`$json = ConvertTo-Json -InputObject @{ v = $value } -Depth 4 -Compress
$bytes = [Text.Encoding]::UTF8.GetBytes($json)
$out = [Console]::OpenStandardOutput()
$out.Write($bytes, 0, $bytes.Length)`, "")
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(out), `{"v":`), "}")
}

// Each cmdlet names the page that has it.
func TestSources(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range newHost(t).cmdlets() {
		if !strings.HasSuffix(c.source, "/"+c.name) || c.run == nil || len(c.sets) == 0 || seen[c.name] {
			t.Errorf("%s: source %q, or it is there twice", c.name, c.source)
		}
		seen[c.name] = true
	}
}

// The language, as its reference has it; JSON as 5.1 writes it.
func TestLanguage(t *testing.T) {
	h := newHost(t)
	for src, want := range map[string]string{
		"$value = 'it''s ‘‘'":                                  `"it\u0027s ‘"`,
		"$value = 1 + 2":                                       "3",
		"$value = '1' + 2":                                     `"12"`,
		"$value = @()":                                         "[]",
		"$value = @(1)":                                        "[1]",
		"$value = @(1, 2) + 3":                                 "[1,2,3]",
		"$value = 'A' -eq 'a'":                                 "true",
		"$value = 'abc' -match '^B'":                           "false",
		"$value = -not (1 -gt 2) -and $true":                   "true",
		"$value = [string]$true + 'x'":                         `"Truex"`,
		"$value = [int]'7'":                                    "7",
		"$value = @(foreach ($x in @(1, 2)) { $x + 1 })":       "[2,3]",
		"$value = $null\nforeach ($x in $null) { $value = 1 }": "null",
		"if ($null) { $value = 1 } elseif (0) { $value = 2 } else { $value = 3 }":                   "3",
		"try { throw 'no' } catch { $value = [string]$_.Exception.Message }":                        `"no"`,
		"try { try { throw 'a' } catch { throw } } catch { $value = [string]$_.Exception.Message }": `"a"`,
		"try { $value = 1 } finally { $value = 2 }":                                                 "2",
		"$value = @{ a = '<&>'; b = @{ c = @{ d = @{ e = @{ f = 1 } } } } }":                        `{"a":"\u003c\u0026\u003e","b":{"c":{"d":{"e":"System.Collections.Hashtable"}}}}`,
		"$value = 'a b'.Split(' ')[1]":                                                              `"b"`,
		"$VALUE = $NoSuch":                                                                          "null",
	} {
		if got := eval(h, src); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
}

// What weft does not send, no page has, or no cmdlet takes so is refused.
func TestRefuses(t *testing.T) {
	h := newHost(t)
	for src, want := range map[string]string{
		"Get-Process":                                      "not recognized",
		"Remove-Item -Path 'C:\\'":                         "not recognized",
		"Get-NetAdapter | Get-NetAdapter":                  "does not take",
		`$value = "a"`:                                     "does not take",
		"& { 1 }":                                          "does not take",
		"$value = 1 # x":                                   "does not take",
		"Get-NetAdapter -Bogus 1":                          "Parameter set cannot be resolved",
		"New-ScheduledTaskTrigger -Once":                   "Parameter set cannot be resolved",
		"Unregister-ScheduledTask -TaskName 'x'":           "NonInteractive",
		"$value = [IO.File]::AppendAllText('a', 'b')":      "not one of what this SIMULATED host has",
		"$value = 'a'.Insert(0, 'b')":                      "does not have it",
		"[IO.File]::Replace('C:\\a', 'C:\\b', $null)":      "not of a legal form",
		"[IO.Directory]::Move('C:\\x', 'C:\\ProgramData')": "Could not find",
		"$value = [int]'x'":                                "Cannot convert",
		"$value = 'a":                                      "missing the terminator",
		"if (1) { ":                                        "does not take",
		"throw 'plain'":                                    "plain",
	} {
		if got := eval(h, src); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
	}
	for line, want := range map[string]string{
		"ls -l": "'ls' is not recognized as an internal or external command",
		"powershell -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand " + wide("Get-Process"): "no other encoded command",
	} {
		var out, errs bytes.Buffer
		if code := h.Exec(context.Background(), "admin", line, nil, &out, &errs); code == 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: %d %q", line, code, errs.String())
		}
	}
}

// Shells of logins take what is more to them than plain words for that, and say what they do
// not find in words of their own.
func TestShells(t *testing.T) {
	h := newHost(t)
	for _, c := range [][3]string{
		{"mended", "powershell -Command %PATH%", "cmd.exe of this SIMULATED host takes lines of plain words only"},
		{"mended", "pwsh -Version", "'pwsh' is not recognized as an internal or external command"},
		{"pwsh", "powershell -Command $x", "PowerShell 7 of this SIMULATED host takes lines of plain words only"},
		{"pwsh", "ls -l", "The term 'ls' is not recognized as a name of a cmdlet"},
		{"no-powershell", "powershell -Version", "bash: powershell: command not found"},
	} {
		var out, errs bytes.Buffer
		if err := h.Fault("mended"); err != nil {
			t.Fatal(err)
		}
		if err := h.Fault(c[0]); err != nil {
			t.Fatal(err)
		}
		if code := h.Exec(context.Background(), "admin", c[1], nil, &out, &errs); code == 0 || !strings.Contains(errs.String(), c[2]) || out.Len() > 0 {
			t.Errorf("%s: %s: %d %q %q", c[0], c[1], code, &out, &errs)
		}
	}
}

// A host that goes down under a script has done what came before, and nothing after: no
// handler of the script runs.
func TestGoesDown(t *testing.T) {
	h := newHost(t)
	if err := h.Fault("reboot-midway"); err != nil {
		t.Fatal(err)
	}
	const script = `try {
Get-NetAdapter
Set-NetAdapterAdvancedProperty -Name 'Ethernet 2' -RegistryKeyword 'VlanID' -RegistryValue '711' -NoRestart
Set-NetAdapterAdvancedProperty -Name 'Ethernet 2' -RegistryKeyword '*JumboPacket' -RegistryValue '9014' -NoRestart
} catch { [IO.File]::WriteAllText('C:\ProgramData\caught', '') } finally { [IO.File]::WriteAllText('C:\ProgramData\finally', '') }`
	if got := eval(h, script); got != "error: "+errOff.Error() {
		t.Error(got)
	}
	h.Reboot()
	a := h.adapters[1]
	if a.force["VlanID"] != "711" || a.force["*JumboPacket"] != "1514" || len(h.Contents()) != 0 {
		t.Errorf("%v %v", a.force, h.Contents())
	}
	if got := eval(h, script); got != "null" {
		t.Errorf("the next time: %s", got)
	}
}

func wide(text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return base64.StdEncoding.EncodeToString(b)
}

// A folder is taken by moving one to its place: where there is one, that fails.
func TestDisk(t *testing.T) {
	h := newHost(t)
	for _, step := range [][2]string{
		{"$null = [IO.Directory]::CreateDirectory('C:\\ProgramData\\a\\b')\n[IO.File]::WriteAllText('C:\\ProgramData\\A\\b\\f', 'x')", "null"},
		{"[IO.Directory]::Move('C:\\ProgramData\\a\\b', 'C:\\ProgramData\\c')\n$value = [IO.File]::ReadAllText('c:\\programdata\\C\\F')", `"x"`},
		{"$null = [IO.Directory]::CreateDirectory('C:\\ProgramData\\d')\n[IO.Directory]::Move('C:\\ProgramData\\d', 'C:\\ProgramData\\c')", "error: Cannot create a file when that file already exists."},
		{"[IO.Directory]::Delete('C:\\ProgramData\\c')", "error: The directory is not empty."},
		{"[IO.Directory]::Delete('C:\\ProgramData\\c', $true)\n$value = [IO.Directory]::Exists('C:\\ProgramData\\c')", "false"},
	} {
		if got := eval(h, step[0]); got != step[1] {
			t.Errorf("%s: %s, want %s", step[0], got, step[1])
		}
	}
}

func TestFaults(t *testing.T) {
	h := newHost(t)
	for _, f := range Faults() {
		if err := h.Fault(f); err != nil {
			t.Error(err)
		}
	}
	if h.Fault("bogus") == nil || slices.Contains(Faults(), "bogus") {
		t.Error("a fault that is none is taken")
	}
}

// FuzzParse: no script makes the parser fall over.
func FuzzParse(f *testing.F) {
	f.Add("$x = @(foreach ($o in @(Get-NetAdapter -Name 'a','b')) { @{ n = [string]$o.Name; l = $o[0] } })")
	f.Add("try { if (-not $x) { throw } } catch { } finally { $a += 1 }")
	f.Fuzz(func(_ *testing.T, src string) { _, _ = parse(src) })
}
