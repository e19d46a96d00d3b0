package windows

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// root is where weft keeps things. Anybody may make folders in ProgramData: one that
// others than SYSTEM and Administrators may write is not weft's.
const root = `C:\ProgramData\weft`

// memory implements host.Memory: files below root, written, taken and read by programs.
type memory struct{}

// Place implements host.Memory.
func (memory) Place(k host.Keepsake, owner string) string {
	switch {
	case k == host.KeptMark:
		return root + `\run.json`
	case k == host.KeptLease:
		return root + `\lease`
	case owner == "":
		return root
	case k == host.KeptSecrets:
		return root + `\` + owner + `\former.json`
	}
	return root + `\` + owner + `\ledger.json`
}

// folders begin programs: where things are.
func folders() string {
	return powershell.Let("root", root) + powershell.Let("lease", root+`\lease`) + powershell.Let("token", root+`\token`) + powershell.Let("mark", root+`\run.json`)
}

// owned is an ACL that nobody but SYSTEM and Administrators is in, with nothing inherited.
var owned = pattern.New(`^O:(BA|SY)G:[^()]*D:P(AI)?(\(A;(OICI)?;FA;;;(SY|BA)\))+$`)

// secure has root be there, and be weft's alone: it is made with its ACL in one step, and
// one that was there before, or is a way to somewhere else, is refused.
var secure = `$acl = New-Object -TypeName 'Security.AccessControl.DirectorySecurity'
$acl.SetSecurityDescriptorSddlForm('O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)')
$null = [IO.Directory]::CreateDirectory($root, $acl)
if (-not ([string](Get-Acl -LiteralPath $root).Sddl -match ` + powershell.Quote(owned.String()) + `)) { throw ('others may write ' + $root) }
if ([string][IO.File]::GetAttributes($root) -match 'ReparsePoint') { throw ($root + ' leads elsewhere') }
`

// put has the bytes $bytes be the file $path, whole or not at all.
const put = `$null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))
$file = [IO.File]::Open($path + '.new', 'Create', 'Write', 'None')
try {
$file.Write($bytes, 0, $bytes.Length)
$file.Flush($true)
} finally { $file.Dispose() }
if ([IO.File]::Exists($path)) { [IO.File]::Replace($path + '.new', $path, [NullString]::Value) } else { [IO.File]::Move($path + '.new', $path) }
`

// memoryLook reads everything that weft keeps but the mark, and before and after that who
// has the lease: while it is held its holder may be writing.
func memoryLook() remote.Look {
	return ask("what weft keeps in "+root, folders()+`$files = @()
$left = @()
$leases = @()
$sddl = ''
$link = $false
$stands = ''
`+show+`if ($held -ne $null) { $leases += $held }
if ([IO.Directory]::Exists($root)) {
$sddl = [string](Get-Acl -LiteralPath $root).Sddl
$link = [string][IO.File]::GetAttributes($root) -match 'ReparsePoint'
foreach ($folder in [IO.Directory]::GetDirectories($root)) {
foreach ($name in @('ledger.json', 'former.json')) {
$path = [IO.Path]::Combine($folder, $name)
if ([IO.File]::Exists($path)) { $files += @{ path = $path; content = [Convert]::ToBase64String([IO.File]::ReadAllBytes($path)) } }
}
}
foreach ($path in [IO.Directory]::GetFiles($root, '*.new', 'AllDirectories')) { $left += $path }
if ([IO.File]::Exists($token)) { $stands = 'token ' + [IO.File]::ReadAllText($token) }
}
`+show+`if ($held -ne $null) { $leases += $held }
$value = @{ sddl = $sddl; link = $link; files = $files; left = $left; leases = $leases; token = $stands }
`)
}

// A keeping is what memoryLook sees.
type keeping struct {
	SDDL  string          `json:"sddl"` // "": the folder is not there
	Link  bool            `json:"link"`
	Files powershell.List `json:"files"`
	Left  powershell.List `json:"left"`
	Lease powershell.List `json:"leases"`
	Token string          `json:"token"`
}

// Marked implements host.Memory.
func (memory) Marked() remote.Look {
	return ask("the mark of a run", folders()+`$value = ''
