//go:build unix

package simwindows

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"weft/internal/pattern"
	"weft/internal/wait"
)

// bootstraps is what the encoded part of the command line must be: a script that reads so
// many characters of base64, and runs what they say.
var bootstraps = pattern.New(`^\$ProgressPreference='SilentlyContinue'
if\("\$\(\$ExecutionContext\.SessionState\.LanguageMode\)" -ne 'FullLanguage'\)\{"weft-language \$\(\$ExecutionContext\.SessionState\.LanguageMode\)";exit 96\}
\$n=([0-9]+);\$c=New-Object char\[\] \$n;\$i=0
while\(\$i -lt \$n\)\{\$r=\[Console\]::In\.Read\(\$c,\$i,\$n-\$i\);if\(\$r -le 0\)\{"weft-short \$i of \$n";exit 97\};\$i\+=\$r\}
&\(\[ScriptBlock\]::Create\(\[Text\.Encoding\]::UTF8\.GetString\(\[Convert\]::FromBase64CharArray\(\$c,0,\$n\)\)\)\)
exit 0$`)

// progress is what PowerShell writes on standard error although all is well.
const progress = "#< CLIXML\r\n" + `<Objs Version="1.1.0.1" xmlns="http://schemas.microsoft.com/powershell/2004/04"><Obj S="progress" RefId="0"><TN RefId="0"><T>System.Management.Automation.PSCustomObject</T><T>System.Object</T></TN><MS><I64 N="SourceId">1</I64><PR N="Record"><AV>Preparing modules for first use.</AV><AI>0</AI><Nil /><PI>-1</PI><PC>-1</PC><T>Completed</T><SR>-1</SR><SD> </SD></PR></MS></Obj></Objs>`

// exec runs one command line, after the login shell has taken it.
func (h *Host) exec(ctx context.Context, user, line string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	h.mu.Lock()
	slow, language, elevated, noInput := h.slow, h.language, !h.plain, h.noInput
	h.mu.Unlock()
	if slow > 0 {
		if !wait.For(ctx, slow) {
			return 255, nil
		}
	}
	encoded, ok := strings.CutPrefix(line, "powershell -NoProfile -NonInteractive -ExecutionPolicy Bypass -EncodedCommand ")
	word, _, _ := strings.Cut(line, " ")
	switch {
	case strings.HasPrefix(line, fileCommand) && len(line) <= 8191:
		return h.execFile(ctx, user, strings.TrimPrefix(line, fileCommand), stdout, stderr)
	case !ok || len(line) > 8191:
		fmt.Fprintf(stderr, "%s\r\n", h.notRecognized(word))
		return 1, nil
	}
	count, ok := bootstrapped(encoded)
	if !ok {
		fmt.Fprintf(stderr, "#< CLIXML\r\n<Objs Version=\"1.1.0.1\" xmlns=\"http://schemas.microsoft.com/powershell/2004/04\"><S S=\"Error\">This SIMULATED host takes no other encoded command than weft's._x000D__x000A_</S></Objs>")
		return 1, nil
	}
	fmt.Fprint(stderr, progress)
	if language != "" {
		fmt.Fprintf(stdout, "weft-language %s\r\n", language)
		return 96, nil
	}
	if noInput {
		fmt.Fprintf(stdout, "weft-short 0 of %d\r\n", count)
		return 97, nil
	}
	input := make([]byte, count) // and not to its end, which may not come
	if n, err := io.ReadFull(stdin, input); err != nil {
		fmt.Fprintf(stdout, "weft-short %d of %d\r\n", n, count)
		return 97, nil
	}
	text, err := base64.StdEncoding.DecodeString(string(input))
	if err != nil {
		fmt.Fprintf(stderr, "#< CLIXML\r\n<Objs><S S=\"Error\">The input is not a valid Base-64 string_x000D__x000A_</S></Objs>")
		return 1, nil
	}
	return h.ran(ctx, user, elevated, string(text), "", stdout, stderr)
}

// ran runs a script, and says what becomes of it.
func (h *Host) ran(ctx context.Context, user string, elevated bool, text, file string, stdout, stderr io.Writer) (int, error) {
	out, err := h.script(ctx, user, elevated, text, file)
	if errors.Is(err, errOff) {
		return 255, err
	}
	_, _ = stdout.Write(out) // the client may have gone
	if err != nil {
		fmt.Fprintf(stderr, "#< CLIXML\r\n<Objs><S S=\"Error\">%s_x000D__x000A_</S></Objs>", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(err.Error()))
		return 1, nil
	}
	return 0, nil
}

func (h *Host) notRecognized(word string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.say("'"+word+"' is not recognized as an internal or external command,\r\noperable program or batch file.",
		"Der Befehl \""+word+"\" ist entweder falsch geschrieben oder\r\nkonnte nicht gefunden werden.")
}

// bootstrapped is how many characters an encoded command reads.
func bootstrapped(encoded string) (int, bool) {
	wide, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(wide)%2 != 0 {
		return 0, false
	}
	units := make([]uint16, len(wide)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(wide[2*i:])
	}
	m := bootstraps.FindStringSubmatch(string(utf16.Decode(units)))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil && n < 64<<20
}

// script interprets one, of a file or of none, and returns what it writes to standard output.
func (h *Host) script(ctx context.Context, user string, elevated bool, src, file string) ([]byte, error) {
	body, err := parse(src)
	if err != nil {
		return nil, err
	}
	f := &frame{host: h, ctx: ctx, vars: map[string]any{"pscommandpath": file}, user: user, elevated: elevated}
	err = body(f)
	return f.printed.Bytes(), err
}

// Shell refuses: nothing of weft talks to a host's terminal.
func (h *Host) Shell(_ context.Context, _ string, term io.ReadWriter) int {
	fmt.Fprint(term, "This Windows host is SIMULATED and takes weft's scripts only\r\n")
	return 1
}
