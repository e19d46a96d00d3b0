package modules

// kindSet are kinds by their names.
type kindSet map[string]AnyKind

func newKindSet(kinds []AnyKind) kindSet {
	set := make(kindSet, len(kinds))
	for _, k := range kinds {
		set[k.name()] = k
	}
	return set
}
