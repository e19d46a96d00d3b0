package powershell

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	"weft/internal/pattern"
)

// begin is what scripts begin with: an error ends a part, and no progress is drawn.
const begin = "$ErrorActionPreference = 'Stop'\n$ProgressPreference = 'SilentlyContinue'\n$answers = @()\n"

// part runs one of the parts of a script. Its value is what it leaves in $value; an error
// keeps the words of the host, in its language, and what is the same in all of them.
const part = `$value = $null
try {
%s
$answers += @{ ok = $true; value = $value }
} catch {
$answers += @{ ok = $false; message = [string]$_.Exception.Message; id = [string]$_.FullyQualifiedErrorId; type = [string]$_.Exception.GetBaseException().GetType().FullName }
}
`

// end prints the answers in bytes of its own: what the console's code page is, and whether
// there is a console, does not matter. An account that is no administrator, or whose
// session is not elevated, is told apart, as most of what it reads would lack something.
const end = `$me = [Security.Principal.WindowsIdentity]::GetCurrent()
$admin = (New-Object -TypeName 'Security.Principal.WindowsPrincipal' -ArgumentList $me).IsInRole([Security.Principal.WindowsBuiltInRole]::Administrator)
$document = @{ weft = 1; user = [string]$me.Name; admin = $admin; answers = $answers }
$json = ConvertTo-Json -InputObject $document -Depth 8 -Compress
$bytes = [Text.Encoding]::UTF8.GetBytes($json)
$out = [Console]::OpenStandardOutput()
$out.Write($bytes, 0, $bytes.Length)
$out.Flush()
`

// Script runs parts one after the other, whatever becomes of those before, and prints one
// document, which Parse reads. A part leaves what it has to say in $value.
func Script(parts ...string) string {
	var b strings.Builder
	b.WriteString(begin)
	for _, p := range parts {
		fmt.Fprintf(&b, part, strings.TrimSuffix(p, "\n"))
	}
	b.WriteString(end)
	return b.String()
}

// bootstrap reads as many characters of base64 as it says from standard input, whose end
// is not certain to come over Win32-OpenSSH, and runs what they say. It is all that a
// shell gets to see. In a constrained language nothing of that is allowed: it says so,
// with the little that is.
const bootstrap = `$ProgressPreference='SilentlyContinue'
if("$($ExecutionContext.SessionState.LanguageMode)" -ne 'FullLanguage'){"weft-language $($ExecutionContext.SessionState.LanguageMode)";exit 96}
$n=%d;$c=New-Object char[] $n;$i=0
while($i -lt $n){$r=[Console]::In.Read($c,$i,$n-$i);if($r -le 0){"weft-short $i of $n";exit 97};$i+=$r}
&([ScriptBlock]::Create([Text.Encoding]::UTF8.GetString([Convert]::FromBase64CharArray($c,0,$n))))
exit 0`

