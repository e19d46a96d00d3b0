package windows

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// A lease is a folder with one file, which holds who has it and is called UNTIL.WORD:
// when it ends, by the machine's clock, and a word that no two leases share. A folder with
// its file is moved to its place, which Windows refuses where there is one: New-Item looks
// first and makes then, and is no lock. It is renewed by renaming the file, which is not
// there any more where the lease was lost.

// show sets $now, and $held to the lease that there is.
const show = `$held = $null
foreach ($try in @(1, 2, 3)) {
$now = [DateTimeOffset]::UtcNow.ToUnixTimeSeconds()
if (($held -eq $null) -and [IO.Directory]::Exists($lease)) {
try {
foreach ($path in [IO.Directory]::GetFiles($lease)) {
$text = [IO.File]::ReadAllText($path)
$held = @{ name = [IO.Path]::GetFileName($path); now = $now; text = $text }
}
} catch { }
}
}
`

// away ends the lease of the word $word.
const away = `if ([IO.Directory]::Exists($lease)) {
foreach ($path in [IO.Directory]::GetFiles($lease)) { if ($path.EndsWith('.' + $word)) { [IO.File]::Delete($path) } }
try { [IO.Directory]::Delete($lease) } catch { }
}
`

// bars sets $stands to the token that stands, and $barred where it is not certain that
// $epoch and $revision are as high.
const bars = `$stands = ''
$barred = $false
if ([IO.File]::Exists($token)) {
$stands = [IO.File]::ReadAllText($token).Trim()
$barred = -not $hand
if ($barred -and ($stands -match '^[0-9]{1,18} [0-9]{1,18}$')) {
$words = $stands.Split(' ')
if (($epoch -gt [int64]$words[0]) -or (($epoch -eq [int64]$words[0]) -and ($revision -ge [int64]$words[1]))) { $barred = $false }
}
}
`

// claiming begins programs that need the lease, which end with %s under it: it is taken for
// $who and $seconds in place of the dead one called $over, or $held says who has it. What
// others on their way to it have left is taken away, and they try again, or see it. Where
// a higher token stands it is let go of again, and $past says so.
const claiming = `if ($over -ne '') {
$path = [IO.Path]::Combine($lease, $over)
if ([IO.File]::Exists($path)) { [IO.File]::Delete($path) }
}
$past = ''
$mine = $false
$why = ''
` + show + `foreach ($turn in @(1, 2, 3)) {
if (($held -eq $null) -and (-not $mine)) {
try { if ([IO.Directory]::Exists($lease)) { [IO.Directory]::Delete($lease) } } catch { }
$folder = $root + '\take-' + $word
try {
$null = [IO.Directory]::CreateDirectory($folder)
[IO.File]::WriteAllText($folder + '\' + [string]($now + $seconds) + '.' + $word, $who)
[IO.Directory]::Move($folder, $lease)
$mine = $true
} catch {
$why = [string]$_.Exception.Message
try { if ([IO.Directory]::Exists($folder)) { [IO.Directory]::Delete($folder, $true) } } catch { }
` + show + `}
}
}
if (($held -eq $null) -and (-not $mine)) { throw ('the lease cannot be taken: ' + $why) }
if ($mine) {
foreach ($folder in [IO.Directory]::GetDirectories($root, 'take-*')) { try { [IO.Directory]::Delete($folder, $true) } catch { } }
` + bars + `if ($barred) {
$past = 'token ' + $stands
` + away + `} else {
if (($epoch + $revision) -gt 0) {
if ($stands -ne ([string]$epoch + ' ' + [string]$revision)) {
$path = $token
$bytes = [Text.Encoding]::UTF8.GetBytes([string]$epoch + ' ' + [string]$revision)
try {
` + put + `} catch {
` + away + `throw
}
}
}
%s}
}
`

// word is what the lease that says text is called by.
func word(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:20] }

func seconds(d time.Duration) int { return int(d.Seconds()) }

// tokenLines give the token of a claim to a program.
func tokenLines(c host.Claim) string {
	return powershell.Let("hand", c.ByHand) + powershell.Let("epoch", int64(c.Token.Epoch)) + powershell.Let("revision", int64(c.Token.Revision))
}

