package host

import "weft/plan"

// Special are the hooks of a Kind that serve one or a few kinds only. Any may be nil.
type Special[T any] struct {
	// FabricPart is the attribute of a fabric that only this kind keeps.
	FabricPart string
	// Inherit completes what is wanted from the ledger, before it is compared.
	Inherit func(want *T, entries []plan.Entry)
	// Refuse says why have is not led to want.
	Refuse func(want, have *T) error
	// First is an observed state as it was before weft ever came, where weft may
	// have changed it for another resource.
	First func(want, have *T, entries []plan.Entry) *T
	// Stay changes a former state so that the resources of other blocks about the same thing
	// keep what they declare when this one is restored.
	Stay func(former *T, t *Things)
	// Amid is have with the settings that a cut-off change has taken off, or has not yet
	// taken off, as they were before.
	Amid func(have, applied, before *T) *T
	// Tries reports whether the steps of a change may fail to bring it about, and have
	// is acceptable then.
	Tries func(want, have *T, c plan.Change) bool
	// Degraded reports whether Left says that hosts get what is declared in a lesser way.
	Degraded func(have *T) bool
	// Alone reports whether the change from have interrupts hosts: then no other
	// device makes such a change at the same time.
	Alone func(want, have *T) bool
	// Lost says what is missing although the state is as wanted; back: all of it belongs there.
	Lost func(have, now *T, back bool) error
}