// Bootstrap is the command that runs a script, of words that any shell takes as they are,
// and what it reads.
func Bootstrap(script string) (args []string, input string) {
	input = base64.StdEncoding.EncodeToString([]byte(script))
	var wide []byte
	for _, u := range utf16.Encode([]rune(fmt.Sprintf(bootstrap, len(input)))) {
		wide = binary.LittleEndian.AppendUint16(wide, u)
	}
	return []string{"powershell", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-EncodedCommand", base64.StdEncoding.EncodeToString(wide)}, input
}

// FileText is what a script is as a file that File runs. It removes itself: PowerShell has
// read all of it by then. Without a byte order mark it would be taken for one of the code
// page.
func FileText(script string) []byte {
	return []byte("\uFEFF[IO.File]::Delete($PSCommandPath)\n" + script + "exit 0\n")
}

// File is the command that runs a script in a file.
func File(path string) []string {
	return []string{"powershell", "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "Bypass", "-File", path}
}

// A Reply is what a script printed.
type Reply struct {
	User    string // who ran it
	Admin   bool   // as an administrator, elevated
	Answers []Answer
}

// An Answer is that of one part.
type Answer struct {
	OK    bool            `json:"ok"`
	Value json.RawMessage `json:"value"`

	Message string `json:"message"` // in the language of the host
	ID      string `json:"id"`      // of the error, in any language
	Type    string `json:"type"`    // of the exception
}

// A ConstrainedError is a host that runs no script: a policy, AppLocker or WDAC, has put
// PowerShell in another language mode.
type ConstrainedError struct{ Mode string }

func (e *ConstrainedError) Error() string {
	return "PowerShell of this host is in the language mode " + e.Mode + ", where no script of weft's runs"
}

// A ShortError is a script that did not reach the host whole: standard input ended before.
// Nothing of it was run.
type ShortError struct{ Said string }

func (e *ShortError) Error() string { return "the script did not reach the host whole: " + e.Said }

// Parse reads what a script of so many parts printed. What is no document is an error
// that shows it.
func Parse(stdout []byte, parts int) (*Reply, error) {
	said := strings.TrimSpace(strings.TrimPrefix(string(stdout), "\uFEFF"))
	if mode, ok := strings.CutPrefix(said, "weft-language "); ok {
		return nil, &ConstrainedError{mode}
	}
	if _, ok := strings.CutPrefix(said, "weft-short "); ok {
		return nil, &ShortError{said}
	}
	var doc struct {
		Weft    int    `json:"weft"`
		User    string `json:"user"`
		Admin   bool   `json:"admin"`
		Answers List   `json:"answers"`
	}
	if err := json.Unmarshal([]byte(said), &doc); err != nil || doc.Weft != 1 {
		return nil, fmt.Errorf("the host answers no document of weft's scripts: %.200q", said)
	}
	r := &Reply{User: doc.User, Admin: doc.Admin}
	for _, raw := range doc.Answers {
		var a Answer
		if err := json.Unmarshal(raw, &a); err != nil {
			return nil, fmt.Errorf("the host answers no document of weft's scripts: %w", err)
		}
		r.Answers = append(r.Answers, a)
	}
	if len(r.Answers) != parts {
		return nil, fmt.Errorf("the host answers %d parts of %d of a script", len(r.Answers), parts)
	}
	return r, nil
}

// A List is one as ConvertTo-Json of 5.1 writes it: one of one element may stand as the
// element alone, one of none as null, and one that went through a pipe as an object of
// value and Count.
type List []json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (r *List) UnmarshalJSON(raw []byte) error {
	*r = nil
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		*r = list
		return nil
	}
	var wrapped struct {
		Value []json.RawMessage `json:"value"`
		Count *int              `json:"Count"`
	}
	if json.Unmarshal(raw, &wrapped) == nil && wrapped.Value != nil && wrapped.Count != nil && *wrapped.Count == len(wrapped.Value) {
		*r = wrapped.Value
		return nil
	}
	*r = List{append(json.RawMessage(nil), raw...)}
	return nil
}

var (
	complaints = pattern.New(`<S S="Error">([^<]*)</S>`)
	escapes    = pattern.New(`_x([0-9A-Fa-f]{4})_`)
)

// Complaint is what a host wrote on standard error, for people: PowerShell writes it as
// CLIXML, with the progress of what it loads, where it is no terminal.
func Complaint(stderr []byte) string {
	said := string(stderr)
	before, doc, is := strings.Cut(said, "#< CLIXML")
	if !is {
		return strings.TrimSpace(said)
	}
	var b strings.Builder
	b.WriteString(before)
	for _, m := range complaints.FindAllStringSubmatch(doc, -1) {
		b.WriteString(strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&amp;", "&").Replace(m[1]))
	}
	plain := escapes.ReplaceAllStringFunc(b.String(), func(e string) string {
		n, _ := strconv.ParseUint(e[2:6], 16, 16)
		return string(rune(n))
	})
	return strings.Join(strings.Fields(plain), " ")
}
