package windows

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"weft/internal/remote"
	"weft/modules/windows/powershell"
)

// Files are weft's own, below root. One is seen by its SHA-256; it comes by SFTP where the
// server has that, else in pieces that scripts carry.

// fileLook is the program of a look at a file.
func fileLook(l remote.Look) (string, error) {
	if !l.Sum || l.Stat {
		return "", fmt.Errorf("look at %s: of files of Windows only the SHA-256 is seen", l)
	}
	return powershell.Let("path", l.File) + `$value = ''
if ([IO.File]::Exists($path)) { $value = [string](Get-FileHash -LiteralPath $path -Algorithm 'SHA256').Hash }
`, nil
}

// fileSight is what fileLook saw.
func fileSight(l remote.Look, s remote.Sight) remote.Sight {
	switch {
	case s.Err != nil:
		return s
	case len(s.Content) == 0:
		return remote.Sight{Absent: true, Err: fmt.Errorf("%s: %w", l.File, fs.ErrNotExist)}
	}
	return remote.Sight{Sum: strings.ToLower(string(s.Content))}
}

// inside reports whether a path is one of a file below root.
func inside(path string) bool {
	return strings.HasPrefix(strings.ToLower(path), strings.ToLower(root)+`\`) && !strings.Contains(path, "..")
}

// piece is how many bytes of a file one script carries.
const piece = 512 << 10

// place has the file $path + '.new', whose SHA-256 is $sum, be $path.
const place = `$hash = [string](Get-FileHash -LiteralPath ($path + '.new') -Algorithm 'SHA256').Hash
if ($hash -ne $sum) {
[IO.File]::Delete($path + '.new')
throw ('what has arrived has the SHA-256 ' + $hash)
}
if ([IO.File]::Exists($path)) { [IO.File]::Replace($path + '.new', $path, [NullString]::Value) } else { [IO.File]::Move($path + '.new', $path) }
`

// put puts a file. Until all of it has arrived the old one stays.
func (t transport) put(ctx context.Context, f *remote.File) error {
	content, err := f.Bytes()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	begin := folders() + secure + powershell.Let("path", f.Path) + "$null = [IO.Directory]::CreateDirectory([IO.Path]::GetDirectoryName($path))\n"
	end := powershell.Let("sum", hex.EncodeToString(sum[:])) + place
	what := "write " + f.Path
	if up, is := t.Host.(remote.Uploader); is {
		from, err := up.Upload(ctx, "weft-"+unique()+".tmp", content)
		if err == nil {
			// A copy has the ACL of the folder that it is made in, and not that of the login's.
			_, err = t.Run(ctx, do(what, begin+powershell.Let("from", local(from))+"[IO.File]::Copy($from, $path + '.new', $true)\n"+end))
			return errors.Join(err, up.Withdraw(context.WithoutCancel(ctx), from))
		}
		if !errors.Is(err, remote.ErrNoUpload) {
			return err
		}
	}
	mode := "Create"
	for at := 0; at < len(content); at += piece {
		part := content[at:min(at+piece, len(content))]
		_, err := t.Run(ctx, do(what, begin+powershell.Let("mode", mode)+powershell.Let("coded", base64.StdEncoding.EncodeToString(part))+add))
		if err != nil {
			return err
		}
		mode = "Append"
	}
	_, err = t.Run(ctx, do(what, begin+end))
	return err
}

// add adds the bytes of $coded to the file $path + '.new'.
const add = `$bytes = [Convert]::FromBase64String($coded)
$file = [IO.File]::Open($path + '.new', $mode, 'Write', 'None')
try {
$file.Write($bytes, 0, $bytes.Length)
$file.Flush($true)
} finally { $file.Dispose() }
`

// local is a path of SFTP as Windows has it: /C:/Users/weft is C:\Users\weft.
func local(path string) string {
	return strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", `\`)
}

// unique is a word that no two files share.
func unique() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// uploaded runs a script from a file, where standard input does not arrive whole. It is put
// where sessions of the login begin, a folder that only that account and administrators may
// write.
func (t transport) uploaded(ctx context.Context, script string) (remote.Output, error) {
	up, is := t.Host.(remote.Uploader)
	if !is {
		return remote.Output{}, remote.ErrNoUpload
	}
	name := "weft-" + unique() + ".ps1"
	from, err := up.Upload(ctx, name, powershell.FileText(script))
	if err != nil {
		return remote.Output{}, err
	}
	path := strings.TrimPrefix(from, "/")
	if strings.ContainsFunc(path, special) { // as in C:/Users/Jane Doe; commands begin in that folder, too
		path = name
	}
	out, err := t.Host.Run(ctx, remote.Cmd{Args: powershell.File(path), Quiet: true, Bare: true})
	if err != nil { // it may not have come to remove itself
		_ = up.Withdraw(context.WithoutCancel(ctx), from)
	}
	return out, err
}

// special reports whether a character of a path may mean more to a shell of Windows.
func special(r rune) bool {
	return !strings.ContainsRune("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_./:-", r)
}
