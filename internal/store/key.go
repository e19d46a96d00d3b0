package store

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// What a store takes: more is refused, by every store alike.
const (
	MaxKey     = 240       // bytes of a key
	MaxSegment = 100       // bytes of a part of it
	MaxDepth   = 10        // parts of it
	MaxValue   = 1_000_000 // bytes of a document; what may be larger is a blob
)

// CheckKey refuses what is no key: parts of a-z, 0-9, - and _ with / between them.
// So it means the same in a file system that knows no case, on Windows, and as a
// subject of NATS. Segment makes a part of any text.
func CheckKey(key string) error {
	if len(key) > MaxKey {
		return &InvalidError{Key: key[:MaxKey] + "…", Why: fmt.Sprintf("it has %d bytes, of %d that are allowed", len(key), MaxKey)}
	}
	if strings.Count(key, "/") >= MaxDepth {
		return &InvalidError{Key: key, Why: fmt.Sprintf("it has more than %d parts", MaxDepth)}
	}
	for part := range strings.SplitSeq(key, "/") {
		switch {
		case part == "":
			return &InvalidError{Key: key, Why: "a part is empty"}
		case len(part) > MaxSegment:
			return &InvalidError{Key: key, Why: fmt.Sprintf("a part has more than %d bytes", MaxSegment)}
		}
		for _, r := range part {
			if !plain(r) && r != '_' {
				return &InvalidError{Key: key, Why: fmt.Sprintf("%q is not of a-z, 0-9, - and _", r)}
			}
		}
	}
	return nil
}

// CheckFolder refuses what is neither a key nor "".
func CheckFolder(folder string) error {
	if folder == "" {
		return nil
	}
	return CheckKey(folder)
}

// CheckValue refuses a value that is too large for a document.
func CheckValue(key string, value []byte) error {
	if len(value) > MaxValue {
		return &TooLargeError{Key: key, Size: len(value)}
	}
	return nil
}

func plain(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }

// Segment is a part of a key that stands for a text, such as a serial number. Texts
// that differ, be it in case, have parts that differ.
func Segment(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; plain(rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	switch {
	case b.Len() == 0:
		return "_"
	case b.Len() > MaxSegment:
		return fmt.Sprintf("__%x", sha256.Sum256([]byte(text)))
	}
	return b.String()
}
