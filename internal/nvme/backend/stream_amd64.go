package backend

// stream is copy past the caches, for dst aligned to 16 bytes and whole lines
// of 64 bytes.
//
//go:noescape
func stream(dst, src []byte)
