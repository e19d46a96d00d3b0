package guest

// cycles is the processor's counter of cycles.
func cycles() uint64
