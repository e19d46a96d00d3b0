package modules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"weft/internal/remote"
)

// sum is the SHA-256 of a text that is there.
func sum(text string) string {
	if text == "" {
		return ""
	}
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// short is a sum as people see it.
func short(sum string) string { return sum[:min(len(sum), 12)] }

// putBack puts a file that is not empty, and removes one that is.
func putBack(path string, mode uint32, text string) remote.Step {
	if text == "" {
		return remote.Step{Del: path}
	}
	return put(path, mode, []byte(text))
}

// put puts a file.
func put(path string, mode uint32, content []byte) remote.Step {
	return remote.Step{Put: &remote.File{Path: path, Mode: fs.FileMode(mode), Content: content}}
}

// mode is that of a file as people see it.
func mode(m fs.FileMode) string { return fmt.Sprintf("%04o", m.Perm()) }

// unknown stands for what only apply will find out.
const unknown = "unknown until apply"
