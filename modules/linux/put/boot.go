package put

// bootFunctions are functions of the shell for boot scripts with lines that call them.
type BootFunctions struct {
	Called func(line string) bool
	Text   string
}
