package host

// kindSet are kinds by their names.
type KindSet map[string]AnyKind

func NewKindSet(kinds []AnyKind) KindSet {
	set := make(KindSet, len(kinds))
	for _, k := range kinds {
		set[k.KindName()] = k
	}
	return set
}