if ([IO.File]::Exists($mark)) { $value = [IO.File]::ReadAllText($mark) }
`)
}

// Looks implements host.Memory.
func (m memory) Looks(string, []remote.Look) []remote.Look {
	return []remote.Look{memoryLook(), m.Marked()}
}

// Parse implements host.Memory.
func (m memory) Parse(s remote.Seen, owner string, _ []remote.Look) (kept host.Memorized, err error) {
	var k keeping
	if err := answer(s, memoryLook(), &k); err != nil {
		return kept, fmt.Errorf("read the ledgers in %s: %w", root, err)
	}
	if k.SDDL != "" && (k.Link || !owned.MatchString(k.SDDL)) {
		kept.Unable = hint.Wrap(fmt.Errorf("nothing of this host can be owned: others than SYSTEM and Administrators may write %s, or it leads elsewhere (%s)", root, k.SDDL),
			"look who made it, then remove it: weft makes it anew")
		return kept, nil
	}
	for _, raw := range k.Files {
		var f struct {
			Path    string `json:"path"`
			Content []byte `json:"content"`
		}
		if err := json.Unmarshal(raw, &f); err != nil {
			kept.Broken = fmt.Errorf("the ledgers in %s cannot be read: %w", root, err)
			return kept, nil
		}
		memo := host.Memo{Kept: host.KeptLedger, Place: f.Path, Raw: f.Content}
		if strings.HasSuffix(strings.ToLower(f.Path), `\former.json`) {
			memo.Kept = host.KeptSecrets
		}
		memo.Mine = strings.EqualFold(f.Path, m.Place(memo.Kept, owner))
		kept.Files = append(kept.Files, memo)
	}
	for _, raw := range k.Left {
		var path string
		if err := json.Unmarshal(raw, &path); err != nil {
			return kept, fmt.Errorf("look for what an apply that did not end has left: %w", err)
		}
		kept.Left = append(kept.Left, path)
	}
	for _, raw := range k.Lease {
		held, err := heldBy(raw)
		if err != nil {
			held = &host.Held{} // of which nothing is known
		}
		kept.Leases = append(kept.Leases, *held)
	}
	if text, stands := strings.CutPrefix(k.Token, "token "); stands {
		kept.Token = tokenText(text)
	}
	return kept, nil
}

// Put implements host.Memory.
func (m memory) Put(ctx context.Context, t host.Transport, k host.Keepsake, owner string, raw []byte) error {
	place := m.Place(k, owner)
	_, err := t.Run(ctx, do("write "+place, folders()+secure+powershell.Let("path", place)+
		powershell.Let("coded", base64.StdEncoding.EncodeToString(raw))+"$bytes = [Convert]::FromBase64String($coded)\n"+put))
	return err
}

// Remove implements host.Memory.
func (m memory) Remove(ctx context.Context, t host.Transport, owner string, kept ...host.Keepsake) error {
	names := slice.Map(kept, func(k host.Keepsake) string { return m.Place(k, owner) })
	return m.Sweep(ctx, t, names)
}

// Tidy implements host.Memory.
func (memory) Tidy(ctx context.Context, t host.Transport, owner string) error {
	_, err := t.Run(ctx, do("remove empty folders", powershell.Let("folders", []string{root + `\bin`, root + `\` + owner, root})+`foreach ($folder in $folders) {
if ([IO.Directory]::Exists($folder)) { try { [IO.Directory]::Delete($folder) } catch { } }
}
`))
	return err
}

// Sweep implements host.Memory.
func (memory) Sweep(ctx context.Context, t host.Transport, files []string) error {
	for _, f := range files {
		if !inside(f) {
			return errors.New("weft removes no file outside of " + root + ": " + f)
		}
	}
	_, err := t.Run(ctx, do("remove files of "+root, powershell.Let("paths", files)+`foreach ($path in $paths) {
if ([IO.File]::Exists($path)) { [IO.File]::Delete($path) }
}
`))
	return err
}
