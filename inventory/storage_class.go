package inventory

import "weft/internal/slice"

// StorageClass is the class that storage belongs to: the lossless one, else the
// one with ECN, else the one that has a share. nil: there is none, or more than
// one.
func (f *Fabric) StorageClass() *TrafficClass {
	for _, is := range []func(*TrafficClass) bool{
		func(c *TrafficClass) bool { return c.PFC },
		func(c *TrafficClass) bool { return c.ECN != nil },
		func(c *TrafficClass) bool { return !c.Strict },
	} {
		found := slice.Filter(f.Classes, func(c *TrafficClass) bool { return len(c.DSCP) > 0 && is(c) })
		if len(found) > 1 {
			return nil
		}
		if len(found) == 1 {
			return found[0]
		}
	}
	return nil
}
