//go:build unix

package dir

const (
	foldersSync = true
	readersLock = false // a rename is there at once, whoever reads
)
