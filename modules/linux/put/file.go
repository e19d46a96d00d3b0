package put

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"weft/internal/remote"
)

// sum is the SHA-256 of a text that is there.
func Sum(text string) string {
	if text == "" {
		return ""
	}
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// short is a sum as people see it.
func Short(sum string) string { return sum[:min(len(sum), 12)] }

// putBack puts a file that is not empty, and removes one that is.
func Back(path string, mode uint32, text string) remote.Step {
	if text == "" {
		return remote.Step{Del: path}
	}
	return File(path, mode, []byte(text))
}

// put puts a file.
func File(path string, mode uint32, content []byte) remote.Step {
	return remote.Step{Put: &remote.File{Path: path, Mode: fs.FileMode(mode), Content: content}}
}

// mode is that of a file as people see it.
func Mode(m fs.FileMode) string { return fmt.Sprintf("%04o", m.Perm()) }

// bootFunctions are functions of the shell for boot scripts with lines that call them.
type BootFunctions struct {
	Called func(line string) bool
	Text   string
}
