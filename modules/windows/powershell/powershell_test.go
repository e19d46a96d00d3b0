package powershell

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever a text holds, it is one string with that value, and nothing else.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "Ethernet 2", "it's", "‘’‚‛", "a'; Remove-Item 'C:\\", "$(x)", "`", "'@\n@'", "*JumboPacket", "\x00\r\n", "Datenträger (黒)", "'", "''", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tokens, err := lex(Quote(s))
		if err != nil || len(tokens) != 1 || tokens[0].kind != text {
			t.Fatalf("%q becomes %+v: %v", s, tokens, err)
		}
		if utf8.ValidString(s) && tokens[0].value != s {
			t.Errorf("%q becomes %q", s, tokens[0].value)
		}
		line, err := Command([]string{"Remove-NetQosPolicy", "-Name", s, "-Confirm:$false"}, nil)
		if err == nil {
			err = Check(Let("x", s) + line)
		}
		if err != nil {
			t.Errorf("%q: %v", s, err)
		}
	})
}

// What is sent is held to the parameter sets of the reference.
func TestCommand(t *testing.T) {
	special := func(a string) (string, bool) { return "$nic", a == "{nic}" }
	for line, want := range map[string]string{
		"Set-NetAdapterAdvancedProperty|-Name|{nic}|-RegistryKeyword|*JumboPacket|-RegistryValue|9014|-NoRestart": "Set-NetAdapterAdvancedProperty -Name $nic -RegistryKeyword '*JumboPacket' -RegistryValue '9014' -NoRestart",
		"New-NetQosPolicy|-Name|W|-NetDirectPortMatchCondition|445|-PriorityValue8021Action|3":                    "New-NetQosPolicy -Name 'W' -NetDirectPortMatchCondition 445 -PriorityValue8021Action 3",
		"Enable-NetQosFlowControl|-Priority|3|4":                                                                  "Enable-NetQosFlowControl -Priority 3,4",
		"Set-NetQosDcbxSetting|-Willing|false|-Confirm:$false":                                                    "Set-NetQosDcbxSetting -Willing $false -Confirm:$false",
		"New-NetIPAddress|-InterfaceAlias|a 'b|-IPAddress|10.0.0.1|-PrefixLength|24":                              "New-NetIPAddress -InterfaceAlias 'a ''b' -IPAddress '10.0.0.1' -PrefixLength 24",
	} {
		got, err := Command(strings.Split(line, "|"), special)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", line, got, err)
			continue
		}
		if err := Check(got); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, want := range map[string]string{
		// Two parameters that are there, in no set together: RDMA has no DSCP.
		"New-NetQosPolicy|-Name|W|-NetDirectPortMatchCondition|445|-DSCPAction|26": "of set ByNetworkDirectPort, it has no -DSCPAction",
		"New-NetQosPolicy|-Name|W|-NetDirectPortMatchCondition|445":                "of set ByNetworkDirectPort, it needs -PriorityValue8021Action",
		"New-NetQosPolicy|-Nam|W":                            "it has no -Nam",
		"Remove-Item|-Path|C:":                               "no cmdlet",
		"Enable-NetQosFlowControl|-Priority|3;calc":          "is no number",
		"Enable-NetQosFlowControl|-Priority":                 "has no value",
		"Enable-NetQosFlowControl|3":                         "is no parameter",
		"Enable-NetQosFlowControl|-Priority|3|-Priority|4":   "given twice",
		"New-NetQosPolicy|-Name|a|b|-Default":                "takes one value",
		"New-NetQosPolicy|-Name:$true|a|-Default":            "is no switch",
		"Set-NetQosDcbxSetting|-Willing|0":                   "neither true nor false",
		"Register-ScheduledTask|-TaskName|a|-Action|calc":    "not written as a text",
		"New-NetQosTrafficClass|-Name|a|-Algorithm|ETS":      "it needs -Priority",
		"New-NetQosTrafficClass|-Name|a|-Bandwidth;calc|ETS": "takes one value",
	} {
		if got, err := Command(strings.Split(line, "|"), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
}

// A program that is more than weft's few forms is refused.
func TestCheck(t *testing.T) {
	for _, p := range []string{
		"$x = @(foreach ($o in (Get-NetAdapter -Physical)) { @{ name = [string]$o.Name } })",
		"if (-not $x -and ($y.Count -gt 0)) { throw 'no' } else { $z = $p[0] }",
		"$t = Get-ScheduledTask -TaskName 'weft-revert-*' -ErrorAction 'SilentlyContinue'",
		Script("$value = 1"),
	} {
		if err := Check(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for p, want := range map[string]string{
		`$x = "a $b"`:                                     "no such thing",
		"$x = @'\nx\n'@":                                  "no such thing",
		"Get-NetAdapter | Remove-NetQosPolicy":            "no such thing",
		"&$x":                                             "no such thing",
		"$x = 1 # y":                                      "no such thing",
		"Get-NetAdapter > a":                              "no such thing",
		"Get-NetAdapter `\n-Physical":                     "no such thing",
		"$x = 'a":                                         "does not end",
		"Remove-Item -Path 'x'":                           "no cmdlet",
		"if ($x) { Restart-Computer }":                    "no cmdlet",
		"$x = (Get-NetAdapter -Name Ethernet)":            "not in quotes",
		"$x = Get-NetAdapter -Name 'a' -Bogus 1":          "-Bogus",
		"$x = 1; Invoke-Expression -Command 'x'":          "no cmdlet",
		"$x 'a' Get-NetAdapter":                           "no command is expected",
		"$x = (Get-NetAdapter -Name 'a' -Physical { 1 })": "a block",
		"New-NetQosPolicy -Name 'a' -NetDirectPortMatchCondition 445 -DSCPAction 26 ": "no parameter set",
		"if ($x) {": "} is missing",
		"$x = 1)":   "closes nothing",
	} {
		if err := Check(p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", p, err, want)
		}
	}
}

// What is read of a cmdlet's objects is what is named, each as a type of JSON.
func TestRows(t *testing.T) {
	got, err := Rows([]string{"Get-WindowsFeature", "-Name", "it's"}, []string{"Name", "Installed:bool", "N:int64", "L:list"}, nil)
	want := "$value = @(foreach ($o in @(Get-WindowsFeature -Name 'it''s')) { @{ Name = [string]$o.Name; Installed = [bool]$o.Installed; N = [int64]$o.N; L = @(foreach ($x in @($o.L)) { [string]$x }) } })\n"
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	if err := Check(got); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"a b", "", "Name:date", "x}"} {
		if got, err := Rows([]string{"Get-WindowsFeature"}, []string{bad}, nil); err == nil {
			t.Errorf("%q: %s", bad, got)
		}
	}
}

// FuzzCheck: no program makes it fall over.
func FuzzCheck(f *testing.F) {
	f.Add("$x = @(Get-NetAdapter -Name ('a','b'))")
	f.Add("@{'‘")
	f.Fuzz(func(_ *testing.T, p string) { _ = Check(p) })
}

// Each line of the table names a page and has types.
func TestTable(t *testing.T) {
	page := ""
	for line := range strings.Lines(cmdlets) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "##"):
		case strings.HasPrefix(line, "# "):
			_, page, _ = strings.Cut(line, "/")
		case !strings.HasPrefix(line, page+" "):
			t.Errorf("%s stands below the page of %s", line, page)
		case !regexp.MustCompile(`^[A-Z][A-Za-z]+-[A-Za-z0-9]+ [A-Za-z0-9]+( [A-Za-z0-9]+=[A-Za-z0-9]+(\[\])?!?)*$`).MatchString(line):
			t.Errorf("%s", line)
		}
	}
	for _, s := range sets("new-netqospolicy") {
		if s.name == "ByNetworkDirectPort" {
			if _, ok := s.find("DSCPAction"); ok {
				t.Error("RDMA has a DSCP")
			}
			return
		}
	}
	t.Error("New-NetQosPolicy has no set ByNetworkDirectPort")
}

