package tcp

// NewCrowdedPollers are pollers to whom every connection is a crowd.
func NewCrowdedPollers(o PollerOptions) (*Pollers, error) {
	return newPollers(o, crowding{from: 1, left: 0})
}
