package dir

const (
	foldersSync = false // NTFS keeps a journal of names
	readersLock = true  // nothing is put in the place of a file that another process reads
)