// The line fits a shell of any kind, and its length is that of the input.
func TestBootstrap(t *testing.T) {
	args, input := Bootstrap(Script("$value = '" + strings.Repeat("ä", 5000) + "'"))
	line := strings.Join(args, " ")
	if len(line) > 8191 {
		t.Errorf("cmd.exe takes no line of %d characters", len(line))
	}
	if !regexp.MustCompile(`^[A-Za-z0-9 /+=-]+$`).MatchString(line) {
		t.Errorf("a shell takes %s for more than words", line)
	}
	wide, err := base64.StdEncoding.DecodeString(args[len(args)-1])
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.ReplaceAll(string(wide), "\x00", ""); !strings.Contains(text, "$n="+itoa(len(input))+";") {
		t.Errorf("it reads another length than %d: %s", len(input), text)
	}
}

func itoa(n int) string { return literal(n) }

// JSON as 5.1 writes it.
func TestParse(t *testing.T) {
	for doc, want := range map[string]int{
		`{"weft":1,"user":"h\\a","admin":true,"answers":[{"ok":true,"value":[{"a":1}]}]}`:                  1,
		`{"weft":1,"user":"h\\a","admin":true,"answers":{"ok":true,"value":{"a":1}}}`:                      1,
		`{"weft":1,"admin":true,"answers":{"value":[{"ok":true,"value":[{"a":1}]}],"Count":1}}`:            1,
		"\uFEFF" + `{"weft":1,"admin":true,"answers":[{"ok":true,"value":{"value":[{"a":1}],"Count":1}}]}`: 1,
	} {
		r, err := Parse([]byte(doc), want)
		if err != nil || len(r.Answers) != want || !r.Answers[0].OK || !r.Admin {
			t.Errorf("%s: %+v, %v", doc, r, err)
			continue
		}
		var rows List
		if err := rows.UnmarshalJSON(r.Answers[0].Value); err != nil || len(rows) != 1 || string(rows[0]) != `{"a":1}` {
			t.Errorf("%s: %s, %v", doc, rows, err)
		}
	}
	for doc, want := range map[string]string{
		"'powershell' is not recognized as an internal or external command": "no document",
		`{"weft":2}`:                              "no document",
		`{"weft":1,"admin":true,"answers":[]}`:    "0 parts of 1",
		`{"weft":1,"admin":true,"answers":["x"]}`: "no document",
		"weft-short 12 of 90":                     "did not reach the host whole",
	} {
		if _, err := Parse([]byte(doc), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", doc, err)
		}
	}
	_, err := Parse([]byte("weft-language ConstrainedLanguage\r\n"), 1)
	if c := (*ConstrainedError)(nil); !errors.As(err, &c) || c.Mode != "ConstrainedLanguage" {
		t.Errorf("%v", err)
	}
	var rows List
	if err := rows.UnmarshalJSON([]byte("null")); err != nil || len(rows) != 0 {
		t.Errorf("null is %d rows: %v", len(rows), err)
	}
}

// What stands on standard error although all went well is nothing.
func TestComplaint(t *testing.T) {
	for said, want := range map[string]string{
		"":               "",
		"plain text\r\n": "plain text",
		"#< CLIXML\r\n<Objs Version=\"1.1.0.1\"><Obj S=\"progress\"><MS><AV>Preparing modules for first use.</AV></MS></Obj></Objs>":          "",
		"#< CLIXML\r\n<Objs><S S=\"Error\">Zugriff &lt;verweigert&gt; _x000D__x000A_</S><S S=\"Error\">zweite Zeile_x000D__x000A_</S></Objs>": "Zugriff <verweigert> zweite Zeile",
	} {
		if got := Complaint([]byte(said)); got != want {
			t.Errorf("%q is %q", said, got)
		}
	}
}
