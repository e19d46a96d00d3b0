package modules

// atBoot are the functions that lines of boot scripts may call.
func atBoot() []bootFunctions {
	return []bootFunctions{targetsAtBoot(), connectionsAtBoot(), mirrorsAtBoot(), rdmaAtBoot()}
}