// tokenText is a token as people see it.
func tokenText(text string) string {
	if f := strings.Fields(text); len(f) == 2 {
		return strings.Join(f, ".")
	}
	return "in " + root + `\token, which cannot be read`
}

// heldBy reads what show has seen; nil: nobody has it.
func heldBy(raw json.RawMessage) (*host.Held, error) {
	var h *struct {
		Name string `json:"name"`
		Now  int64  `json:"now"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &h); err != nil || h == nil {
		return nil, err
	}
	if strings.ContainsAny(h.Name, `\/:`) {
		return nil, fmt.Errorf("the host answers a lease called %q", h.Name)
	}
	held := &host.Held{Text: strings.TrimSpace(h.Text), Name: h.Name}
	end, _, _ := strings.Cut(h.Name, ".")
	until, err := strconv.ParseInt(end, 10, 64)
	if held.Known = err == nil; held.Known {
		held.Left = time.Duration(until-h.Now) * time.Second
	}
	return held, nil
}

// A claimed is what a program that begins with claiming leaves.
type claimed struct {
	Held      json.RawMessage `json:"held"`
	Past      string          `json:"past"`
	Mark      string          `json:"mark"`   // a mark, or another owner's
	Ledger    []byte          `json:"ledger"` // nil: there is none
	Unwritten string          `json:"unwritten"`
}

// under runs a program under the lease.
func under(ctx context.Context, t host.Transport, c host.Claim, lets, body, value string) (got claimed, who *host.Held, err error) {
	over := ""
	if c.Over != nil {
		over = c.Over.Name
	}
	text := folders() + tokenLines(c) + powershell.Let("who", c.Text) + powershell.Let("seconds", seconds(c.Time)) + powershell.Let("word", word(c.Text)) +
		powershell.Let("over", over) + lets + secure + fmt.Sprintf(claiming, body) + "$value = @{ held = $held; past = $past; " + value + " }\n"
	out, err := t.Run(ctx, do("take the lease", text))
	if err != nil {
		return got, nil, err
	}
	if err := json.Unmarshal(out.Stdout, &got); err != nil {
		return got, nil, fmt.Errorf("the host answers %.100q: %w", out.Stdout, err)
	}
	if stands, past := strings.CutPrefix(got.Past, "token "); past {
		return got, &host.Held{Past: tokenText(stands)}, nil
	}
	who, err = heldBy(got.Held)
	return got, who, err
}

// Take implements host.Memory.
func (m memory) Take(ctx context.Context, t host.Transport, c host.Claim, n host.Note, owner string) (mark string, ledger []byte, held *host.Held, err error) {
	got, held, err := under(ctx, t, c, powershell.Let("place", m.Place(host.KeptLedger, owner))+powershell.Let("note", n.Text)+powershell.Let("needle", n.Needle)+
		"$said = ''\n$ledger = $null\n", `if ([IO.File]::Exists($mark)) {
$said = [IO.File]::ReadAllText($mark)
if (($needle -ne '') -and $said.Contains($needle) -and (-not $said.Contains($note))) {
$path = $mark
$bytes = [Text.Encoding]::UTF8.GetBytes($note)
`+put+`$said = $note
}
}
if ([IO.File]::Exists($place)) { $ledger = [Convert]::ToBase64String([IO.File]::ReadAllBytes($place)) }
`, "mark = $said; ledger = $ledger")
	if err != nil || held != nil {
		return "", nil, held, err
	}
	return got.Mark, got.Ledger, nil, nil
}

// Mark implements host.Memory. Windows' log is told nothing: its sources are registered
// first, and would stay.
func (m memory) Mark(ctx context.Context, t host.Transport, c host.Claim, text, old, _ string) (other string, held *host.Held, err error) {
	got, held, err := under(ctx, t, c, powershell.Let("note", text)+powershell.Let("needle", old)+"$said = ''\n$other = ''\n$unwritten = ''\n", `if ([IO.File]::Exists($mark)) { $said = [IO.File]::ReadAllText($mark) }
if (($said -ne '') -and (-not (($needle -ne '') -and $said.Contains($needle))) -and (-not $said.Contains($note))) { $other = $said } else {
try {
$path = $mark
$bytes = [Text.Encoding]::UTF8.GetBytes($note)
`+put+`} catch { $unwritten = 'it cannot be written: ' + [string]$_.Exception.Message }
}
`+away, "mark = $other; unwritten = $unwritten")
	switch {
	case err != nil || held != nil:
		return "", held, err
	case got.Unwritten != "":
		return "", nil, &host.UnwrittenError{Said: got.Unwritten}
	}
	return got.Mark, nil, nil
}

// Unmark implements host.Memory.
func (memory) Unmark(ctx context.Context, t host.Transport, needle, _ string) error {
	_, err := t.Run(ctx, do("remove the mark", folders()+powershell.Let("needle", needle)+`if (($needle -ne '') -and [IO.File]::Exists($mark)) {
if ([IO.File]::ReadAllText($mark).Contains($needle)) { [IO.File]::Delete($mark) }
}
try { if ([IO.Directory]::Exists($root)) { [IO.Directory]::Delete($root) } } catch { }
`))
	return err
}

// Renew implements host.Memory.
func (memory) Renew(ctx context.Context, t host.Transport, c host.Claim) error {
	_, err := t.Run(ctx, do("renew the lease", folders()+powershell.Let("seconds", seconds(c.Time))+powershell.Let("word", word(c.Text))+`$until = [DateTimeOffset]::UtcNow.ToUnixTimeSeconds() + $seconds
foreach ($path in [IO.Directory]::GetFiles($lease)) {
$next = $lease + '\' + [string]$until + '.' + $word
if ($path.EndsWith('.' + $word) -and ($path -ne $next)) { [IO.File]::Move($path, $next) }
}
`))
	return err
}

// Release implements host.Memory.
func (memory) Release(ctx context.Context, t host.Transport, text string) error {
	_, err := t.Run(ctx, do("release the lease", folders()+powershell.Let("word", word(text))+away))
	return err
}

// Lease implements host.Memory.
func (memory) Lease(ctx context.Context, t host.Transport) (*host.Held, error) {
	out, err := t.Run(ctx, do("who has the lease", folders()+show+"$value = $held\n"))
	if err != nil {
		return nil, err
	}
	return heldBy(json.RawMessage(cmp.Or(string(out.Stdout), "null")))
}

// Break implements host.Memory.
func (memory) Break(ctx context.Context, t host.Transport, h *host.Held) (broken bool, err error) {
	_, word, _ := strings.Cut(h.Name, ".")
	out, err := t.Run(ctx, do("end the lease", folders()+powershell.Let("word", word)+`$value = 'moved'
if ([IO.Directory]::Exists($lease)) {
foreach ($path in [IO.Directory]::GetFiles($lease)) { if ($path.EndsWith('.' + $word)) { $value = 'ended' } }
}
`+away))
	return string(out.Stdout) == "ended", err
}

const fencedBy = "weft-fence: "

// fenceProgram ends a part where another than the holder of $word has the lease, or a
// higher token stands.
const fenceProgram = `if ([IO.Directory]::Exists($lease)) {
foreach ($path in [IO.Directory]::GetFiles($lease)) { if (-not $path.EndsWith('.' + $word)) { throw 'weft-fence: another weft' } }
}
` + bars + `if ($barred) { throw ('weft-fence: a run with the token ' + $stands.Replace(' ', '.')) }
`

// fence is the check that commands run behind.
func fence() *host.Fence {
	return &host.Fence{
		Behind: func(t host.Transport, c host.Claim) host.Transport {
			way := transport{Host: t, guard: folders() + tokenLines(c) + powershell.Let("word", word(c.Text)) + fenceProgram}
			if plain, ok := t.(transport); ok {
				way.Host = plain.Host
			}
			return way
		},
		Token: func(ctx context.Context, t host.Transport) (string, error) {
			out, err := t.Run(ctx, do("the token", folders()+"$value = ''\nif ([IO.File]::Exists($token)) { $value = 'token ' + [IO.File]::ReadAllText($token) }\n"))
			if text, stands := strings.CutPrefix(string(out.Stdout), "token "); stands {
				return tokenText(text), err
			}
			return "", err
		},
		Yield: func(ctx context.Context, t host.Transport) error {
			return memory{}.Sweep(ctx, t, []string{root + `\token`})
		},
	}
}
